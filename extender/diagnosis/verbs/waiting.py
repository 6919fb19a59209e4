"""Pods that wait: which of them are alike, and what keeps them from most nodes, in few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import NOT_CREATED, Pod
from extender.core.model.verdict import Reason
from extender.core.model.wording import short
from extender.core.verbs.node_fit import shape_of
from extender.core.verbs.rules import Refusal, RefusalGroup, Rule
from extender.diagnosis.verbs.explanation import (
    SUBJECTS,
    Explanation,
    is_not_asked_for,
    whatever_it_spares,
)
from extender.diagnosis.verbs.filters import OTHER_SCHEDULER
from extender.diagnosis.verbs.node_room import of_condition

_Alike: TypeAlias = Sequence[tuple[Sequence[int], int]]
"""Kinds of rules by their numbers, and how many nodes these refuse together."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What keeps most nodes from a pod."""

    what: str
    refused: int
    alone: int
    """Nodes that nothing else refuses."""
    besides: str = ""
    """What else refuses most of these nodes, where it refuses none of them alone."""


def kind_of(pod: Pod) -> Hashable:
    """Return what pods have in common that wait for the same."""
    spec, status, asks = pod.spec, pod.status, pod.spec.requirements
    reason = status.said and status.said.reason
    shape = shape_of(pod), asks.spread, asks.volumes
    evicts = spec.priority, spec.may_preempt, status.nominated
    held = asks.gates, asks.scheduler, status.deleting
    return pod.pod_class, *shape, *evicts, *held, reason


def waits(state: ClusterState, pod: Pod) -> bool:
    """Return whether a pod waits for a node, or was put on one that there is not."""
    if pod.status.deleting:
        return False
    return pod.node is None or (pod.started is None and pod.node not in state.nodes)


def is_not_made(pod: Pod) -> bool:
    """Return whether a pod is known by its template alone: no pod has such a uid."""
    return pod.uid.endswith("]")


def cause_of(explanation: Explanation) -> str:
    """Say what keeps a pod waiting."""
    held = explanation.held
    if explanation.fits or any(each.field != OTHER_SCHEDULER for each in held):
        told = "; ".join(each.text for each in held or explanation.unknown)
        if not told and explanation.said is not None:
            made = explanation.said.reason != NOT_CREATED
            failed = "the scheduler did not place" if made else "their controller could not make"
            return f"they fit by what is looked at, and {failed} them"
        if is_not_made(explanation.pod):
            return told or "they fit by what is looked at"
        return told or "fits now; waiting for the scheduler to retry"
    if explanation.awaited is not None:
        return explanation.awaited.awaited
    limit = bottleneck(explanation)
    return "no node" if limit is None else limit.what


def bottleneck(explanation: Explanation) -> Bottleneck | None:
    """Return the rule without which most nodes would fit, or else that refuses most.

    Nodes that are cordoned, as those that are drained, those that taints keep for other pods, and
    those that the pod does not ask for count only if there are no others.
    O(nodes x rules that refuse one).
    """
    kinds = _Kinds(explanation)
    alike = kinds.by_node()
    refused: Counter[int] = Counter()
    alone: Counter[int] = Counter()
    for found, nodes in alike:
        for kind in found:
            refused[kind] += nodes
        if len(found) == 1:
            alone[found[0]] += nodes
    if not refused:
        return None
    most = max(refused, key=lambda kind: (alone[kind], refused[kind]))
    besides = "" if alone[most] else kinds.name(_most_beside(most, alike))
    return Bottleneck(kinds.name(most), refused[most], alone[most], besides)


def _most_beside(most: int, alike: _Alike) -> int:
    """Return the kind that refuses most of the nodes that a kind does, and never alone."""
    beside: Counter[int] = Counter()
    for found, nodes in alike:
        for kind in found if most in found else ():
            beside[kind] += nodes
    del beside[most]
    return max(beside, key=beside.__getitem__)


class _Kinds:
    """Numbers the rules that refuse nodes, those that differ only in the very term alike."""

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation
        self._kinds: dict[Hashable, int] = {}
        self._rules: dict[Rule, int] = {}

    def by_node(self) -> _Alike:
        """Return which kinds refuse how many nodes together."""
        own = {
            whatever_it_spares(each.term)
            for each in self._explanation.terms
            if each.reason is Reason.ANTI_AFFINITY and each.refused
        }
        judged: list[tuple[Sequence[int], int]] = []
        others: list[tuple[Sequence[int], int]] = []
        for refusals, nodes in Counter(self._explanation.refused.values()).items():
            # What pods and their like hold against each other by the same term is one rule.
            rules = [
                each.rule
                for each in refusals
                if each.reason is not Reason.EXISTING_ANTI_AFFINITY
                or not own.intersection(map(whatever_it_spares, each.rule.terms[:1]))
            ]
            numbers = dict.fromkeys(map(self._number, rules or [each.rule for each in refusals]))
            aside = is_cordoned(refusals) or is_not_asked_for(refusals) or is_kept(refusals)
            (others if aside else judged).append((list(numbers), nodes))
        return judged or others

    def name(self, kind: int) -> str:
        """Name a rule, without the pods behind it."""
        group = RefusalGroup()
        for each in self._explanation.refusals:
            if self._number(each.rule) == kind:
                if each.rule.reason in SUBJECTS:
                    return f"{SUBJECTS[each.rule.reason]} on {short(each.rule.key)}"
                group.add(each)
        return group.cause

    def _number(self, rule: Rule) -> int:
        number = self._rules.get(rule)
        if number is None:
            number = self._kinds.setdefault(rule.kind, len(self._kinds))
            self._rules[rule] = number
        return number


def is_kept(refusals: Sequence[Refusal]) -> bool:
    """Return whether a node is kept for other pods by a taint."""
    return any(each.reason is Reason.TAINT and not of_condition(each.domain) for each in refusals)


def is_cordoned(refusals: Sequence[Refusal]) -> bool:
    return any(each.reason is Reason.UNSCHEDULABLE for each in refusals)
