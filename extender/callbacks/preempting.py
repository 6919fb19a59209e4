"""The preempt callback: which of the scheduler's candidates help, and who else has to go."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter

from extender.callbacks.named_victims import LAG_SECONDS, NamedVictims
from extender.callbacks.observing import fault_log
from extender.callbacks.readiness import NotReadyError, check_ready
from extender.cluster.state import ClusterState
from extender.controllers.preemption.controller import PreemptionController
from extender.errors import ObjectError
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.ports import Check, GiveWay
from extender.preparing import OverBudgetError, Preparer
from extender.reading import ApartReader
from extender.verbs.filtering import unclear
from extender.verbs.plugins import Plugins, compare_pods, leading
from extender.verbs.preempting import Victims, choose_victims
from extender.verbs.ranking import settle
from extender.wire.annotations import check_annotations
from extender.wire.objects import PodReader
from extender.wire.preempting import (
    PreemptionArgs,
    read_preemption_args,
    write_preemption_result,
)

_NONE = write_preemption_result({})

_log = logging.getLogger(__name__)


class Preemptions:
    """Answers /preempt. Whatever goes wrong, nobody is evicted for it.

    Evictions take their time, and victims go one by one. When the room is there and a victim that
    repels the pod is not gone yet, filter refuses the node; the scheduler would then look for
    victims elsewhere, and so on, node after node. So a pod that has a node held for it waits.
    """

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics,
        plugins: Plugins,
        *,
        unready: Check,
        may_be_empty: bool,
        clock: Callable[[], float],
        pods: ApartReader[PodReader],
        give_way: GiveWay | None = None,
        preemption: PreemptionController | None = None,
        preparer: Preparer | None = None,
    ) -> None:
        """With `give_way`, whoever else nominates nodes hears of preemptions before they begin.

        `preemption` evicts for pods by itself, and takes over those for which no candidate helps.
        """
        self._give_way = give_way
        self._preemption = preemption
        self._preparer = preparer or Preparer(state, metrics)
        self._state = state
        self._metrics = metrics
        self._plugins = plugins
        self._leading = leading(plugins)
        metrics.begin_plugin(self._leading, "Preempt", ("Success", "Unschedulable", "Error"))
        self._unready = unready
        self._may_be_empty = may_be_empty
        self._clock = clock
        self._pods = pods
        self._log = fault_log(_log)
        self.held = NamedVictims(state, plugins, preemption, clock)

    async def answer(self, body: bytes) -> bytes:
        """Answer /preempt; RequestError when no scheduler sends such a body."""
        start = perf_counter()
        try:
            args = await self._pods.read(len(body), partial(_read, body))
            check_ready(self._unready)
            await self._preparer.prepare(args.pod)
            chosen = self._choose(args)
            if chosen and self._preemption is not None and args.pod.node is None:
                chosen = await self._preemption.review(args.pod, args.pod_json, chosen)
            chosen = await self._without_our_hints(args, chosen)
            if args.pod.node is None:
                self._hand_over(args, chosen)
                chosen = self._expect(args.pod, chosen)
            if chosen:
                self.held.remember(args.pod.uid, chosen)
            return write_preemption_result(chosen)
        except (ObjectError, NotReadyError, OverBudgetError) as error:
            return self.fault(error, perf_counter() - start)

    def fault(self, error: Exception, seconds: float) -> bytes:
        """Answer /preempt when there is no verdict; the answer has no field to say why."""
        self._metrics.observe_plugin(self._leading, "Preempt", "Error", seconds)
        kind = type(error).__name__
        self._log.log(logging.WARNING, kind, "preempt failed, no pod is evicted: %s", error)
        return _NONE

    def _hand_over(self, args: PreemptionArgs, chosen: Mapping[str, Victims]) -> None:
        """Tell who evicts by itself whether the scheduler does so for a pod."""
        if self._preemption is None:
            return
        if chosen:
            self._preemption.stand_back(args.pod)
        elif args.pod.may_preempt:
            self._preemption.unhelped(args.pod, args.pod_json)

    async def _without_our_hints(
        self, args: PreemptionArgs, chosen: Mapping[str, Victims]
    ) -> Mapping[str, Victims]:
        """Let the scheduler have the pod's nomination to itself before it hears of any victim."""
        waits_on = None if chosen else self.held.waits_on(args.pod)
        nodes = chosen.keys() if waits_on is None else {waits_on}
        if self._give_way is None or not nodes:
            return chosen
        version = self._state.version
        unsure = await self._give_way(args.pod, nodes)
        if doubtful := unsure & chosen.keys():
            says = "no eviction from %s for %s: unclear whether a hint there is withdrawn"
            self._log.log(logging.WARNING, says, says, min(doubtful), args.pod.key)
        elif version == self._state.version:
            return chosen
        left = {node: args.candidates[node] for node in chosen if node not in unsure}
        return self._choose(replace(args, candidates=left))

    def _choose(self, args: PreemptionArgs) -> Mapping[str, Victims]:
        if not args.pod.may_preempt:
            # The scheduler does not even ask for such a pod.
            return {}
        if args.pod.node is not None:
            # A resize that is deferred wants room (kube-scheduler 1.37), and no rule is about that.
            return args.candidates
        waits_on = self.held.waits_on(args.pod)
        if waits_on is not None and waits_on not in args.candidates:
            says = "%s waits for its victims on %s to go"
            self._log.log(logging.INFO, says, says, args.pod.key, waits_on)
            return {}
        if self._preemption is not None and self._preemption.going(args.pod) is not None:
            return {}
        why_unclear = unclear(self._state, args.pod, self._plugins)
        if why_unclear is not None:
            says = "no eviction for %s: %s"
            self._log.log(logging.WARNING, says, says, args.pod.key, why_unclear)
            return {}
        start = perf_counter()
        chosen = choose_victims(
            self._state,
            args.pod,
            args.candidates,
            self._plugins,
            may_be_empty=self._may_be_empty,
        )
        status = "Success" if chosen else "Unschedulable"
        self._metrics.observe_plugin(self._leading, "Preempt", status, perf_counter() - start)
        if _log.isEnabledFor(logging.DEBUG):
            added = sum(len(chosen[node].uids) - len(args.candidates[node].uids) for node in chosen)
            _log.debug(
                "preempting for %s: %d of %d nodes are possible, with %d victims added",
                args.pod.key, len(chosen), len(args.candidates), added,
            )  # fmt: skip
        return chosen

    def _expect(self, pod: Pod, chosen: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """Count the pod as nominated to the node that the scheduler will take, if that is plain."""
        if not chosen or not compare_pods(self._plugins):
            return chosen
        settled = settle(self._state, chosen)
        if settled.taken is not None:
            self._state.expect_nomination(pod, settled.taken, self._clock() + LAG_SECONDS)
        return settled.chosen


def _read(body: bytes, pods: PodReader) -> PreemptionArgs:
    args = read_preemption_args(body, pods)
    check_annotations(args.pod)
    return args
