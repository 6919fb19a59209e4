"""Puts an explanation together."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import Final, TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.model.objects import Pod
from extender.core.model.stepping import at_once
from extender.core.model.verdict import Reason
from extender.core.model.workload import DAEMON_SET
from extender.core.verbs.filtering import indeterminate, judge
from extender.core.verbs.plugins import ScorePlugin, Scorer
from extender.core.verbs.preempting import fits_without, may_be_chosen
from extender.core.verbs.prioritizing import score
from extender.core.verbs.rules import Refusal, RefusalGroup, Rule
from extender.diagnosis.verbs.blockers import find_blockers
from extender.diagnosis.verbs.explanation import (
    MOST_BLOCKERS,
    MOST_NEAR_MISSES,
    Alike,
    Explanation,
    NearMiss,
    PluginScores,
    Question,
)
from extender.diagnosis.verbs.facts import TermSurvey
from extender.diagnosis.verbs.filters import holding, unknown
from extender.diagnosis.verbs.leaving import awaited, making_room
from extender.diagnosis.verbs.refusals import Refusals

COMPARISONS: Final = 150
"""Of a pod class with a condition, in one step of counting: a third of a millisecond."""

_Near: TypeAlias = tuple[tuple[bool, int, int, str, int], Alike]


def preparing(state: ClusterState, pod: Pod) -> Generator[object, None, None]:
    """Count what a pod's rules compare, in steps, as for a filter call; kept for a moment."""
    pod = state.in_force(pod)
    yield from state.preparing(state.class_of(pod), COMPARISONS)
    if pod.node_selection is not None:
        for rule in (*pod.node_selection.required_rules, *pod.node_selection.preferred_rules):
            yield from state.node_rules.preparing(rule)


def comparisons(state: ClusterState, pod: Pod) -> int:
    """Return how many conditions of a pod's required rules are compared with classes of pods.

    Each takes 0.4 µs of an explanation, all in all.
    """
    own = state.class_of(state.in_force(pod)).affinity
    terms = (*own.required, *own.required_anti, *own.limits)
    return sum(term.pods.conditions * len(state.candidates(term.pods)) for term in terms)


def explanation_of(state: ClusterState, question: Question) -> Explanation:
    """Explain a pod, by the tables that `judge` looks at.

    O(nodes x rules that refuse some + classes compared + pods named), 24 to 35 ms with 5,000 nodes.
    """
    asked = question.pod
    pod = state.in_force(asked)
    plugins = [at_once(each.counting(state, pod)) for each in question.plugins]
    question = replace(question, pod=pod, plugins=plugins, names=_meant(pod, question.names))
    found = Explanation(asked, question.names, left=question.left, now=question.now)
    refusals = Refusals(state, question, found)
    refusals.judge()
    find_blockers(state, pod, found.refusals)
    TermSurvey(state, pod, found).run()
    _add_scores(state, question, found)
    if question.sits is not None:
        found.sitting = question.sits(state, pod, found.fits)
    found.awaited = awaited(state, pod, found)
    nearest, found.near_miss_count = _nearest(refusals, found)
    for causes in nearest:
        miss = NearMiss(causes, refusals.nodes_of(causes))
        _only_where_it_helps(state, question, miss)
        if miss.nodes:
            found.near_misses.append(miss)
            if found.awaited is None:
                miss.preempted_on = _preempted_on(state, question, miss)
        else:
            found.near_miss_count -= 1
    if found.awaited is None:
        found.making_room = making_room(state, pod, found.near_misses)
    if not question.names_all:
        _leave_unnamed(found)
    found.groups = _grouped(found.refusals)
    found.indeterminate = indeterminate(state, pod, plugins)
    schedulers = {*question.left, *question.known}
    found.held = holding(state, asked, schedulers)
    found.unknown = unknown(state, pod, question.plugins, found.held, schedulers)
    return found


def _meant(pod: Pod, names: Sequence[str]) -> Sequence[str]:
    """Return the nodes to tell of: a DaemonSet makes each of its pods for one node alone."""
    owner, asks = pod.spec.owner, pod.node_selection
    if owner is None or owner.kind != DAEMON_SET or asks is None:
        return names
    for rule in asks.required_rules:
        named = {term.names for term, _ in rule.terms}
        only = named.pop() if len(named) == 1 else None
        if only is not None and len(only) == 1 and only.issubset(names):
            return [*only]
    return names


def _add_scores(state: ClusterState, question: Question, found: Explanation) -> None:
    """Add what prioritize would answer if the scheduler asked about all nodes that fit."""
    try:
        prepared = _prepare(state, question)
    except ObjectError as error:
        found.score_fault = str(error)
        return
    asked = state.nodes.asked(found.fits)
    if not prepared or not asked.names:
        return
    with state.without(question.pod.key, question.pod.uid):
        raws = [[*scorer.raw(asked)] for _, scorer in prepared]
    for raw, (plugin, scorer) in zip(raws, prepared, strict=True):
        by_name = dict(zip(asked.names, raw, strict=True))
        found.scores.append(PluginScores(plugin.name, by_name, scorer.normalised(raw)))
    scored = score(prepared, raws, asked.names, question.max_score)
    if scored.names:
        final = (scored.final[each] for each in scored.raw)
        found.final = dict(zip(asked.names, final, strict=True))


def _prepare(state: ClusterState, question: Question) -> Sequence[tuple[ScorePlugin, Scorer]]:
    pod = question.pod
    with state.without(pod.key, pod.uid):
        prepared = ((plugin, plugin.prepare(state, pod)) for plugin in question.scoring)
        return [(plugin, scorer) for plugin, scorer in prepared if scorer is not None]


def _leave_unnamed(found: Explanation) -> None:
    """Forget the names of pods of other namespaces; all that had to be known of them is."""
    for miss in found.near_misses:
        miss.least = miss.count
    namespace = found.pod.pod_class.namespace
    if found.awaited is not None:
        found.awaited = found.awaited.of(namespace)
    found.making_room = [each.of(namespace) for each in found.making_room]
    found.anchors = [each for each in found.anchors if each.pod_class.namespace == namespace]
    if any(each.pod_class.namespace != namespace for each in found.circle):
        found.circle = ()
    for each in found.refusals:
        named = [other for other in each.pods if other.pod_class.namespace == namespace]
        each.pods, each.unnamed = named, len(each.pods) - len(named)


def _grouped(refusals: Sequence[Refusal]) -> Sequence[RefusalGroup]:
    groups: dict[Hashable, RefusalGroup] = {}
    by_rule: dict[Rule, RefusalGroup] = {}
    for each in refusals:
        if each.nodes:
            group = by_rule.get(each.rule)
            if group is None:
                group = by_rule[each.rule] = groups.setdefault(each.rule.kind, RefusalGroup())
            group.add(each)
    return sorted(groups.values(), key=lambda group: -group.nodes)


def _nearest(refusals: Refusals, found: Explanation) -> tuple[Sequence[Alike], int]:
    """Choose where the fewest pods would have to go; return with it how many near misses are."""
    near: list[_Near] = []
    for causes, nodes in _near_misses(refusals, found):
        if nodes:
            first = causes[0]
            pods = first.count if len(causes) == 1 else NearMiss(causes).count
            # Few pods that would have to go first, then many nodes.
            near.append(((not pods, pods, -nodes, first.domain or "", len(near)), causes))
    return [causes for _, causes in nsmallest(MOST_NEAR_MISSES, near)], len(near)


def _near_misses(refusals: Refusals, found: Explanation) -> Iterator[tuple[Alike, int]]:
    """Yield causes, with the nodes that one rule alone or pods in the way keep; 0 for others."""
    for causes in refusals.alike:
        if len(causes) > 1:
            by_pods = all(each.rule.by_placed_pods for each in causes)
            yield causes, len(refusals.together[causes]) if by_pods else 0
        else:
            first = causes[0]
            helps = first.reason is not Reason.UNKNOWN_NODE and not _is_label_alone(found, first)
            yield causes, first.alone if helps and first.rule.has_remedy(first.domain) else 0


def _is_label_alone(found: Explanation, refusal: Refusal) -> bool:
    """Return whether a topology label would not do, as there is no pod to be near by it."""
    lacks_label = refusal.reason is Reason.AFFINITY and refusal.domain is None
    return lacks_label and not found.matching_all and not found.is_first


def _only_where_it_helps(state: ClusterState, question: Question, miss: NearMiss) -> None:
    """Take away the nodes that would not fit either with the pods in the way gone.

    The same pods may be those that the pod's own affinity asks for.
    """
    # What has no room counts pods that are gone as there.
    if miss.count > MOST_BLOCKERS or any(
        each.rule.nominated or each.rule.of_node for each in miss.refusals
    ):
        return
    if _still_there(state, miss):
        asked = state.nodes.asked(miss.nodes)
        verdicts = judge(state, question.pod, asked, question.plugins, gone=miss.pods)
        miss.nodes = [*verdicts.fits.names]


def _still_there(state: ClusterState, miss: NearMiss) -> bool:
    """Return whether pods are named, and are where they were found.

    A pod whose bind is under way may turn out to be elsewhere.
    """
    return bool(miss.pods) and all(state.pod(each.key, each.uid) is each for each in miss.pods)


def _preempted_on(state: ClusterState, question: Question, miss: NearMiss) -> str | None:
    """Return the node from which evicting the pods in the way would let the pod in, if any.

    All of them have to be on that node, which has to be among those that nothing else refuses: the
    scheduler evicts nobody from other nodes of a domain.
    """
    pod, pods = question.pod, miss.pods
    if not pod.spec.may_preempt or not pods or miss.count > MOST_BLOCKERS:
        return None
    node = pods[0].node
    if node not in miss.nodes or not all(
        each.node == node and may_be_chosen(each, pod) for each in pods
    ):
        return None
    if not _still_there(state, miss):
        return None
    return node if fits_without(state, pod, node, pods, question.plugins) else None
