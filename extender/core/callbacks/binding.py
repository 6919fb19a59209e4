"""The bind callback: decide and reserve in one step, then ask the API server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.observing import fault_text
from extender.core.callbacks.requests import Requests
from extender.core.cluster.ledgers.reservations import Claim
from extender.core.errors import ExtenderError
from extender.core.model import memory
from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import Pod, SeenPod
from extender.core.model.verdict import BindOutcome, Bound
from extender.core.ports import Hook, PodBinder, Pointer
from extender.core.timing import CALL_LOG_SECONDS, LogThrottle
from extender.core.verbs.binding import (
    BindVerdict,
    Decision,
    may_bind,
    unconfirmed_support,
)
from extender.core.verbs.plugins import Plugins, leading
from extender.core.wire.annotations import check_rules
from extender.core.wire.extender_args import BindingArgs, read_binding_args
from extender.core.wire.extender_results import write_binding_result

ANSWER_SECONDS = 4.0
"""For all of a bind, from the callback to its answer; the scheduler's httpTimeout is 5 s."""
RESERVATION_SECONDS = 180.0
"""How long the place of a pod is kept when nobody can tell whether it was bound. A Binding that we
gave up may be carried out after

- 60 s until it is delivered: the kernel sends what it was handed, whoever closes the connection
  (`WITHIN.undelivered` in kube/limits.py);
- 34 s until kube-apiserver gives it up as well (requestTimeoutUpperBound; measured 34.0 s), or 60 s
  with its queue (--request-timeout, of which a quarter is for priority and fairness); we ask it for
  10 s (`ApiCall.params`);
- the time that etcd stands still with the write in its hands. Measured: Bindings given up after
  2.5 s, the connection closed, were carried out when etcd was let go on after 8, 45 and 70 s.
  Its liveness probe, as kubeadm writes it, ends an etcd that is stuck after some 95 s.

`tests/e2e/test_late_binds.py` measures it. As a rule the place is free much earlier: as soon as
the pod is bound anywhere, or gone."""
CONFIRMED_SECONDS = 600.0
"""How long it is kept for a pod that was bound, until the watch shows it there: a watch that is
broken must not make its place look free. It ends all the same, for the pod may be gone by then."""

COUNTED_AS = {
    BindOutcome.BOUND: "bound",
    BindOutcome.INDETERMINATE: "unclear",
    BindOutcome.REFUSED: "refused",
    BindOutcome.ELSEWHERE: "refused",
    BindOutcome.GONE: "refused",
}
"""The result that bind_total counts."""

UNKNOWN = "?"
"""Stands for what may be on record where that is unknown; no digest is like that."""
PER_RECORD = 256
"""Bytes of a digest, under a uid."""

LOG_BURST = 20
"""Lines about pods that were not bound, for each result in CALL_LOG_SECONDS."""

_log = logging.getLogger(__name__)


class Binds:
    """Answers /bind. Nothing is awaited between the decision and the reservation."""

    def __init__(
        self,
        requests: Requests,
        plugins: Plugins,
        binder: PodBinder,
        in_flight: InFlightPods,
        *,
        clock: Callable[[], float],
        hooks: Sequence[Hook] = (),
        pointer: Pointer | None = None,
    ) -> None:
        self._requests = requests
        self._state, self._metrics = requests.state, requests.metrics
        self._plugins = plugins
        self._binder = binder
        self._in_flight = in_flight
        self._clock = clock
        self._hooks = hooks
        self._pointer = pointer
        self._leading = leading(plugins)
        self._metrics.plugin_runs.begin(
            (self._leading,), ("Bind",), ("Success", "Unschedulable", "Error")
        )
        self._recorded: LruCache[str, str] = LruCache(memory.RECORDED)
        """What was put on record lately, by uid: the watch may be behind. Nothing is spared by
        it, as another replica may have put something else there since."""
        self._one_ended = asyncio.Event()
        self._log = LogThrottle(_log, seconds=CALL_LOG_SECONDS, burst=LOG_BURST)

    async def answer(self, body: bytes) -> bytes:
        """Answer /bind; RequestError when no scheduler sends such a body."""
        args = read_binding_args(body)
        try:
            bound = await self._bind(args)
            result, error = COUNTED_AS[bound.outcome], bound.why
        except ExtenderError as failure:
            result, error = "error", str(failure)
        finally:
            self._in_flight.remove(args.uid)
        self._metrics.binds.count(result)
        if error:
            says = "%s is not bound to %s: %s"
            self._log.log(logging.WARNING, result, says, args.key, args.node, error)
        return write_binding_result(error)

    def fault(self, error: Exception, seconds: float) -> bytes:
        self._metrics.plugin_runs.observe(seconds, self._leading, "Bind", "Error")
        self._metrics.binds.count("error")
        return write_binding_result(fault_text(error))

    async def _bind(self, args: BindingArgs) -> Bound:
        deadline = self._clock() + ANSWER_SECONDS
        self._requests.check_ready()
        known = self._state.pod(args.key, args.uid)
        seen = None if known is None else SeenPod(known)
        if seen is None:
            # The scheduler's watch is ahead of ours.
            seen = await self._binder.read(args.key)
            if seen is None or seen.pod.uid != args.uid:
                return Bound(BindOutcome.GONE, "the pod is gone")
            if seen.pod.status.terminal:
                # No watch would ever tell of it, and a place reserved for it would stay taken.
                return Bound(BindOutcome.REFUSED, "the pod has ended")
        seen = replace(seen, pod=self._state.in_force(seen.pod))
        check_rules(seen.pod)
        return await self._place(seen, args.node, deadline)

    async def _place(self, seen: SeenPod, node: str, deadline: float) -> Bound:
        pod, decided = seen.pod, await self._decided(seen, node, deadline)
        if isinstance(decided, BindVerdict):
            done = decided.decision is Decision.DONE
            return Bound(BindOutcome.BOUND if done else BindOutcome.REFUSED, decided.why)
        try:
            failed = await self._record(decided.reservation.pod)
            if failed is None:
                placed = decided.reservation.pod
                bound = await self._binder.bind(placed, node, deadline - self._clock())
            else:
                bound = Bound(BindOutcome.REFUSED, failed)
            self._note(pod, decided, bound)
            return bound
        finally:
            self._one_ended.set()
            self._one_ended = asyncio.Event()

    async def _record(self, pod: Pod) -> str | None:
        """Put on record which rules in annotations a pod is placed by; say why that failed.

        Before it is bound: after a restart nobody could tell them from those of a later edit. What
        is on record from an attempt that came to nothing is taken back in the same way.
        """
        digest = pod.pod_class.digest
        known = self._recorded.get(pod.uid) if self._recorded else None
        if pod.status.record is None:
            return None
        for each in self._state.reservations.of(pod.key, pod.uid):
            if each.pod.node != pod.node and each.pod.pod_class.digest != digest:
                # It has one record, wherever it turns up, and was not judged by these rules there.
                return (
                    f"it may come to be bound to {each.pod.node} yet, where it was judged by other "
                    "rules in its annotation"
                )
        if digest == pod.status.record and known in {None, digest}:
            return None
        why = await self._binder.record(pod, digest)
        self._recorded.put(pod.uid, digest if why is None else UNKNOWN, PER_RECORD)
        if why is None:
            return None
        return (
            "the rules in its annotation cannot be put on record in its status, which needs the "
            f"right to patch pods/status: {why}"
        )

    async def _decided(self, seen: SeenPod, node: str, deadline: float) -> BindVerdict | Claim:
        """Decide once the pods that this one must be near are bound.

        Nothing is awaited between the last look at the state and the decision.
        """
        pod = seen.pod
        while True:
            await self._requests.warm_up.prepare(pod)
            support = unconfirmed_support(self._state, pod, node, self._plugins)
            if not support:
                return self._decide(seen, node)
            if not any(each.under_way for each in support) or not await self._one_ends(deadline):
                # The scheduler writes it into an Event in the pod's namespace.
                other = support[0].pod
                own = other.pod_class.namespace == pod.pod_class.namespace
                name = other.key if own else "a pod of another namespace"
                why = f"{name}, which it must be near, may not come to be bound"
                return BindVerdict(Decision.REFUSE, why)

    async def _one_ends(self, deadline: float) -> bool:
        try:
            async with asyncio.timeout(deadline - self._clock()):
                await self._one_ended.wait()
        except TimeoutError:
            return False
        return True

    def _note(self, pod: Pod, claim: Claim, bound: Bound) -> None:
        """Draw from the end of a bind what is certain, and no more.

        A refusal ends the claim of this bind alone. An earlier one that ended unclearly may still
        bind the pod, to this node or another.
        """
        confirmed = self._clock() + CONFIRMED_SECONDS
        match bound.outcome:
            case BindOutcome.BOUND:
                # The watch has not shown it yet.
                self._state.hold(claim, confirmed)
                self._state.settle(pod, claim.reservation.pod.node, confirmed)
            case BindOutcome.INDETERMINATE:
                self._state.hold(claim, self._clock() + RESERVATION_SECONDS)
            case BindOutcome.REFUSED:
                self._state.release(claim)
            case BindOutcome.ELSEWHERE | BindOutcome.GONE:
                self._state.settle(pod, bound.elsewhere, confirmed)

    def _decide(self, seen: SeenPod, node: str) -> BindVerdict | Claim:
        """Reserve the node, or say why not; one step, with no await in it."""
        start, pod = perf_counter(), seen.pod
        verdict = may_bind(self._state, pod, node, self._plugins)
        if verdict.decision is Decision.BIND and self._pointer is not None:
            found = (each.better(pod, node) for each in self._hooks)
            better = next((each for each in found if each is not None), None)
            if better is not None:
                self._pointer.point(pod, better.node)
                verdict = BindVerdict(Decision.REFUSE, better.why)
        decided: BindVerdict | Claim = verdict
        if verdict.decision is Decision.BIND:
            deadline = self._clock() + RESERVATION_SECONDS
            for hook in self._hooks:
                pod = hook.placing(pod, node)
            decided = self._state.reserve(pod, node, deadline, seen.version)
        self._in_flight.remove(pod.uid)
        if verdict.reason is not None:
            for hook in self._hooks:
                hook.not_bound(pod, verdict.reason)
        status = "Unschedulable" if verdict.decision is Decision.REFUSE else "Success"
        self._metrics.plugin_runs.observe(perf_counter() - start, self._leading, "Bind", status)
        return decided
