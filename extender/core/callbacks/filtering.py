"""The filter callback: which nodes of a request a pod may go to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.observing import Defer, Laps, fault_log, fault_text, soon
from extender.core.callbacks.requests import NotReadyError, Requests
from extender.core.errors import ExtenderError, ObjectError
from extender.core.logs import TRACE
from extender.core.model.objects import Pod
from extender.core.ports import Hook
from extender.core.verbs.filtering import concerned, indeterminate, judge
from extender.core.verbs.plugins import (
    FilterPlugin,
    FilterResult,
    Plugins,
    Refused,
    compare_pods,
    leading,
)
from extender.core.warm_up import OverBudgetError
from extender.core.wire.broken_rules import broken_rules
from extender.core.wire.extender_args import ExtenderArgs
from extender.core.wire.extender_results import write_filter_error, write_filter_result

STATUSES = ("Success", "Unschedulable", "UnschedulableAndUnresolvable", "Error")

_log = logging.getLogger(__name__)


class IndeterminateError(ExtenderError):
    """The verdict depends on where other pods are about to go, which the extender is not told."""


class Helper(Protocol):
    """Hears of pods that were refused on every node, and tries to help them."""

    def refused(self, pod: Pod, refused: Refused) -> None:
        """Note that a pod was refused on every node it was asked about."""

    def admitted(self, pod: Pod) -> None:
        """Note that a pod was not refused everywhere."""


class HeldPlaces(Protocol):
    """Knows the pods that have a node held for them until victims are gone there."""

    def waits_on(self, pod: Pod) -> str | None:
        """Return that node, if the pod is refused there for its victims alone."""

    async def catch_up(self, pod: Pod) -> None:
        """Wait a moment for the watch to show what the scheduler has seen of the victims."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who else takes part in filter calls, each where its mode has it."""

    in_flight: InFlightPods | None = None
    """Pods that were answered and are not bound yet; those in conflict with them wait."""
    helpers: Sequence[Helper] = ()
    """Who does something for pods that are refused on every node."""
    judging: Hook | None = None
    """Hears what its own rules say; no answer depends on it."""
    held: HeldPlaces | None = None
    answered: Callable[[], None] | None = None
    """Hears of each verdict."""


class Filters:
    """Answers /filter from the live state.

    Nothing is awaited while an answer is made, so each sees a whole state. Faults become the answer
    that the scheduler understands.
    """

    def __init__(
        self,
        requests: Requests,
        plugins: Plugins,
        *,
        resolvable: bool,
        listeners: Listeners | None = None,
        defer: Defer = soon,
    ) -> None:
        """Refuse by plugins; by none where the scheduler has all of these rules itself.

        `resolvable` puts anti-affinity refusals where preemption may look at them; `defer` takes
        what can be done when the scheduler has its answer.
        """
        self._requests = requests
        self._state, self._metrics = requests.state, requests.metrics
        self._plugins = plugins
        self._resolvable = resolvable
        self._listeners = listeners or Listeners()
        self._defer = defer
        self._log = fault_log(_log)
        self._warned = False
        hook = self._listeners.judging
        judging = plugins if hook is None else hook.judges
        self._judging = [each for each in judging if each.refuses]
        self._compares_pods = compare_pods(judging)
        self._enforces = hook is not None or not all(each.of_annotations for each in plugins)
        # Elsewhere the scheduler has its rules itself, and is seen where it asks for scores.
        self._is_attempt = bool(plugins) or hook is not None
        self._leading = leading(judging)
        for name in {self._leading, *(each.name for each in self._judging)}:
            self._metrics.plugin_runs.begin((name,), ("Filter",), STATUSES)
        for reason in (each for plugin in plugins for each in plugin.reasons):
            self._metrics.nodes_filtered.begin((reason.value,))

    async def answer(self, body: bytes) -> bytes:
        """Answer /filter, after the pods in flight that this one is in conflict with."""
        start = perf_counter()
        try:
            args = await self._requests.read(body)
            if args.pod.node is not None:
                # Rules hold while a pod is scheduled only. kube-scheduler 1.37 asks about one whose
                # resize is deferred (gate InPlacePodVerticalScalingSchedulerPreemption).
                return write_filter_result(None, args, resolvable=False)
            # A scheduler may ignore an error: what an earlier attempt was judged by counts no more.
            self._state.note_asked(args.pod.without_annotations, admitted=False)
            in_flight = self._listeners.in_flight
            if in_flight is not None and in_flight.interacting(args.pod):
                self._metrics.holds.observe(await in_flight.wait_for(args.pod))
            if self._listeners.held is not None:
                await self._listeners.held.catch_up(args.pod)
            verdicts = self._judge(args) if await self._is_prepared(args.pod) else None
        except (ObjectError, NotReadyError, IndeterminateError, OverBudgetError) as error:
            return self.fault(error, perf_counter() - start)
        self._tell(args.pod, verdicts)
        return write_filter_result(
            verdicts,
            args,
            resolvable=self._resolvable,
            waits_for=self._waits_for(args.pod, verdicts),
        )

    async def _is_prepared(self, pod: Pod) -> bool:
        """Return whether a pod can be judged; OverBudgetError where it would be refused by that."""
        if not self._compares_pods:
            return True
        if self._plugins:
            await self._requests.prepare(pod)
        elif not self._requests.warm_up.prepares_beside(pod):
            # Mode shadow: filter changes nothing, and makes no pod wait.
            self._count_attempt("feasible")
            return False
        return True

    def fault(self, error: Exception, seconds: float) -> bytes:
        self._note_fault(error, seconds)
        return write_filter_error(fault_text(error))

    def _may_refuse(self, pod: Pod) -> bool:
        """Return whether a rule may refuse nodes for a pod; IndeterminateError if unknown."""
        if not concerned(self._state, pod, self._plugins):
            return False
        why_indeterminate = indeterminate(self._state, pod, self._plugins)
        if why_indeterminate is not None:
            # An error, not a refusal: the scheduler backs off from errors, but retries a group
            # that was refused without a pause, and asks about all of its pods each time.
            raise IndeterminateError(why_indeterminate)
        return True

    def _judge(self, args: ExtenderArgs) -> FilterResult | None:
        """Judge the nodes of a request; None if no rule is about the pod, so that all fit.

        Then their names are not needed, and looking them up would be most of the answer.
        """
        broken = broken_rules(args.pod)
        if broken is not None:
            if self._plugins:
                raise broken
            # Mode shadow: filter changes nothing.
            self._note_fault(broken, 0.0)
            return None
        if not (self._enforces or self._warned):
            self._warn_of_mismatch()
        if self._may_refuse(args.pod):
            verdicts = self._verdicts(args)
            self._state.note_asked(args.pod, admitted=bool(verdicts.fits.names))
            self._defer(lambda: self._observe(args.pod, verdicts))
            return verdicts
        self._state.note_asked(args.pod)
        if self._listeners.judging is not None:
            self._compare(self._listeners.judging, args)
        self._count_attempt("feasible")
        return None

    def _compare(self, hook: Hook, args: ExtenderArgs) -> None:
        if indeterminate(self._state, args.pod, hook.judges) is None:
            hook.judged(args.pod, self._verdicts(args))

    def _verdicts(self, args: ExtenderArgs) -> FilterResult:
        asked = self._requests.asked(args)
        laps = Laps()

        def observe(plugin: FilterPlugin, verdicts: FilterResult) -> None:
            self._observe_run(plugin.name, status_of(verdicts), laps.end(plugin.name))

        # What the scheduler's own plugins let through has passed beside nominated pods already.
        mine = self._listeners.judging is None
        return judge(self._state, args.pod, asked, self._judging, observe, nominated=mine)

    def _tell(self, pod: Pod, verdicts: FilterResult | None) -> None:
        listeners = self._listeners
        if verdicts is None or verdicts.fits.names:
            if listeners.in_flight is not None:
                listeners.in_flight.add(pod)
            for helper in listeners.helpers:
                helper.admitted(pod)
        else:
            for helper in listeners.helpers:
                helper.refused(pod, verdicts.refused)
        if listeners.answered is not None:
            listeners.answered()

    def _waits_for(self, pod: Pod, verdicts: FilterResult | None) -> str | None:
        """Return the node held for a pod, if it is refused only until victims there are gone."""
        held = self._listeners.held
        if held is None or verdicts is None or not verdicts.refused:
            return None
        node = held.waits_on(pod)
        refused = any(reason.may_pass and node in names for reason, names in verdicts.refused)
        return node if refused else None

    def _warn_of_mismatch(self) -> None:
        self._warned = True
        _log.warning(
            "asked to filter, but this mode refuses nothing but by rules in annotations: unless "
            "the scheduler's own InterPodAffinity is on, nothing enforces required rules; see "
            "docs/modes.md"
        )

    def _count_attempt(self, result: str) -> None:
        if self._is_attempt:
            self._metrics.attempts.count(result)

    def _note_fault(self, error: Exception, seconds: float) -> None:
        self._count_attempt("error")
        self._metrics.plugin_runs.observe(seconds, self._leading, "Filter", "Error")
        self._log.log(logging.WARNING, type(error).__name__, "filter failed: %s", error)

    def _observe_run(self, plugin: str, status: str, seconds: float) -> None:
        self._defer(lambda: self._metrics.plugin_runs.observe(seconds, plugin, "Filter", status))

    def _observe(self, pod: Pod, verdicts: FilterResult) -> None:
        feasible = bool(verdicts.fits.names)
        self._count_attempt("feasible" if feasible else "unschedulable")
        for reason, names in verdicts.refused:
            self._metrics.nodes_filtered.count(reason.value, by=len(names))
        if not feasible and _log.isEnabledFor(logging.DEBUG):
            _log.debug("no node fits %s: %s", pod.key, _summary(verdicts))
        elif feasible and _log.isEnabledFor(TRACE):
            fit = len(verdicts.fits.names)
            _log.log(TRACE, "%d nodes fit %s; refused: %s", fit, pod.key, _summary(verdicts) or "0")


def status_of(verdicts: FilterResult) -> str:
    """Return the scheduler's status for a whole answer: that of the mildest verdict."""
    if verdicts.fits.names:
        return "Success"
    if any(reason.resolvable for reason, _ in verdicts.refused):
        return "Unschedulable"
    return "UnschedulableAndUnresolvable"


def _summary(verdicts: FilterResult) -> str:
    return ", ".join(f"{len(names)} {reason.value}" for reason, names in verdicts.refused)
