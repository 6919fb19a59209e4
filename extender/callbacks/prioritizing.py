"""The prioritize callback: how well each node of a request suits a pod.

Prioritize asks about the very pod and nodes of the filter call before it, as soon as the scheduler
has run its own scoring plugins. Until then this process has nothing to do, and makes the answer.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

from msgspec import Raw

from extender.callbacks.in_flight import InFlightPods
from extender.callbacks.observing import Defer, Laps, fault_log, soon
from extender.callbacks.requests import NotReadyError, Requests
from extender.cluster.counts.nodes import NodeList
from extender.cluster.state import ClusterState
from extender.config import Mode
from extender.errors import ObjectError
from extender.model import memory
from extender.model.objects import Pod
from extender.verbs.plugins import ScorePlugins, compare_pods, leading
from extender.verbs.prioritizing import prioritize
from extender.verbs.repair import steered
from extender.warm_up import OverBudgetError
from extender.wire.annotations import check_annotations
from extender.wire.extender_args import REMEMBERED, ExtenderArgs
from extender.wire.extender_results import NO_SCORES, write_call, write_scores

Made: TypeAlias = tuple[bytes, Mapping[str, float]]
"""An answer, and the seconds that each plugin took for it."""

LARGEST = memory.PRECOMPUTED // REMEMBERED
"""Bytes of a call and its answer together: larger ones are answered when they are asked for."""

PATIENCE = 16
"""Answers made in a row that nobody asks for, until no more are made: the scheduler's file may have
no prioritizeVerb. The next prioritize call that comes turns it on again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _PrecomputedAnswer:
    """The answer to one prioritize call that is expected."""

    call: bytes
    """The body to expect: Go writes equal arguments as equal bytes."""
    version: int
    """ClusterState.version when the answer was made; it is worth nothing after a change."""
    answer: bytes
    seconds: Mapping[str, float]
    """What scoring took, by plugin."""


class PrecomputedScores:
    """Knows the answers to prioritize calls that have not come yet."""

    def __init__(self, state: ClusterState, defer: Defer) -> None:
        self._state = state
        self._defer = defer
        self._recent: deque[_PrecomputedAnswer] = deque(maxlen=REMEMBERED)
        self._wasted = 0

    def expect(self, pod_json: Raw, names_json: bytes, make: Callable[[], Made | None]) -> None:
        """Make the answer about a pod and some nodes soon, with `make`.

        It may return None: what takes long is made when it is asked for.
        """
        if self._wasted == PATIENCE:
            return
        self._wasted += 1

        def prepare() -> None:
            call = write_call(pod_json, names_json)
            version = self._state.version
            made = make()
            if made is not None and len(call) + len(made[0]) <= LARGEST:
                self._recent.appendleft(_PrecomputedAnswer(call, version, *made))

        self._defer(prepare)

    def recall(self, call: bytes) -> _PrecomputedAnswer | None:
        """Return the answer to a call, if it was made ahead and nothing has changed since."""
        self._wasted = 0
        for known in self._recent:
            if known.call == call:
                return known if known.version == self._state.version else None
        return None


class Priorities:
    """Answers /prioritize, if need be with scores that were made when filter had answered."""

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
        self._precomputed = PrecomputedScores(self._state, defer)
        self._log = fault_log(_log)
        self._leading = leading(plugins)
        self._compares_pods = compare_pods(plugins)
        for plugin in plugins:
            self._metrics.plugin_runs.begin((plugin.name,), ("Score",), ("Success", "Error"))

    async def answer(self, body: bytes) -> bytes:
        """Answer /prioritize."""
        start = perf_counter()
        try:
            known = self._precomputed.recall(body)
            if known is not None:
                self._requests.check_ready()
                answer, seconds = known.answer, known.seconds
            else:
                args = await self._requests.read(body)
                check_annotations(args.pod)
                await self._wait_for_others(args.pod)
                if self._is_attempt and not self._filter_is_asked:
                    self._note_asked(args.pod)
                if self._compares_pods:
                    await self._requests.prepare(args.pod)
                answer, seconds = self._scores(args.pod, lambda: self._requests.asked(args))
        except (ObjectError, NotReadyError, OverBudgetError) as error:
            return self.fault(error, perf_counter() - start)
        self._defer(lambda: self._observe(seconds))
        return NO_SCORES if self._silent else answer

    async def _wait_for_others(self, pod: Pod) -> None:
        if self._in_flight is not None:
            if self._in_flight.interacting(pod):
                self._metrics.holds.observe(await self._in_flight.wait_for(pod))
            self._in_flight.add(pod)

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

    def filter_answered(self, args: ExtenderArgs, fits: NodeList | None, names_json: bytes) -> None:
        """Score the nodes that fit once filter's answer is on its way: they are asked about next.

        About a single node the scheduler does not ask.
        """
        self._filter_is_asked = True
        if self._in_flight is not None and self._in_flight.interacting(args.pod):
            return
        # No name of a node has a comma.
        if args.node_names is not None and b"," in names_json and not self._silent:
            self._precomputed.expect(
                args.pod_json, names_json, lambda: self._scores_ahead(args, fits)
            )

    def _scores_ahead(self, args: ExtenderArgs, fits: NodeList | None) -> Made | None:
        pod = args.pod
        if fits is not None and fits.version != self._state.nodes.version:
            # A node came or went since filter's answer; one that went has no number any more.
            return None
        if self._compares_pods and not self._requests.warm_up.prepares_at_once(pod):
            return None
        try:
            return self._scores(pod, lambda: self._requests.asked(args) if fits is None else fits)
        except ObjectError:
            # Told when the scheduler asks, if it does.
            return None

    def _scores(self, pod: Pod, ask: Callable[[], NodeList]) -> Made:
        """Return the answer, and the seconds that each plugin took."""
        laps = Laps()
        if self._state.successors and self._state.successors.expects(pod):
            return write_scores(steered(self._state, pod, ask(), self._max_score)), {}
        scored = prioritize(
            self._state,
            pod,
            ask,
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
        """Note what a pod is judged by; say so if nobody enforces required rules in its annotation.

        Then others, who were not asked either, do not have to keep to them later.
        """
        constrains = pod.pod_class.by_annotation.affinity.constrains
        self._state.note_asked(pod.without_annotations if constrains else pod)
        of_nodes = pod.node_affinity is not None and any(pod.node_affinity.annotated.required_rules)
        if of_nodes or constrains:
            says = (
                "%s is placed without the required rules in its annotation: the scheduler does not "
                "ask filter; add filterVerb and preemptVerb to its file, see docs/annotations.md"
            )
            self._log.log(logging.WARNING, "unenforced", says, pod.key)

    def _count_attempt(self, result: str) -> None:
        if self._is_attempt and not self._filter_is_asked:
            self._metrics.attempts.count(result)
