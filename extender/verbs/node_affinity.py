"""Node selectors and node affinity: which nodes a pod may go to, and which it prefers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, compress
from operator import add
from typing import ClassVar

from extender.cluster.counts.node_rules import Judged
from extender.cluster.counts.nodes import NodeList
from extender.cluster.counts.topology import NO_DOMAIN
from extender.cluster.state import ClusterState
from extender.errors import ObjectError
from extender.model.node_affinity import NO_NODE_AFFINITY, NodeAffinity, NodeRule
from extender.model.objects import Pod, PodClass
from extender.model.verdict import NODE_AFFINITY, Reason
from extender.verbs.interaction import Interaction
from extender.verbs.plugins import MAX_NODE_SCORE, FilterResult

_NOT = bytes((1, 0, *range(2, 256)))
"""Turns 0 into 1 and 1 into 0."""


@dataclass(frozen=True, slots=True)
class NodeAffinityRule:
    """Required node affinity and the node selector, as one rule."""

    reason: Reason
    rule: NodeRule
    annotated: bool
    """From an annotation, and not from a spec."""
    state: ClusterState = field(compare=False, repr=False)

    def hits(self, asked: NodeList) -> Mapping[str, int]:
        """Return the nodes that do not match."""
        return dict.fromkeys(_split(self.state, self.rule, asked)[1], NO_DOMAIN)


@dataclass(frozen=True, slots=True)
class NodeAffinityPlugin:
    """The scheduler's plugin NodeAffinity; what is added is that of NodeAffinityArgs."""

    added: NodeAffinity = NO_NODE_AFFINITY
    """What every pod asks for and prefers besides its own."""
    weight: int = 2
    """As in the scheduler's default profile."""
    of_annotations: bool = False
    """Only what pods have in annotations: the scheduler's own plugin does the rest."""

    name: ClassVar[str] = NODE_AFFINITY
    compares_pods: ClassVar[bool] = False

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        """Return whether not every node will do."""
        return any(True for _ in self._required(state, pod))

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        """Say that the labels of nodes may be old ones, of a pod that is particular about them."""
        return state.stale if self.concerns(state, pod) else None

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        """Refuse the nodes that do not match; what is added to every pod's affinity is first."""
        refused: list[tuple[Reason, Sequence[str]]] = []
        for reason, rule in self._required(state, pod):
            if not asked.names:
                break
            asked, hit = _split(state, rule, asked)
            if hit:
                refused.append((reason, hit))
        return FilterResult(asked, refused)

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[NodeAffinityRule]:
        """Yield what is added to every pod's node affinity, and the pod's own."""
        own = state.in_force(pod).node_affinity or NO_NODE_AFFINITY
        for reason, rule in self._required(state, pod):
            mine = reason is Reason.NODE_AFFINITY
            annotated = mine and (self.of_annotations or rule != own.required)
            yield NodeAffinityRule(reason, rule, annotated, state)

    def interaction(
        self, state: ClusterState, pod: PodClass, other: PodClass
    ) -> Interaction | None:
        """Return None: where other pods are is no matter."""
        del state, pod, other
        return None

    def filter_beside(
        self, state: ClusterState, pod: Pod, asked: NodeList, others: Collection[Interaction]
    ) -> FilterResult:
        """Judge as without them."""
        del others
        return self.filter(state, pod, asked)

    def prepare(self, state: ClusterState, pod: Pod) -> NodeScores | None:
        """Return what sums up preferences, None when no node meets any.

        ObjectError for a pod with a broken preferred term: the scheduler does not score it either.
        """
        own = state.in_force(pod).node_affinity or NO_NODE_AFFINITY
        rules = own.annotated.preferred_rules
        if not self.of_annotations:
            if own.fault is not None:
                raise ObjectError(*own.fault)
            rules = chain(self.added.preferred_rules, own.preferred_rules)
        judged = [state.node_rules.judge(rule) for rule in rules]
        heard = [each for each in judged if each.matching]
        return NodeScores(heard) if heard else None

    def _required(self, state: ClusterState, pod: Pod) -> Iterator[tuple[Reason, NodeRule]]:
        own = state.in_force(pod).node_affinity or NO_NODE_AFFINITY
        rules = own.annotated.required_rules
        if not self.of_annotations:
            if self.added.required is not None:
                yield Reason.ENFORCED_NODE_AFFINITY, self.added.required
            rules = own.required_rules
        for rule in rules:
            yield Reason.NODE_AFFINITY, rule


def _split(state: ClusterState, rule: NodeRule, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
    """Return the nodes that match a rule, and the names of those that do not."""
    if asked.template is not None:
        fits = asked.names and rule.judge(asked.names[0], asked.template)
        return (asked, ()) if fits else (asked.only(()), asked.names)
    judged = state.node_rules.judge(rule)
    if judged.matching == len(state.nodes):
        return asked, ()
    if not judged.matching:
        return asked.only(()), asked.names
    # Not bytes, which take three times as long to be made of a tuple.
    hits = bytearray(judged.values(asked))
    if 0 not in hits:
        return asked, ()
    return asked.where(hits), list(compress(asked.names, hits.translate(_NOT)))


@dataclass(frozen=True, slots=True)
class NodeScores:
    """The weights that nodes have by a pod's preferences, and by those that are added to it."""

    judged: Sequence[Judged]

    def raw(self, asked: NodeList) -> Sequence[int]:
        """Return the summed weights of each node."""
        return reduce(_sum, (each.values(asked) for each in self.judged))

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        """Return the share that each distinct score has of the highest, which becomes 100."""
        distinct = set(raw)
        highest = max(distinct)
        if highest <= 0:
            return dict.fromkeys(distinct, 0)
        return {score: max(0, MAX_NODE_SCORE * score // highest) for score in distinct}


def _sum(one: Sequence[int], other: Sequence[int]) -> Sequence[int]:
    return list(map(add, one, other))
