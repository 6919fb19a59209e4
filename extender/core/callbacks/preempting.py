"""The preempt callback: which of the scheduler's candidates help, and who else has to go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from extender.core.callbacks.named_victims import LAG_SECONDS, NamedVictims
from extender.core.callbacks.observing import fault_log
from extender.core.callbacks.requests import NotReadyError, Requests
from extender.core.errors import ObjectError
from extender.core.model.disruption import Rank, Victims
from extender.core.model.objects import Pod
from extender.core.ports import Preemptor, ReleaseNomination
from extender.core.verbs.filtering import indeterminate
from extender.core.verbs.plugins import Plugins, compare_pods, leading
from extender.core.verbs.preempting import choose_victims, rank_of, settle
from extender.core.verbs.victims import needed
from extender.core.warm_up import OverBudgetError
from extender.core.wire.broken_rules import check_rules
from extender.core.wire.preempting import (
    PreemptionArgs,
    read_preemption_args,
    write_preemption_result,
)

LOOKING_SECONDS = 0.8
"""For how long a pod is prepared, and for how long candidates are looked at then; those that are
left after that are left out. Withdrawing a hint may take 2 s more, though not often all of it, and
those that help are looked at once more if the cluster has changed by then. The scheduler gives up
after 5 s. As a rule filter has prepared the pod a moment before."""
AT_ONCE = 16
"""Candidates that are looked at in one step at the end, when the cluster has changed meanwhile."""

_NONE = write_preemption_result({})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Found:
    victims: Victims
    rank: Rank | None
    """None where a victim is unknown."""


class Preemptions:
    """Answers /preempt. No pod is evicted because of a fault.

    Evictions take their time, and victims go one by one. When the room is there and a victim that
    repels the pod is not gone yet, filter refuses the node; the scheduler would then look for
    victims elsewhere, and so on, node after node. So a pod that has a node held for it waits.
    """

    def __init__(
        self,
        requests: Requests,
        plugins: Plugins,
        *,
        may_be_empty: bool,
        clock: Callable[[], float],
        release_nomination: ReleaseNomination | None = None,
        preemption: Preemptor | None = None,
    ) -> None:
        """`release_nomination` tells whoever else nominates nodes of preemptions before they begin.

        `preemption` evicts for pods by itself, and takes over those for which no candidate helps.
        """
        self._release_nomination = release_nomination
        self._preemption = preemption
        self._requests = requests
        self._state, self._metrics = requests.state, requests.metrics
        self._plugins = plugins
        self._leading = leading(plugins)
        self._metrics.plugin_runs.begin(
            (self._leading,), ("Preempt",), ("Success", "Unschedulable", "Error")
        )
        self._may_be_empty = may_be_empty
        self._clock = clock
        self._log = fault_log(_log)
        self.held = NamedVictims(self._state, plugins, preemption, clock)

    async def answer(self, body: bytes) -> bytes:
        """Answer /preempt; RequestError when no scheduler sends such a body."""
        start = perf_counter()
        try:
            args = await self._requests.pods.read(len(body), partial(read_preemption_args, body))
            self._requests.check_ready()
            args = replace(args, pod=self._state.in_force(args.pod))
            check_rules(args.pod)
            await self._requests.warm_up.prepare(args.pod, LOOKING_SECONDS)
            chosen = await self._chosen(args)
            if chosen:
                self.held.remember(args.pod.uid, chosen)
            return write_preemption_result(chosen)
        except (ObjectError, NotReadyError, OverBudgetError) as error:
            return self.fault(error, perf_counter() - start)

    def fault(self, error: Exception, seconds: float) -> bytes:
        """Answer /preempt when there is no verdict; the answer has no field to say why."""
        self._metrics.plugin_runs.observe(seconds, self._leading, "Preempt", "Error")
        kind = type(error).__name__
        self._log.log(logging.WARNING, kind, "preempt failed, no pod is evicted: %s", error)
        return _NONE

    def _hand_over(self, args: PreemptionArgs, chosen: Collection[str]) -> None:
        """Tell who evicts by itself whether the scheduler does so for a pod."""
        if self._preemption is None:
            return
        if chosen:
            self._preemption.defer_to_scheduler(args.pod)
        else:
            self._preemption.unhelped(args.pod)

    async def _chosen(self, args: PreemptionArgs) -> Mapping[str, Victims]:
        """Return the candidates that help, as the cluster is at the end."""
        pod = args.pod
        if not pod.spec.may_preempt:
            # The scheduler does not even ask for such a pod.
            return {}
        if pod.node is not None:
            # A resize that is deferred wants room (kube-scheduler 1.37), and no rule is about that.
            return args.candidates
        version = self._state.version
        found = await self._looked_at(args)
        if await self._has_better_ones(args, found):
            found = {}
        unsure = await self._without_our_hints(pod, found.keys())
        left = {node: each for node, each in found.items() if node not in unsure}
        if version != self._state.version or self._waits(args):
            left = await self._looked_at_again(args, left)
        # Nothing is awaited from here to the answer.
        self._hand_over(args, left.keys())
        return self._settled(args, left)

    async def _looked_at(self, args: PreemptionArgs) -> dict[str, _Found]:
        """Return the candidates that help, each as things were when it was looked at."""
        if self._waits(args):
            return {}
        start = perf_counter()
        steps = self._look(args, args.candidates)
        looked_at = self._requests.warm_up.in_turns(args.pod, steps, LOOKING_SECONDS)
        found = {node: each async for node, each in looked_at if each is not None}
        status = "Success" if found else "Unschedulable"
        self._metrics.plugin_runs.observe(perf_counter() - start, self._leading, "Preempt", status)
        if _log.isEnabledFor(logging.DEBUG):
            added = sum(
                len(each.victims.uids) - len(args.candidates[node].uids)
                for node, each in found.items()
            )
            _log.debug(
                "preempting for %s: %d of %d nodes are possible, with %d victims added",
                args.pod.key, len(found), len(args.candidates), added,
            )  # fmt: skip
        return found

    async def _has_better_ones(self, args: PreemptionArgs, found: Mapping[str, _Found]) -> bool:
        """Return whether it is better to evict on a node that only we refuse."""
        known = [each.rank for each in found.values() if each.rank is not None]
        if self._preemption is None or not known or len(known) < len(found):
            return False
        return await self._preemption.has_better_ones(args.pod, min(known))

    async def _looked_at_again(
        self, args: PreemptionArgs, found: Mapping[str, _Found]
    ) -> dict[str, _Found]:
        """Return those that help by now, of as many of the best ones as one step has time for."""
        ranks = {node: each.rank for node, each in found.items()}
        best = sorted(found, key=lambda node: (ranks[node] is not None, ranks[node] or ()))
        for first in range(0, len(best), AT_ONCE):
            if self._waits(args):
                return {}
            some = {node: args.candidates[node] for node in best[first : first + AT_ONCE]}
            steps = self._look(args, some)
            if left := {node: each for node, each in steps if each is not None}:
                return left
            await asyncio.sleep(0)
        return {}

    def _look(
        self, args: PreemptionArgs, candidates: Mapping[str, Victims]
    ) -> Iterator[tuple[str, _Found | None]]:
        state = self._state
        for node, victims in choose_victims(
            state, args.pod, candidates, self._plugins, may_be_empty=self._may_be_empty
        ):
            if victims is None:
                yield node, None
            else:
                yield node, _Found(victims, rank_of(state, node, victims))

    def _waits(self, args: PreemptionArgs) -> bool:
        """Return whether nobody is to be evicted for a pod wherever that would help."""
        waits_on = self.held.waits_on(args.pod)
        if waits_on is not None and waits_on not in args.candidates:
            says = "%s waits for its victims on %s to go"
            self._log.log(logging.INFO, says, says, args.pod.key, waits_on)
            return True
        if self._preemption is not None and self._preemption.going(args.pod) is not None:
            return True
        why_indeterminate = indeterminate(self._state, args.pod, self._plugins)
        if why_indeterminate is not None:
            says = "no eviction for %s: %s"
            self._log.log(logging.WARNING, says, says, args.pod.key, why_indeterminate)
        return why_indeterminate is not None

    async def _without_our_hints(self, pod: Pod, nodes: Collection[str]) -> frozenset[str]:
        """Let the scheduler have the pod's nomination to itself before it hears of any victim.

        Return the nodes where that is not certain.
        """
        waits_on = None if nodes else self.held.waits_on(pod)
        if waits_on is not None:
            nodes = {waits_on}
        if self._release_nomination is None or not nodes:
            return frozenset()
        unsure = await self._release_nomination(pod, nodes)
        if unsure and waits_on is None:
            says = "no eviction from %s for %s: unclear whether a hint there is withdrawn"
            self._log.log(logging.WARNING, says, says, min(unsure), pod.key)
        return unsure

    def _settled(self, args: PreemptionArgs, left: Mapping[str, _Found]) -> Mapping[str, Victims]:
        """Count the pod as nominated to the node that the scheduler will take, if that is plain."""
        chosen = {node: each.victims for node, each in left.items()}
        if not chosen or not compare_pods(self._plugins):
            return chosen
        settled = settle(chosen, {node: each.rank for node, each in left.items()})
        if (taken := settled.taken) is None or not chosen[taken].uids:
            # Where nobody goes in the end, the scheduler nominates nobody.
            return settled.chosen
        found = {**settled.chosen, taken: self._needed(args, taken, chosen[taken])}
        # By empty lists, the scheduler evicts for rules of ours that another node of the domain
        # would break as well: a victim's successor must not take it first.
        self._state.expect_nomination(
            args.pod, taken, self._clock() + LAG_SECONDS, holds_domains=self._may_be_empty
        )
        return found

    def _needed(self, args: PreemptionArgs, node: str, victims: Victims) -> Victims:
        """Drop victims of the scheduler that are not needed once ours are gone.

        Only on the node that will be taken. If the scheduler named them for a rule of its own, it
        finds that the pod does not fit yet and names them again: with fewer victims left there,
        that node is still the best one.
        """
        added = len(victims.uids) != len(args.candidates[node].uids)
        if not added or not args.pod.spec.requirements.is_plain:
            return victims
        found = needed(self._state, args.pod, self._plugins, node, victims.uids)
        if found is None:
            return victims
        return Victims([each.uid for each in found.victims], found.violations)
