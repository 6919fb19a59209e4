"""Resolves questions about pod classes, and remembers them."""

from __future__ import annotations

from collections.abc import Iterator

from extender.cluster.counts.counters import Counters
from extender.cluster.counts.existing_terms import Role
from extender.cluster.counts.nodes import Nodes
from extender.cluster.counts.prefilter_state import Question, unions
from extender.cluster.counts.topology import DomainTable
from extender.cluster.counts.wanted import wanted
from extender.model import memory
from extender.model.lru_cache import LruCache
from extender.model.objects import PodClass

LARGE_SHARE = 2
"""A question may take half of the budget: resolving a large one is dear."""
OUTDATED_AT_ONCE = 8
"""Questions from before the last change of structure that are given up with each new one."""


class Questions:
    """The questions that were asked lately, each resolved to the tables behind its answers."""

    def __init__(self, counters: Counters, nodes: Nodes, most: int) -> None:
        self._counters = counters
        self._nodes = nodes
        self._known: LruCache[PodClass, Question] = LruCache(
            memory.QUESTIONS, most=most, share=LARGE_SHARE
        )

    def about(self, pod_class: PodClass) -> Question:
        """Resolve what pods of a class have to be compared with.

        Costs a look-up when the class was asked about before and no term came or went since; a
        term that nobody asked about before is counted once over the placed classes.
        """
        known = self._known.get(pod_class)
        if known is not None and known.structure == self._counters.structure:
            return known
        question = self._resolve(pod_class)
        self._known.put(pod_class, question, question.size)
        self._drop_outdated()
        # Only now: the question just resolved may itself have asked for too many sets. Its tables
        # are right at this moment, and the new structure makes it resolve them again next time.
        self._counters.give_up_excess()
        return question

    def _drop_outdated(self) -> None:
        """Give up some questions that have to be resolved again when they are asked.

        They would keep tables alive that nobody counts in any more. Those asked longest ago are
        the oldest, so an up-to-date one ends the search.
        """
        for _ in range(OUTDATED_AT_ONCE):
            oldest = self._known.oldest()
            if oldest is None or oldest.structure == self._counters.structure:
                return
            self._known.pop_oldest()

    def expense(self, pod_class: PodClass) -> int:
        """Return how many comparisons, roughly, a question costs before it can be resolved."""
        known = self._known.get(pod_class)
        if known is not None and known.structure == self._counters.structure:
            return 0
        sets = wanted(pod_class.affinity, self._nodes)
        return sum(self._counters.expense(*named) for named in dict.fromkeys(sets))

    def preparing(self, pod_class: PodClass, comparisons: int) -> Iterator[int]:
        """Count what a question needs, in steps of about so many comparisons; yield what each took.

        The state may change between two steps. A set that was started is kept up to date from then
        on, so what was done is of use to whoever asks again, even when this is not gone through.
        """
        counters = self._counters
        for named in dict.fromkeys(wanted(pod_class.affinity, self._nodes)):
            yield from counters.counting(*named, comparisons)
        while not counters.is_tidy:
            yield counters.tidy(comparisons)

    def _resolve(self, pod_class: PodClass) -> Question:
        counters, nodes = self._counters, self._nodes
        structure = counters.structure
        rules = pod_class.affinity
        namespace, labels = pod_class.namespace, pod_class.labels
        namespace_labels = counters.namespace_labels(namespace)
        existing: dict[Role, list[DomainTable]] = {role: [] for role in Role}
        for carried in counters.carried_against(pod_class):
            # Over a key that no node has, nobody is near to anybody.
            if carried.owners.topology.is_anywhere:
                existing[carried.role].append(carried.owners)
        sets = wanted(rules, nodes)
        return Question(
            pod_class=pod_class,
            structure=structure,
            affinity=(
                *(counters.matching(*named) for named in sets.affinity),
                *(() if sets.elsewhere is None else (nodes.nowhere(sets.elsewhere),)),
            ),
            starts_group=all(
                term.pods.matches(namespace, namespace_labels, labels) for term in rules.required
            ),
            anti_affinity=unions(counters.matching(*named) for named in sets.anti_affinity),
            existing_anti_affinity=unions(existing[Role.REQUIRED_ANTI]),
            preferred=tuple(
                (counters.matching(*named), factor) for named, factor in sets.preferred
            ),
            existing_preferred=tuple(existing[Role.PREFERRED]),
            existing_required=tuple(existing[Role.REQUIRED]),
        )
