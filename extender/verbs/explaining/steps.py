"""Puts an explanation together in small steps, between which others are answered."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import islice
from typing import Final, TypeAlias

from extender.cluster.state import ClusterState
from extender.errors import ObjectError
from extender.model.verdict import Reason
from extender.verbs.explaining.blockers import find_blockers
from extender.verbs.explaining.explanation import (
    MOST_BLOCKERS,
    MOST_NEAR_MISSES,
    Alike,
    Explanation,
    NearMiss,
    PluginScores,
    Question,
)
from extender.verbs.explaining.facts import TermSurvey
from extender.verbs.explaining.refusals import Refusals
from extender.verbs.filtering import indeterminate, judge
from extender.verbs.filters import unknown
from extender.verbs.plugins import FilterPlugin, ScorePlugin, Scorer
from extender.verbs.preempting import fits_without, may_be_chosen
from extender.verbs.prioritizing import score
from extender.verbs.rules import Refusal, RefusalGroup, Rule

COMPARISONS: Final = 150
"""Of a pod class with a condition, in one step of counting: a third of a millisecond."""
AT_ONCE: Final = 100
"""Refusals that are put together with others in one step."""
SCORED: Final = 500
"""Nodes that are scored in one step."""

Steps: TypeAlias = Generator[None, None, Explanation]
_Near: TypeAlias = tuple[tuple[bool, int, int, str, int], Alike]


def explaining(state: ClusterState, question: Question) -> Steps:
    """Explain a pod, in steps of about a millisecond at most; the last returns what was found.

    Results and their causes are made in the same step, a part of the nodes at a time, by `judge`
    and from the tables that it looks at. The state may change between two steps.
    O(nodes x rules that refuse some + classes compared + pods named).
    """
    asked, version = question.pod, state.version
    pod = state.in_force(asked)
    plugins: list[FilterPlugin] = []
    for plugin in question.plugins:
        counted = yield from plugin.counting(state, pod)
        plugins.append(counted)
    question = replace(question, pod=pod, plugins=plugins)
    for _ in state.preparing(state.class_of(pod), COMPARISONS):
        yield
    if pod.node_affinity is not None:
        for rule in (*pod.node_affinity.required_rules, *pod.node_affinity.preferred_rules):
            yield from state.node_rules.preparing(rule)
    found = Explanation(asked, question.names)
    refusals = Refusals(state, question, found)
    yield from refusals.judging()
    yield from find_blockers(state, pod, found.refusals)
    yield from TermSurvey(state, pod, found).running()
    yield from _add_scores(state, question, found)
    if question.sits is not None:
        found.sitting = yield from question.sits(state, pod, found.fits)
    nearest, found.near_miss_count = yield from _nearest(refusals)
    for causes in nearest:
        miss = NearMiss(causes, refusals.nodes_of(causes))
        yield from _only_where_it_helps(state, question, miss)
        if miss.nodes:
            found.near_misses.append(miss)
            miss.preempted_on = _preempted_on(state, question, miss)
        else:
            found.near_miss_count -= 1
        yield
    if not question.names_all:
        yield from _leaving_unnamed(found)
    found.groups = yield from _grouped(found.refusals)
    found.indeterminate = indeterminate(state, pod, plugins)
    found.unknown = unknown(state, pod, question.plugins)
    found.changed = state.version != version
    return found


def taking_apart(explanation: Explanation) -> Generator[None, None, None]:
    """Empty an explanation that nobody needs any more, in steps.

    To free thousands of refusals at once, and to let go of the pods in them, takes milliseconds.
    """
    refused = explanation.refused
    while refused:
        for _ in range(min(AT_ONCE, len(refused))):
            refused.popitem()
        yield
    for refusals in (*(group.refusals for group in explanation.groups), explanation.refusals):
        while refusals:
            del refusals[-AT_ONCE:]
            yield


def _add_scores(state: ClusterState, question: Question, found: Explanation) -> Iterator[None]:
    """Add what prioritize would answer if the scheduler asked about all nodes that fit, in steps.

    Some nodes are scored in each step, and all of them in the last.
    """
    try:
        prepared = _prepare(state, question)
    except ObjectError as error:
        found.score_fault = str(error)
        return
    if not prepared:
        return
    yield
    raws: list[list[int]] = [[] for _ in prepared]
    names: list[str] = []
    for start in range(0, len(found.fits), SCORED):
        asked = state.nodes.asked(found.fits[start : start + SCORED])
        if asked.names:
            with state.without(question.pod.key, question.pod.uid):
                for raw, (_, scorer) in zip(raws, prepared, strict=True):
                    raw.extend(scorer.raw(asked))
            names += asked.names
        yield
    if not names:
        return
    for raw, (plugin, scorer) in zip(raws, prepared, strict=True):
        by_name = dict(zip(names, raw, strict=True))
        found.scores.append(PluginScores(plugin.name, by_name, scorer.normalised(raw)))
        yield
    scored = score(prepared, raws, names, question.max_score)
    yield
    if scored.names:
        final = (scored.final[each] for each in scored.raw)
        found.final = dict(zip(names, final, strict=True))


def _prepare(state: ClusterState, question: Question) -> Sequence[tuple[ScorePlugin, Scorer]]:
    pod = question.pod
    with state.without(pod.key, pod.uid):
        prepared = ((plugin, plugin.prepare(state, pod)) for plugin in question.scoring)
        return [(plugin, scorer) for plugin, scorer in prepared if scorer is not None]


def _leaving_unnamed(found: Explanation) -> Iterator[None]:
    """Forget the names of pods of other namespaces; all that had to be known of them is."""
    for miss in found.near_misses:
        miss.least = miss.count
    namespace = found.pod.pod_class.namespace
    if found.mutual is not None and found.mutual.pod_class.namespace != namespace:
        found.mutual = None
    for number, each in enumerate(found.refusals):
        named = [other for other in each.pods if other.pod_class.namespace == namespace]
        each.pods, each.unnamed = named, len(each.pods) - len(named)
        if number % AT_ONCE == 0:
            yield


def _grouped(refusals: Sequence[Refusal]) -> Generator[None, None, Sequence[RefusalGroup]]:
    """Group the refusals that some node shows by kind, those of most nodes first."""
    groups: dict[Hashable, RefusalGroup] = {}
    by_rule: dict[Rule, RefusalGroup] = {}
    for number, each in enumerate(refusals):
        if each.nodes:
            group = by_rule.get(each.rule)
            if group is None:
                group = by_rule[each.rule] = groups.setdefault(each.rule.kind, RefusalGroup())
            group.add(each)
        if number % AT_ONCE == 0:
            yield
    return sorted(groups.values(), key=lambda group: -group.nodes)


def _nearest(refusals: Refusals) -> Generator[None, None, tuple[Sequence[Alike], int]]:
    """Choose where the fewest pods would have to go; return with it how many near misses are."""
    nearest: list[_Near] = []
    number = 0
    every = _near_misses(refusals)
    while some := list(islice(every, AT_ONCE)):
        worst = nearest[-1] if len(nearest) == MOST_NEAR_MISSES else None
        for causes, nodes in some:
            if not nodes:
                continue
            number += 1
            first = causes[0]
            pods = first.count if len(causes) == 1 else NearMiss(causes).count
            # Few pods that would have to go first, then many nodes.
            near = (not pods, pods, -nodes, first.domain or "", number), causes
            if worst is None or near < worst:
                nearest.append(near)
        nearest = nsmallest(MOST_NEAR_MISSES, nearest)
        yield
    return [causes for _, causes in nearest], number


def _near_misses(refusals: Refusals) -> Iterator[tuple[Alike, int]]:
    """Yield causes, with the nodes that one rule alone or pods in the way keep; 0 for others."""
    for causes in refusals.alike:
        if len(causes) > 1:
            by_pods = all(each.rule.by_placed_pods for each in causes)
            yield causes, len(refusals.together[causes]) if by_pods else 0
        else:
            yield causes, causes[0].alone if causes[0].reason is not Reason.UNKNOWN_NODE else 0


def _only_where_it_helps(
    state: ClusterState, question: Question, miss: NearMiss
) -> Generator[None, None, None]:
    """Take away the nodes that would not fit either with the pods in the way gone.

    The same pods may be those that the pod's own affinity asks for.
    """
    # What has no room counts pods that are gone as there.
    if miss.count > MOST_BLOCKERS or any(
        each.rule.nominated or each.rule.of_node for each in miss.refusals
    ):
        return
    helped: list[str] = []
    for start in range(0, len(miss.nodes), AT_ONCE):
        if not _still_there(state, miss):
            return
        asked = state.nodes.asked(miss.nodes[start : start + AT_ONCE])
        verdicts = judge(state, question.pod, asked, question.plugins, gone=miss.pods)
        helped += verdicts.fits.names
        yield
    miss.nodes = helped


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
