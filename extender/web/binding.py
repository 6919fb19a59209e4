"""The bind callback: decide and reserve in one step, then ask the API server."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from extender.cluster.reservations import Reservation
from extender.cluster.state import ClusterState
from extender.errors import ExtenderError
from extender.metrics import Metrics
from extender.model.binding import BindOutcome, Bound
from extender.model.objects import Pod
from extender.model.verdict import INTER_POD_AFFINITY, Reason
from extender.verbs.binding import BindVerdict, Decision, may_bind
from extender.verbs.plugins import Plugins
from extender.web.flights import Flights
from extender.wire.protocol import BindingArgs, read_binding_args, write_binding_result

RESERVATION_SECONDS = 30.0
"""How long the place of a pod is kept when nobody can tell whether it was bound: longer than the
API server works on any request."""
CONFIRMED_SECONDS = 600.0
"""How long it is kept for a pod that was bound, until the watch shows it there: a watch that is
broken must not make its place look free. It ends all the same, for the pod may be gone by then."""

_log = logging.getLogger(__name__)


class PodBinder(Protocol):
    """Talks to the API server; or says that there is none."""

    async def bind(self, pod: Pod, node: str) -> Bound:
        """Bind a pod."""

    async def read(self, key: str) -> Pod | None:
        """Return a pod as the API server has it."""


class NoApiServer:
    """Stands in for the API server where the cluster comes from a file."""

    async def bind(self, pod: Pod, node: str) -> Bound:
        """Refuse: there is nobody to bind it."""
        del node
        return Bound(BindOutcome.REFUSED, f"{pod.key} is in a file, which has no API server")

    async def read(self, key: str) -> Pod | None:
        """Know nothing beyond the file."""
        del key
        return None


class Binds:
    """Answers /bind. Nothing is awaited between the decision and the reservation."""

    def __init__(
        self,
        state: ClusterState,
        binder: PodBinder,
        flights: Flights,
        metrics: Metrics,
        plugins: Plugins,
        *,
        unready: Callable[[], str | None],
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._binder = binder
        self._flights = flights
        self._metrics = metrics
        self._plugins = plugins
        self._unready = unready
        self._clock = clock
        metrics.begin_plugin(INTER_POD_AFFINITY, "Bind", ("Success", "Unschedulable", "Error"))

    async def answer(self, body: bytes) -> bytes:
        """Answer /bind; RequestError when no scheduler sends such a body."""
        args = read_binding_args(body)
        try:
            result, error = await self._bind(args)
        except ExtenderError as failure:
            result, error = "error", str(failure)
        finally:
            self._flights.land(args.uid)
        self._metrics.count_bind(result)
        if error:
            _log.warning("%s is not bound to %s: %s", args.key, args.node, error)
        return write_binding_result(error)

    def fault(self, error: Exception, seconds: float) -> bytes:
        """Answer /bind when something broke."""
        self._metrics.observe_plugin(INTER_POD_AFFINITY, "Bind", "Error", seconds)
        self._metrics.count_bind("error")
        return write_binding_result(str(error) or type(error).__name__)

    async def _bind(self, args: BindingArgs) -> tuple[str, str]:
        reason = self._unready()
        if reason is not None:
            return "error", f"the extender is not ready: {reason}"
        pod = self._state.pod(args.key, args.uid)
        if pod is None:
            # The scheduler's watch is ahead of ours.
            pod = await self._binder.read(args.key)
            if pod is None or pod.uid != args.uid:
                return "refused", "the pod is gone"
        return await self._place(pod, args.node)

    async def _place(self, pod: Pod, node: str) -> tuple[str, str]:
        decided = self._decide(pod, node)
        if isinstance(decided, BindVerdict):
            return ("bound", "") if decided.decision is Decision.DONE else ("refused", decided.why)
        bound = await self._binder.bind(pod, node)
        if bound.outcome is BindOutcome.REFUSED:
            self._state.release(decided)
        elif decided in self._state.reservations.of(pod.key, pod.uid):
            # The watch has not shown it yet.
            sure = bound.outcome is BindOutcome.BOUND
            patience = CONFIRMED_SECONDS if sure else RESERVATION_SECONDS
            self._state.reserve(pod, node, self._clock() + patience)
        return bound.outcome.value, bound.why

    def _decide(self, pod: Pod, node: str) -> BindVerdict | Reservation:
        """Reserve the node, or say why not; one step, with no await in it."""
        start = perf_counter()
        verdict = may_bind(self._state, pod, node, self._plugins)
        decided: BindVerdict | Reservation = verdict
        if verdict.decision is Decision.BIND:
            decided = self._state.reserve(pod, node, self._clock() + RESERVATION_SECONDS)
        self._flights.land(pod.uid)
        if verdict.reason is Reason.QUOTA:
            self._metrics.count_quota_refusal("Bind")
        status = "Unschedulable" if verdict.decision is Decision.REFUSE else "Success"
        self._metrics.observe_plugin(INTER_POD_AFFINITY, "Bind", status, perf_counter() - start)
        return decided
