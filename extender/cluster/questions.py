"""Resolves questions about pod classes, and remembers them."""

from __future__ import annotations

from collections import OrderedDict

from extender.cluster.carried import Role
from extender.cluster.counters import Counters
from extender.cluster.question import Question, unions
from extender.cluster.topology import DomainTable
from extender.model.objects import PodClass
from extender.model.pod_affinity import Term


class Questions:
    """The questions that were asked lately, each resolved to the tables behind its answers."""

    def __init__(self, counters: Counters, most: int) -> None:
        self._counters = counters
        self._most = most
        self._known: OrderedDict[PodClass, Question] = OrderedDict()

    def about(self, pod_class: PodClass) -> Question:
        """Resolve what pods of a class have to be compared with.

        Costs a look-up when the class was asked about before and no term came or went since; a
        term that nobody asked about before is counted once over the placed classes.
        """
        known = self._known.get(pod_class)
        if known is not None and known.structure == self._counters.structure:
            self._known.move_to_end(pod_class)
            return known
        question = self._resolve(pod_class)
        self._known[pod_class] = question
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        # Only now: the question just resolved may itself have asked for too many sets. Its tables
        # are right at this moment, and the new structure makes it resolve them again next time.
        self._counters.give_up_excess()
        return question

    def _resolve(self, pod_class: PodClass) -> Question:
        counters = self._counters
        structure = counters.structure
        rules = pod_class.affinity
        namespace, labels = pod_class.namespace, pod_class.labels
        namespace_labels = counters.namespace_labels(namespace)
        group = frozenset(term.pods for term in rules.required)
        existing: dict[Role, list[DomainTable]] = {role: [] for role in Role}
        for carried in counters.carried_against(pod_class):
            existing[carried.role].append(carried.owners)
        return Question(
            pod_class=pod_class,
            structure=structure,
            affinity=tuple(counters.matching(group, term.topology_key) for term in rules.required),
            starts_group=all(pods.matches(namespace, namespace_labels, labels) for pods in group),
            anti_affinity=unions(self._table_of(term) for term in rules.required_anti),
            existing_anti_affinity=unions(existing[Role.REQUIRED_ANTI]),
            preferred=tuple(
                (self._table_of(weighted.term), weighted.weight) for weighted in rules.preferred
            ),
            existing_preferred=tuple(existing[Role.PREFERRED]),
            existing_required=tuple(existing[Role.REQUIRED]),
        )

    def _table_of(self, term: Term) -> DomainTable:
        return self._counters.matching(frozenset((term.pods,)), term.topology_key)
