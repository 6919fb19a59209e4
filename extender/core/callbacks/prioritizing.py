"""The prioritize callback: how well each node of a request suits a pod."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from time import perf_counter

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.observing import Defer, Laps, fault_log, soon
from extender.core.callbacks.requests import NotReadyError, Requests
from extender.core.cluster.counts.nodes import NodeList
from extender.core.config import Mode
from extender.core.errors import ObjectError
from extender.core.model.objects import Pod
from extender.core.verbs.plugins import ScorePlugins, compare_pods, leading
from extender.core.verbs.prioritizing import prioritize
from extender.core.warm_up import OverBudgetError
from extender.core.wire.broken_rules import check_rules
from extender.core.wire.extender_args import ExtenderArgs
from extender.core.wire.extender_results import NO_SCORES, write_scores

_log = logging.getLogger(__name__)


class Priorities:
    """Answers /prioritize from the live state."""

    def __init__(
        self,
        requests: Requests,
        plugins: ScorePlugins,
        *,
        max_score: int,
        mode: Mode,
        in_flight: InFlightPods | None = None,
        defer: Defer = soon,
    ) -> None:
        """Score by plugins; `max_score` is what the best node of a request may get.

        In `assist` these calls count as attempts to place a pod, unless filter is asked, which
        counts them itself. In `shadow`, scores are made and never told. Pods `in_flight` are
        those whose place the watch will show: whose scores they change waits for them.
        """
        self._requests = requests
        self._state, self._metrics = requests.state, requests.metrics
        self._plugins = plugins
        self._max_score = max_score
        self._is_attempt = mode is Mode.ASSIST
        self._filter_is_asked = False
        self._silent = mode is Mode.SHADOW
        self._in_flight = in_flight
        self._defer = defer
        self._log = fault_log(_log)
        self._leading = leading(plugins)
        self._compares_pods = compare_pods(plugins)
        for plugin in plugins:
            self._metrics.plugin_runs.begin((plugin.name,), ("Score",), ("Success", "Error"))

    async def answer(self, body: bytes) -> bytes:
        start = perf_counter()
        try:
            args = await self._requests.read(body)
            check_rules(args.pod)
            await self._wait_for_others(args.pod)
            if self._is_attempt and not self._filter_is_asked:
                self._note_asked(args.pod)
            if self._compares_pods and not await self._is_prepared(args.pod):
                return NO_SCORES
            answer, seconds = self._scores(args)
        except (ObjectError, NotReadyError, OverBudgetError) as error:
            return self.fault(error, perf_counter() - start)
        self._defer(lambda: self._observe(seconds))
        return NO_SCORES if self._silent else answer

    async def _wait_for_others(self, pod: Pod) -> None:
        if self._in_flight is not None:
            if self._in_flight.interacting(pod):
                self._metrics.holds.observe(await self._in_flight.wait_for(pod))
            self._in_flight.add(pod)

    async def _is_prepared(self, pod: Pod) -> bool:
        if self._silent:
            return self._requests.warm_up.prepares_beside(pod)
        await self._requests.prepare(pod)
        return True

    def fault(self, error: Exception, seconds: float) -> bytes:
        """Answer /prioritize when there are no scores; the answer has no field to say why."""
        self._count_attempt("error")
        self._metrics.plugin_runs.observe(seconds, self._leading, "Score", "Error")
        self._log.log(
            logging.WARNING,
            type(error).__name__,
            "prioritize failed, the pod is placed without scores of ours: %s",
            error,
        )
        return NO_SCORES

    def filter_answered(self) -> None:
        """Note that the scheduler asks filter, which counts attempts then."""
        self._filter_is_asked = True

    def _scores(self, args: ExtenderArgs) -> tuple[bytes, Mapping[str, float]]:
        """Return the answer, and the seconds that each plugin took."""
        pod, laps = args.pod, Laps()

        def asked() -> NodeList:
            return self._requests.asked(args)

        for hook in self._requests.hooks:
            instead = hook.scores(pod, asked, self._max_score)
            if instead is not None:
                return write_scores(instead), {}
        scored = prioritize(
            self._state,
            pod,
            asked,
            self._plugins,
            self._max_score,
            told=lambda plugin: laps.end(plugin.name),
        )
        return write_scores(scored), laps.seconds

    def _observe(self, seconds: Mapping[str, float]) -> None:
        for plugin, taken in seconds.items():
            self._metrics.plugin_runs.observe(taken, plugin, "Score", "Success")
        self._count_attempt("feasible")

    def _note_asked(self, pod: Pod) -> None:
        """Note what a pod is judged by; warn if required rules in its annotation are not enforced.

        Then others, who were not asked either, do not have to keep to them later.
        """
        constrains = pod.pod_class.by_annotation.affinity.constrains
        self._state.note_asked(pod.without_annotations if constrains else pod)
        of_nodes = pod.node_selection is not None and any(
            pod.node_selection.annotated.required_rules
        )
        if of_nodes or constrains:
            says = (
                "%s is placed without the required rules in its annotation: the scheduler does not "
                "ask filter; add filterVerb and preemptVerb to its file, see docs/annotations.md"
            )
            self._log.log(logging.WARNING, "unenforced", says, pod.key)

    def _count_attempt(self, result: str) -> None:
        if self._is_attempt and not self._filter_is_asked:
            self._metrics.attempts.count(result)
