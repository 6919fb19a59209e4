"""From the bytes of a callback to the bytes of its answer: read, decide, write, observe."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from extender.callbacks.in_flight import Flights
from extender.callbacks.precomputed_scores import Defer, Foresight, soon
from extender.callbacks.shadow import Disagreements
from extender.cluster.counts.nodes import AskedNodes
from extender.cluster.state import ClusterState
from extender.controllers.nomination.controller import NominationController
from extender.errors import ExtenderError, ObjectError
from extender.logs import TRACE
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.model.verdict import INTER_POD_AFFINITY, Reason
from extender.preparing import LARGE_BYTES, OverBudgetError, Preparer
from extender.timing import LogThrottle
from extender.verbs.filtering import Verdicts
from extender.verbs.plugins import FilterPlugin, Plugins, judge, unclear
from extender.verbs.prioritizing import Scoring, prioritize_nodes
from extender.wire.annotations import check_annotations, unread_rules
from extender.wire.filtering import (
    Envelope,
    ExtenderArgs,
    open_args,
    read_envelope,
    write_filter_error,
    write_filter_result,
    write_names,
)
from extender.wire.name_lists import NameLists
from extender.wire.objects import PodReader
from extender.wire.prioritizing import EMPTY, PriorityWriter

FILTER_STATUSES = ("Success", "Unschedulable", "UnschedulableAndUnresolvable", "Error")

_log = logging.getLogger(__name__)


LOG_SECONDS = 10.0
LOG_BURST = 5
"""Lines of a kind in so long: the scheduler tries a broken pod again and again."""


class NotReadyError(ExtenderError):
    """The cluster is not known yet, so any verdict would be a guess."""


class UnclearError(ExtenderError):
    """The verdict hangs on where other pods are about to go, and nobody tells us."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the callbacks enforce, and how they put it."""

    plugins: Plugins
    """Those that refuse nodes here; none when the scheduler has all of these rules itself."""
    resolvable: bool
    """Put anti-affinity refusals where preemption may look at them."""
    scoring: Scoring
    max_score: int
    """What the best node of a request scores."""


class Answers:
    """Answers filter and prioritize from the live state.

    Nothing is awaited while an answer is made, so each sees a whole state.
    Faults become the answer that the scheduler understands. RequestError is for bodies that no
    kube-scheduler sends.
    """

    def __init__(
        self,
        state: ClusterState,
        rules: Rules,
        metrics: Metrics,
        unready: Callable[[], str | None],
        flights: Flights | None = None,
        *,
        pods: PodReader,
        nomination: NominationController | None = None,
        shadow: Disagreements | None = None,
        keep_waiting: Callable[[Pod], bool] | None = None,
        preparer: Preparer | None = None,
        defer: Defer = soon,
    ) -> None:
        """With `shadow`, answers change nothing: where we would differ is noted there.

        `keep_waiting` tells whether the node held for a pod is refused for its victims alone.
        `defer` takes what can be done when the scheduler has its answer.
        """
        self._state = state
        self._rules = rules
        self._metrics = metrics
        self._unready = unready
        self._flights = flights
        self._nomination = nomination
        self._shadow = shadow
        self._keep_waiting = keep_waiting
        self._pods = pods
        self._lists = NameLists(state.nodes)
        self._priorities = PriorityWriter(state.nodes)
        self._foresight = Foresight(state, defer)
        self._defer = defer
        self._preparer = preparer or Preparer(state, metrics)
        self._log = LogThrottle(_log, seconds=LOG_SECONDS, burst=LOG_BURST)
        self._warned = False
        # The attempts of a scheduler that has its rules itself are seen where it asks for scores.
        self._filter_is_attempt = bool(rules.plugins) or shadow is not None
        judging = shadow.plugins if shadow is not None else rules.plugins
        self._asks_to_filter = INTER_POD_AFFINITY in {plugin.name for plugin in judging}
        for name in {INTER_POD_AFFINITY, *(plugin.name for plugin in judging)}:
            metrics.begin_plugin(name, "Filter", FILTER_STATUSES)
        metrics.begin_plugin(INTER_POD_AFFINITY, "Score", ("Success", "Error"))

    async def filter(self, body: bytes) -> bytes:
        """Answer /filter, after the pods in flight that this one interacts with."""
        start = perf_counter()
        try:
            envelope = read_envelope(body)
            if envelope.pod_bytes > LARGE_BYTES:
                await self._preparer.wait_to_read()
            args = self._read(envelope)
            if args.pod.node is not None:
                return self._pass_placed(args)
            if self._flights is not None and self._flights.interacting(args.pod):
                self._metrics.observe_hold(await self._flights.clear(args.pod))
            if self._asks_to_filter and self._preparer.takes_long(args.pod):
                await self._prepare(args.pod)
            verdicts = self._judge(args)
        except (ObjectError, NotReadyError, UnclearError, OverBudgetError) as error:
            return self.filter_fault(error, perf_counter() - start)
        if verdicts.fits.names and self._flights is not None:
            self._flights.depart(args.pod)
        if self._nomination is not None:
            self._tell(self._nomination, args, verdicts)
        names_json = write_names(verdicts, args)
        self._lists.remember(names_json, verdicts.fits)
        self._foresee(args, verdicts.fits, names_json)
        return write_filter_result(
            verdicts,
            args,
            names_json,
            resolvable=self._rules.resolvable,
            waits_for=self._waits_for(args.pod, verdicts),
        )

    def _pass_placed(self, args: ExtenderArgs) -> bytes:
        """Answer /filter about a pod that is on its node: rules hold while it is scheduled only.

        kube-scheduler 1.37 asks about a pod whose resize is deferred, to make room for it (gate
        InPlacePodVerticalScalingSchedulerPreemption); InterPodAffinity skips such pods as well.
        """
        verdicts = _all_pass(args)
        return write_filter_result(verdicts, args, write_names(verdicts, args), resolvable=False)

    async def prioritize(self, body: bytes) -> bytes:
        """Answer /prioritize, if need be with scores that were made when filter had answered."""
        start = perf_counter()
        try:
            foreseen = self._foresight.recall(body)
            if foreseen is not None:
                self._check_ready()
                answer, seconds = foreseen.answer, foreseen.seconds
            else:
                envelope = read_envelope(body)
                if envelope.pod_bytes > LARGE_BYTES:
                    await self._preparer.wait_to_read()
                args = self._read(envelope)
                check_annotations(args.pod)
                if self._preparer.takes_long(args.pod):
                    await self._prepare(args.pod)
                answer, seconds = self._scores(args.pod, lambda: self._asked(args, numbered=True))
        except (ObjectError, NotReadyError, OverBudgetError) as error:
            return self.prioritize_fault(error, perf_counter() - start)
        self._observe_run("Score", INTER_POD_AFFINITY, "Success", seconds)
        self._defer(lambda: self._count_attempt("feasible", of_filter=False))
        return EMPTY if self._shadow else answer

    def filter_fault(self, error: Exception, seconds: float) -> bytes:
        """Answer /filter when there is no verdict."""
        self._note_filter_fault(error, seconds)
        return write_filter_error(str(error) or type(error).__name__)

    def prioritize_fault(self, error: Exception, seconds: float) -> bytes:
        """Answer /prioritize when there are no scores; the answer has no field to say why."""
        self._count_attempt("error", of_filter=False)
        self._metrics.observe_plugin(INTER_POD_AFFINITY, "Score", "Error", seconds)
        self._log.log(
            logging.WARNING,
            _kind("prioritize", error),
            "prioritize failed, the pod is placed without scores of ours: %s",
            error,
        )
        return EMPTY

    def _note_filter_fault(self, error: Exception, seconds: float) -> None:
        self._count_attempt("error", of_filter=True)
        self._metrics.observe_plugin(INTER_POD_AFFINITY, "Filter", "Error", seconds)
        self._log.log(logging.WARNING, _kind("filter", error), "filter failed: %s", error)

    def _read(self, envelope: Envelope) -> ExtenderArgs:
        args = open_args(envelope, self._pods)
        self._check_ready()
        return args

    async def _prepare(self, pod: Pod) -> None:
        await self._preparer.prepare(pod)
        self._check_ready()

    def _check_ready(self) -> None:
        reason = self._unready()
        if reason is not None:
            raise NotReadyError(f"the extender is not ready: {reason}")

    def _asked(self, args: ExtenderArgs, *, numbered: bool = False) -> AskedNodes:
        if args.node_names is not None:
            return self._lists.read(args.node_names, numbered=numbered)
        return self._state.nodes.asked(list(args.nodes or ()), numbered=numbered)

    def _judge(self, args: ExtenderArgs) -> Verdicts:
        unread = unread_rules(args.pod)
        if unread is not None:
            if self._rules.plugins:
                raise unread
            # Here the scheduler decides about required rules, and filter changes nothing.
            self._note_filter_fault(unread, 0.0)
            return _all_pass(args)
        if any(plugin.concerns(args.pod) for plugin in self._rules.plugins):
            why_unclear = unclear(self._state, args.pod, self._rules.plugins)
            if why_unclear is not None:
                # An error, not a refusal: the scheduler backs off from errors, but retries a group
                # that was refused without a pause, and asks about all of its pods each time.
                raise UnclearError(why_unclear)
            verdicts = self._verdicts(args, self._rules.plugins)
            self._defer(lambda: self._observe(args.pod, verdicts))
            return verdicts
        if self._shadow is not None:
            self._compare(self._shadow, args)
        elif not self._rules.plugins:
            self._warn_of_mismatch()
        self._count_attempt("feasible", of_filter=True)
        return _all_pass(args)

    def _compare(self, shadow: Disagreements, args: ExtenderArgs) -> None:
        if unclear(self._state, args.pod, shadow.plugins) is None:
            shadow.note(args.pod, self._verdicts(args, shadow.plugins))

    def _verdicts(self, args: ExtenderArgs, plugins: Plugins) -> Verdicts:
        asked = self._asked(args)
        start = perf_counter()

        def observe(plugin: FilterPlugin, verdicts: Verdicts) -> None:
            nonlocal start
            now = perf_counter()
            self._observe_run("Filter", plugin.name, status_of(verdicts), now - start)
            start = now

        with self._state.without(args.pod.key, args.pod.uid):
            return judge(self._state, args.pod, asked, plugins, observe)

    def _waits_for(self, pod: Pod, verdicts: Verdicts) -> str | None:
        """Return the node held for a pod, if it is refused only until victims there are gone."""
        node = pod.nominated
        if node is None or self._keep_waiting is None:
            return None
        refused = any(
            (reason.resolvable or reason is Reason.QUOTA) and node in names
            for reason, names in verdicts.refused
        )
        return node if refused and self._keep_waiting(pod) else None

    @staticmethod
    def _tell(nomination: NominationController, args: ExtenderArgs, verdicts: Verdicts) -> None:
        if verdicts.fits.names:
            nomination.admitted(args.pod)
        else:
            asked = sum(len(names) for _, names in verdicts.refused)
            nomination.refused(args.pod, args.pod_json, asked)

    def _warn_of_mismatch(self) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(
                "asked to filter, but this mode refuses nothing: unless the scheduler's "
                "own InterPodAffinity is on, nothing enforces required rules; see docs/modes.md"
            )

    def _count_attempt(self, result: str, *, of_filter: bool) -> None:
        """Count an attempt at the call that stands for it in this mode, and at no other."""
        if of_filter is self._filter_is_attempt:
            self._metrics.count_attempt(result)

    def _observe_run(self, point: str, plugin: str, status: str, seconds: float) -> None:
        self._defer(lambda: self._metrics.observe_plugin(plugin, point, status, seconds))

    def _observe(self, pod: Pod, verdicts: Verdicts) -> None:
        feasible = bool(verdicts.fits.names)
        self._count_attempt("feasible" if feasible else "unschedulable", of_filter=True)
        for reason, names in verdicts.refused:
            self._metrics.count_filtered(reason.value, len(names))
            if reason is Reason.QUOTA:
                self._metrics.count_quota_refusal("Filter")
        if not feasible and _log.isEnabledFor(logging.DEBUG):
            _log.debug("no node fits %s: %s", pod.key, _summary(verdicts))
        elif feasible and _log.isEnabledFor(TRACE):
            fit = len(verdicts.fits.names)
            _log.log(TRACE, "%d nodes fit %s; refused: %s", fit, pod.key, _summary(verdicts) or "0")

    def _foresee(self, args: ExtenderArgs, fits: AskedNodes, names_json: bytes) -> None:
        # About a single node the scheduler does not ask.
        if args.node_names is not None and len(fits.names) > 1 and self._shadow is None:
            self._foresight.expect(
                args.pod_json, names_json, lambda: self._foreseen(args.pod, fits)
            )

    def _foreseen(self, pod: Pod, fits: AskedNodes) -> tuple[bytes, float] | None:
        if self._preparer.takes_long(pod):
            return None
        return self._scores(pod, lambda: fits)

    def _scores(self, pod: Pod, ask: Callable[[], AskedNodes]) -> tuple[bytes, float]:
        """Return the answer to prioritize, and the seconds that scoring took."""
        rules = self._rules
        start = perf_counter()
        with self._state.without(pod.key, pod.uid):
            question = self._state.question_of(pod)
            scored = prioritize_nodes(question, ask, rules.scoring, rules.max_score)
        seconds = perf_counter() - start
        return self._priorities.write(scored), seconds


def status_of(verdicts: Verdicts) -> str:
    """Return the scheduler's status for a whole answer: that of the mildest verdict."""
    if verdicts.fits.names:
        return "Success"
    if any(reason.resolvable for reason, _ in verdicts.refused):
        return "Unschedulable"
    return "UnschedulableAndUnresolvable"


def _all_pass(args: ExtenderArgs) -> Verdicts:
    # No list is remembered for prioritize: there is no such version.
    return Verdicts(AskedNodes(list(args.nodes or ()), (), {}, -1), ())


def _kind(verb: str, error: Exception) -> str:
    return f"{verb} {type(error).__name__}"


def _summary(verdicts: Verdicts) -> str:
    return ", ".join(f"{len(names)} {reason.value}" for reason, names in verdicts.refused)
