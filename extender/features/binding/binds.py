"""The bind callback: decide and reserve in one step, then ask the API server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Final, Protocol

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.observing import fault_text
from extender.core.callbacks.requests import Requests
from extender.core.cluster.ledgers.reservations import (
    CONFIRMED_SECONDS,
    RESERVATION_SECONDS,
    Claim,
    Reservation,
)
from extender.core.errors import ExtenderError
from extender.core.metrics.series import CounterRow
from extender.core.model.objects import Pod, SeenPod
from extender.core.ports import Company
from extender.core.source import Certainty
from extender.core.timing import CALL_LOG_SECONDS, LogThrottle
from extender.core.verbs.plugins import Plugins, leading
from extender.core.wire.broken_rules import broken_rules, check_rules
from extender.features.binding.outcome import BindOutcome, Bound
from extender.features.binding.protocol import (
    BindingArgs,
    read_binding_args,
    write_binding_result,
)
from extender.features.binding.rules import (
    BindVerdict,
    Decision,
    Support,
    may_bind,
)

ANSWER_SECONDS = 4.0
"""For all of a bind, from the callback to its answer; the scheduler's httpTimeout is 5 s."""
LOOK_SECONDS = 1.5
"""Of these, the last ones: to look what became of it (`WITHIN.look` in kube/limits.py). What is not
decided by then is not sent."""
COUNTED_AS = {
    BindOutcome.BOUND: "bound",
    BindOutcome.INDETERMINATE: "unclear",
    BindOutcome.REFUSED: "refused",
    BindOutcome.ELSEWHERE: "refused",
    BindOutcome.GONE: "refused",
}
"""The result that bind_total counts."""

LOG_BURST = 20
"""Lines about pods that were not bound, for each result in CALL_LOG_SECONDS."""

UNCERTAIN: Final = "the connection to the API server broke, and it has not said yet where it stands"

_log = logging.getLogger(__name__)


class PodBinder(Protocol):
    """Talks to the API server; or says that there is none."""

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Bind a pod, or find out in `within` seconds that this cannot be done."""

    async def read(self, key: str) -> SeenPod | None:
        """Return a pod as the API server has it."""


class NoApiServer:
    """Stands in for the API server where the cluster comes from a file."""

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Refuse: there is no API server to bind it."""
        del node, within
        return Bound(BindOutcome.REFUSED, f"{pod.key} is in a file, which has no API server")

    async def read(self, key: str) -> SeenPod | None:
        """Know nothing beyond the file."""
        del key
        return None


class _Attempt:
    """A bind about which is decided beside others."""

    def __init__(
        self, decide: Callable[[], BindVerdict | Claim], give_up: Callable[[Claim], None]
    ) -> None:
        self._decide = decide
        self._give_up = give_up
        self.decided: BindVerdict | Claim = BindVerdict(Decision.REFUSE)

    def stands(self) -> bool:
        self.decided = self._decide()
        return isinstance(self.decided, Claim) or self.decided.decision is Decision.DONE

    def undo(self) -> None:
        if isinstance(self.decided, Claim):
            self._give_up(self.decided)
            self.decided = BindVerdict(Decision.REFUSE)


class Binds:
    """Answers /bind. Nothing is awaited between the decision and the reservation."""

    def __init__(
        self,
        requests: Requests,
        plugins: Plugins,
        binder: PodBinder,
        in_flight: InFlightPods,
        row: CounterRow,
        *,
        picture: Certainty,
        clock: Callable[[], float],
    ) -> None:
        self._requests = requests
        self._state, self._metrics = requests.state, requests.metrics
        self._plugins = plugins
        self._support = Support(self._state, plugins)
        self._binder = binder
        self._in_flight = in_flight
        self._row = row
        self._picture = picture
        self._clock = clock
        self._hooks = requests.hooks
        self._company = next((each.company for each in self._hooks if each.company), None)
        self._pointer = next((each.pointer for each in self._hooks if each.pointer), None)
        self._leading = leading(plugins)
        self._metrics.plugin_runs.begin(
            (self._leading,), ("Bind",), ("Success", "Unschedulable", "Error")
        )
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
        self._row.count(result)
        if error:
            says = "%s is not bound to %s: %s"
            self._log.log(logging.WARNING, result, says, args.key, args.node, error)
        return write_binding_result(error)

    def fault(self, error: Exception, seconds: float) -> bytes:
        self._metrics.plugin_runs.observe(seconds, self._leading, "Bind", "Error")
        self._row.count("error")
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
        if not self._picture.certain:
            with suppress(TimeoutError):
                async with asyncio.timeout(deadline - LOOK_SECONDS - self._clock()):
                    await self._picture.wait_certain()
        pod, decided = seen.pod, await self._decided(seen, node, deadline - LOOK_SECONDS)
        if isinstance(decided, BindVerdict):
            done = decided.decision is Decision.DONE
            return Bound(BindOutcome.BOUND if done else BindOutcome.REFUSED, decided.why)
        try:
            placed = decided.reservation.pod
            refused = await self._refused_before(placed, deadline)
            if refused is None:
                bound = await self._binder.bind(placed, node, deadline - self._clock())
            else:
                bound = Bound(BindOutcome.REFUSED, refused)
            self._note(pod, decided, bound)
            return bound
        finally:
            self._wake()

    async def _refused_before(self, placed: Pod, deadline: float) -> str | None:
        if deadline - self._clock() < LOOK_SECONDS:
            return "there is no time left to bind it"
        for hook in self._hooks:
            if (why := await hook.before_bind(placed)) is not None:
                return why
        return None

    async def _decided(self, seen: SeenPod, node: str, deadline: float) -> BindVerdict | Claim:
        if self._company is not None and self._company.has(seen.pod):
            return await self._decided_together(self._company, seen, node, deadline)
        # Nothing is awaited between the last look at the state and the decision.
        return await self._unsupported(seen.pod, node, deadline) or self._decide(seen, node)

    async def _decided_together(
        self, company: Company, seen: SeenPod, node: str, deadline: float
    ) -> BindVerdict | Claim:
        """Decide beside others, and then wait for those of them that this one must be near."""
        await self._requests.warm_up.prepare(seen.pod, deadline - self._clock())
        attempt = _Attempt(lambda: self._decide(seen, node, alone=False), self._give_up)
        stands = False
        try:
            why = await company.decide(seen.pod, attempt)
            if why is not None:
                return BindVerdict(Decision.REFUSE, why)
            if isinstance(attempt.decided, Claim):
                unsupported = await self._unsupported(seen.pod, node, deadline)
                verdict = unsupported or self._verdict(seen, node)[1]
                if verdict.decision is Decision.REFUSE:
                    return verdict
            stands = True
            return attempt.decided
        finally:
            if not stands:
                attempt.undo()

    def _give_up(self, claim: Claim) -> None:
        self._state.release(claim)
        self._wake()

    def _wake(self) -> None:
        self._one_ended.set()
        self._one_ended = asyncio.Event()

    async def _unsupported(self, pod: Pod, node: str, deadline: float) -> BindVerdict | None:
        """Wait until the pods that this one must be near are bound; refuse if one may not be."""
        while True:
            await self._requests.warm_up.prepare(pod, deadline - self._clock())
            support = self._support.of(pod, node)
            if not support:
                return None
            if not await self._one_ends(support, deadline):
                # The scheduler writes it into an Event in the pod's namespace.
                other = support[0].pod
                own = other.pod_class.namespace == pod.pod_class.namespace
                name = other.key if own else "a pod of another namespace"
                why = f"{name}, which it must be near, may not come to be bound"
                return BindVerdict(Decision.REFUSE, why)

    async def _one_ends(self, support: Sequence[Reservation], deadline: float) -> bool:
        """Wait until the bind of one of them ends; False where none is under way, or in time."""
        waited_for = [each for each in support if each.under_way]
        try:
            async with asyncio.timeout(deadline - self._clock()):
                while waited_for and all(each.under_way for each in waited_for):
                    await self._one_ended.wait()
        except TimeoutError:
            return False
        return bool(waited_for)

    def _note(self, pod: Pod, claim: Claim, bound: Bound) -> None:
        """Draw from the end of a bind what is certain, and no more.

        A refusal ends the claim of this bind alone. An earlier one that ended unclearly may still
        bind the pod, to this node or another.
        """
        confirmed = self._clock() + CONFIRMED_SECONDS
        self._support.changed()
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

    def _as_known(self, seen: SeenPod) -> Pod | None:
        """Return a pod as the watch has shown it while its bind waited; None where it has gone."""
        pod = self._state.pod(seen.pod.key, seen.pod.uid)
        if pod is None:
            return seen.pod if seen.version else None
        return self._state.in_force(pod)

    def _verdict(self, seen: SeenPod, node: str) -> tuple[Pod, BindVerdict]:
        """Judge a bind that may have waited by what is so now; return the pod as it is known."""
        pod = self._as_known(seen)
        why = None if self._picture.certain else UNCERTAIN
        if pod is None:
            pod, why = seen.pod, "the pod is gone"
        elif (fault := broken_rules(pod)) is not None:
            why = str(fault)
        if (why := why or self._requests.unready()) is not None:
            return pod, BindVerdict(Decision.REFUSE, why)
        return pod, may_bind(self._state, pod, node, self._plugins)

    def _decide(self, seen: SeenPod, node: str, *, alone: bool = True) -> BindVerdict | Claim:
        """Reserve the node, or say why not; one step, with no await in it.

        Only one that is decided about `alone` may be led elsewhere instead.
        """
        start = perf_counter()
        pod, verdict = self._verdict(seen, node)
        if alone and verdict.decision is Decision.BIND and self._pointer is not None:
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
