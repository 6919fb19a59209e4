"""What large rules of placed pods say of classes, and what those ask for, found out once."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from sys import maxsize
from typing import Final
from weakref import WeakKeyDictionary

from extender.cluster.counts.counters import Counters
from extender.cluster.counts.large_rules import LargeRules, Matched
from extender.cluster.counts.matching_sets import MatchingPodSets
from extender.cluster.counts.nodes import Nodes
from extender.cluster.counts.pod_sets import MANY_TERMS, KeyedSet, RuleSets, rule_sets
from extender.model import memory
from extender.model.labels import Labels
from extender.model.lru_cache import LruCache
from extender.model.objects import PodClass
from extender.model.stepping import at_once

PER_TABLE: Final = 192
"""Bytes of what is known of one class and some rules, and of each table in it."""
LARGE_SHARE: Final = 2
"""One class may take half of the budget: hundreds of large rules are expensive to find out."""
PER_TERM: Final = 160
"""Bytes of a term in what is remembered; kept sets and the class have the term itself."""


@dataclass(slots=True, eq=False)
class _Known:
    """What is known of one class."""

    namespace_labels: Labels
    """True for these very labels."""
    located: int
    """True until a node has a label key that none had."""
    matched: dict[int, Matched] = field(default_factory=dict)
    """By the number of the rules."""
    tables: int = 0
    """How many tables there are in these, and one more for each of them."""


class LargeMatches:
    """Compares classes that are asked about with the large rules that there are.

    Rules that come or go later cost nothing but their own comparison.
    """

    def __init__(self, counters: Counters, nodes: Nodes) -> None:
        self._counters = counters
        self._nodes = nodes
        self._known: LruCache[PodClass, _Known] = LruCache(memory.LARGE_MATCHES, share=LARGE_SHARE)

    def about(self, pod_class: PodClass) -> list[Matched]:
        """Return what each of the large rules says; compares whatever is not known yet."""
        matched = self._of(pod_class).matched
        return [
            matched.get(each.number) or self.of(pod_class, each)
            for each in self._counters.existing_terms.large_for(pod_class.namespace)
        ]

    def of(self, pod_class: PodClass, large: LargeRules) -> Matched:
        """Return what some large rules say; O(their terms) if that is not known yet."""
        found = self._of(pod_class).matched.get(large.number)
        return found or at_once(self._finding(pod_class, large, maxsize))

    def preparing(self, pod_class: PodClass, comparisons: int) -> Iterator[int]:
        """Compare in steps of about so many comparisons; yield what each took."""
        spent = 0
        for large in list(self._counters.existing_terms.large_for(pod_class.namespace)):
            if large.number not in self._of(pod_class).matched:
                for step in self._finding(pod_class, large, comparisons - spent):
                    spent += step
                    if spent >= comparisons:
                        yield spent
                        spent = 0
        if spent:
            yield spent

    def _of(self, pod_class: PodClass) -> _Known:
        labels = self._counters.namespace_labels(pod_class.namespace)
        known, located = self._known.get(pod_class), self._nodes.located
        if known is None or known.namespace_labels is not labels or known.located != located:
            known = _Known(labels, located)
        return known

    def _finding(
        self, pod_class: PodClass, large: LargeRules, comparisons: int
    ) -> Generator[int, None, Matched]:
        """Compare a class in steps; where the surroundings change meanwhile, nothing is kept."""
        began = self._of(pod_class)
        matched = yield from large.matching(pod_class, began.namespace_labels, comparisons)
        known = self._of(pod_class)
        if known.namespace_labels is began.namespace_labels and known.located == began.located:
            known.matched[large.number] = matched
            known.tables += 1 + matched.tables
            self._forget_gone(known)
            self._known.put(pod_class, known, pod_class.size + PER_TABLE * (1 + known.tables))
        return matched

    def _forget_gone(self, known: _Known) -> None:
        """Forget rules that are gone, once there are more of them than of others."""
        if len(known.matched) > 2 * self._counters.existing_terms.most_large:
            live = {each.number for each in self._counters.existing_terms.large}
            known.matched = {at: each for at, each in known.matched.items() if at in live}
            known.tables = sum(1 + each.tables for each in known.matched.values())


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
