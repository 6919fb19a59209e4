"""The preempt callback: which of the scheduler's candidates help, and who else has to go."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter

from extender.cluster.state import ClusterState
from extender.errors import ObjectError
from extender.metrics import Metrics
from extender.verbs.preempting import choose_victims
from extender.web.answers import PLUGIN, NotReadyError
from extender.wire.objects import PodReader
from extender.wire.preemption import (
    PreemptionArgs,
    read_preemption_args,
    write_preemption_result,
)

_NONE = write_preemption_result({})

_log = logging.getLogger(__name__)


class Preemptions:
    """Answers /preempt. Whatever goes wrong, nobody is evicted for it."""

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics,
        *,
        unready: Callable[[], str | None],
        may_be_empty: bool,
    ) -> None:
        self._state = state
        self._metrics = metrics
        self._unready = unready
        self._may_be_empty = may_be_empty
        self._pods = PodReader()

    async def answer(self, body: bytes) -> bytes:
        """Answer /preempt; RequestError when no scheduler sends such a body."""
        start = perf_counter()
        try:
            return self._choose(self._read(body))
        except (ObjectError, NotReadyError) as error:
            return self.fault(error, perf_counter() - start)

    def fault(self, error: Exception, seconds: float) -> bytes:
        """Answer /preempt when there is no verdict; the answer has no field to say why."""
        self._metrics.observe_plugin(PLUGIN, "Preempt", "Error", seconds)
        _log.warning("preempt failed, no pod is evicted: %s", error)
        return _NONE

    def _read(self, body: bytes) -> PreemptionArgs:
        args = read_preemption_args(body, self._pods)
        reason = self._unready()
        if reason is not None:
            raise NotReadyError(f"the extender is not ready: {reason}")
        return args

    def _choose(self, args: PreemptionArgs) -> bytes:
        if not args.may_preempt:
            # The scheduler does not even ask for such a pod.
            return _NONE
        start = perf_counter()
        chosen = choose_victims(
            self._state, args.pod, args.candidates, may_be_empty=self._may_be_empty
        )
        status = "Success" if chosen else "Unschedulable"
        self._metrics.observe_plugin(PLUGIN, "Preempt", status, perf_counter() - start)
        if _log.isEnabledFor(logging.DEBUG):
            added = sum(len(chosen[node].uids) - len(args.candidates[node].uids) for node in chosen)
            _log.debug(
                "preempting for %s: %d of %d nodes would do, with %d victims of ours",
                args.pod.key, len(chosen), len(args.candidates), added,
            )  # fmt: skip
        return write_preemption_result(chosen)
