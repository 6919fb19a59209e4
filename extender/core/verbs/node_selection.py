"""Node selectors and node affinity: which nodes a pod may go to, and which it prefers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import ClassVar

from extender.core.cluster.counts.node_rules import Judged
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.model.node_selection import NO_NODE_SELECTION, NodeRule, NodeSelection
from extender.core.model.objects import Pod
from extender.core.model.verdict import NAMED_NODES, NODE_AFFINITY, Reason
from extender.core.model.wording import nodes_of, plural
from extender.core.verbs.plugins import MAX_NODE_SCORE, FilterPlugin, ScorePlugin, add_up
from extender.core.verbs.rules import Refusal, RefusalGroup, Rule

_OF_KUBERNETES = re.compile(r"(?:[^/]+\.)?kubernetes\.io/")
"""Begins labels that the kubelet and cloud controllers give nodes: zone, hostname, arch."""
_NOT = bytes((1, 0, *range(2, 256)))
"""Turns 0 into 1 and 1 into 0."""


@dataclass(slots=True, eq=False)
class NodeSelectionRule(Rule):
    """Required node affinity and the node selector, as one rule."""

    reason: Reason
    state: ClusterState
    asks_for: NodeRule
    annotated: bool = False
    among: frozenset[str] | None = None
    """The only nodes that it is asked about, since `NamedNodes` refuses the others; None: all."""

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        if self.among is not None:
            of = self.state.node_rules.judge(self.asks_for).of
            hit = [name for name in asked.names if name in self.among and not of(name)]
            return asked.without(hit), hit
        rule = self.asks_for
        judged = self.state.node_rules.judge(rule)
        if judged.matching == len(self.state.nodes):
            return asked, ()
        if not judged.matching:
            return asked.only(()), asked.names
        # Not bytes, which take three times as long to be made of a tuple.
        hits = bytearray(judged.values(asked))
        if 0 not in hits:
            return asked, ()
        return asked.where(hits), list(compress(asked.names, hits.translate(_NOT)))

    def cause(self, group: RefusalGroup) -> str:
        if self.reason is Reason.ENFORCED_NODE_AFFINITY:
            return "node affinity that the scheduler adds"
        return "your annotation's node affinity" if self.annotated else "node affinity"

    def statement(self, refusal: Refusal) -> str:
        whose = "Your node selector or node affinity"
        if self.reason is Reason.ENFORCED_NODE_AFFINITY:
            whose = "Node affinity that the scheduler adds"
        elif self.annotated:
            whose = "Node affinity in your annotation"
        nodes = plural(refusal.hits, "node")
        return f"{whose} does not match {nodes}; it asks for {nodes_of(self.asks_for)}"

    def has_remedy(self, domain: str | None) -> bool:
        """Return whether a person gives nodes such labels: where they are, others know."""
        del domain
        return not any(map(_OF_KUBERNETES.match, self.asks_for.keys))

    def remedy(self, domain: str | None, nodes: int) -> str:
        had = f" if {'they' if nodes > 1 else 'it'} had the labels"
        return f"{had} that the node affinity asks for"


@dataclass(slots=True, eq=False)
class NamedNodesRule(NodeSelectionRule):
    """That required node affinity names other nodes, by whatever else the terms are about."""

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        named = self.among or frozenset()
        hit = [name for name in asked.names if name not in named]
        return asked.without(hit), hit

    def remedy(self, domain: str | None, nodes: int) -> str:
        return f" if the node affinity named {'them' if nodes > 1 else 'it'}"


@dataclass(frozen=True, slots=True)
class NamedNodes(FilterPlugin):
    """NodeAffinity's PreFilter: the scheduler tries the nodes alone that node affinity names.

    Two of them, around the PreFilter of what comes next, keep to the scheduler's order: that a pod
    names no node at all ends its attempt at once, while nodes are left out in the end.
    """

    reason: Reason
    """NO_NAME or NOT_NAMED."""

    name: ClassVar[str] = NAMED_NODES

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[Rule]:
        own = state.in_force(pod).node_selection
        if own is not None and own.required is not None and own.named is not None:
            reason = Reason.NOT_NAMED if own.named else Reason.NO_NAME
            if reason is self.reason:
                yield NamedNodesRule(reason, state, own.required, among=own.named)


@dataclass(frozen=True, slots=True)
class NodeSelectionPlugin(FilterPlugin, ScorePlugin):
    """What the scheduler's plugin NodeAffinity decides, here or there."""

    added: NodeSelection = NO_NODE_SELECTION
    """What every pod asks for and prefers besides its own."""
    after_names: bool = False
    """`NamedNodes` is asked before."""

    name: ClassVar[str] = NODE_AFFINITY

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        return state.stale if state.stale is not None and self.concerns(state, pod) else None

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[NodeSelectionRule]:
        own = state.in_force(pod).node_selection or NO_NODE_SELECTION
        rules = own.annotated.required_rules
        if not self.of_annotations:
            if self.added.required is not None:
                enforced = Reason.ENFORCED_NODE_AFFINITY
                yield NodeSelectionRule(enforced, state, self.added.required)
            rules = own.required_rules
        for rule in rules:
            annotated = self.of_annotations or rule != own.required
            among = own.named if self.after_names and not annotated else None
            yield NodeSelectionRule(Reason.NODE_AFFINITY, state, rule, annotated, among)

    def prepare(self, state: ClusterState, pod: Pod) -> NodeScores | None:
        """Return what sums up preferences, None when no node meets any.

        ObjectError for a pod with a broken preferred term: the scheduler does not score it either.
        """
        own = state.in_force(pod).node_selection or NO_NODE_SELECTION
        rules = own.annotated.preferred_rules
        if not self.of_annotations:
            if own.fault is not None:
                raise ObjectError(*own.fault)
            rules = chain(self.added.preferred_rules, own.preferred_rules)
        judged = [state.node_rules.judge(rule) for rule in rules]
        heard = [each for each in judged if each.matching]
        return NodeScores(heard) if heard else None


def of_nodes(plugins: Iterable[FilterPlugin]) -> NodeSelectionPlugin:
    """Return the one among plugins, or one without arguments."""
    found = (each for each in plugins if isinstance(each, NodeSelectionPlugin))
    return next(found, NodeSelectionPlugin())


@dataclass(frozen=True, slots=True)
class NodeScores:
    """The weights that nodes have by a pod's preferences, and by those that are added to it."""

    judged: Sequence[Judged]

    def raw(self, asked: NodeList) -> Sequence[int]:
        return add_up(each.values(asked) for each in self.judged)

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        """Return the share that each distinct score has of the highest, which becomes 100."""
        distinct = set(raw)
        highest = max(distinct)
        if highest <= 0:
            return dict.fromkeys(distinct, 0)
        return {score: max(0, MAX_NODE_SCORE * score // highest) for score in distinct}
