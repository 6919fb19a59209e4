"""What classes of many terms ask for, remembered: that takes long to put together and compare."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from extender.cluster.counts.matching_sets import MatchingPodSets
from extender.cluster.counts.nodes import Nodes
from extender.cluster.counts.pod_sets import MANY_TERMS, KeyedSet, RuleSets, rule_sets
from extender.model import memory
from extender.model.objects import PodClass

PER_TERM: Final = 160
"""Bytes of a term in what is remembered; kept sets and the class have the term itself."""


class LargeRuleSets:
    """The rule sets of classes, with the very objects that kept sets have.

    One question looks its sets up half a dozen times. Two sets of thousands of equal selectors take
    10 ms to compare each time, the same object takes none. Remembered for no longer than the class
    exists, and until a node has a label key that none had.
    """

    def __init__(self, nodes: Nodes, kept: MatchingPodSets) -> None:
        self._nodes = nodes
        self._kept = kept
        self._forget()

    def of(self, pod_class: PodClass) -> RuleSets:
        """Return the sets that the rules of a class ask for; O(terms) if they are not known yet."""
        affinity = pod_class.affinity
        if len(affinity) <= MANY_TERMS:
            return rule_sets(affinity, self._nodes)
        if self._true_of != self._nodes.located:
            self._forget()
        known = self._known.get(pod_class)
        if known is None:
            known = rule_sets(affinity, self._nodes).shared(self._shared)
            size = PER_TERM * len(affinity)
            if self._bytes + size > memory.RULE_SETS:
                self._forget()
            self._bytes += size
            self._known[pod_class] = known
        return known

    def _shared(self, named: KeyedSet) -> KeyedSet:
        kept = self._kept.find(*named)
        return named if kept is None else kept.name

    def _forget(self) -> None:
        self._true_of = self._nodes.located
        self._known: WeakKeyDictionary[PodClass, RuleSets] = WeakKeyDictionary()
        self._bytes = 0
