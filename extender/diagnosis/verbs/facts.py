"""What is to be known about each required term that has to do with a pod."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final, TypeAlias

from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import PodSelector, Term, WrittenTerm
from extender.core.model.verdict import AnyReason, Reason
from extender.core.verbs.pod_rules import is_annotated
from extender.core.verbs.rules import Rule
from extender.diagnosis.verbs.explanation import (
    MOST_BLOCKERS,
    Explanation,
    TermFacts,
    whatever_it_spares,
)

MOST_TERMS: Final = 32
MOST_WAITING: Final = 2000
MOST_TRIES: Final = 8
"""Of those that are near enough: whether one waits takes as long as to judge it."""
MOST_NAMES: Final = 10


OF_OTHERS: Final = frozenset((Reason.EXISTING_ANTI_AFFINITY, Reason.EXISTING_LIMIT))

_Named: TypeAlias = tuple[AnyReason, Term, bool]
"""What tells a term from others: the last is whether it is from an annotation."""


class TermSurvey:
    """Looks into the pod's own required terms, and into those of placed pods that refuse nodes."""

    def __init__(self, state: ClusterState, pod: Pod, found: Explanation) -> None:
        self._state = state
        self._pod = pod
        self._class = state.class_of(pod)
        self._found = found
        self._rules: dict[_Named, list[Rule]] = {}
        """By term: what refuses nodes because of it."""
        self._hits: dict[_Named, int] = {}
        """Nodes that each term refuses."""

    def run(self) -> None:
        """Look into one term after the other."""
        self._sort()
        own, written = self._class.affinity, self._class.written
        for reason, terms, as_written in (
            (Reason.AFFINITY, own.required, written.required),
            (Reason.ANTI_AFFINITY, own.required_anti, written.required_anti),
        ):
            pairs = zip_longest(terms, as_written[: len(terms)])
            for term, each in islice(pairs, MOST_TERMS):
                self._look_into((reason, term, is_annotated(self._class, term)), each)
        for term, (as_it_is, _) in zip(own.limits, written.limits, strict=False):
            self._look_into((Reason.LIMIT, term, True), as_it_is)
        theirs = [each for each in self._hits if each[0] in OF_OTHERS]
        others = sorted(theirs, key=lambda each: -self._hits[each])[:MOST_TERMS]
        mutual = set()
        for facts in self._found.terms:
            # Those of an older revision of the same workload spare another one, and are the same.
            kind = whatever_it_spares(facts.term)
            same = [
                each
                for each in others
                if (each[0], whatever_it_spares(each[1]), each[2])
                == (Reason.EXISTING_ANTI_AFFINITY, kind, facts.annotated)
            ]
            if facts.reason is Reason.ANTI_AFFINITY and same:
                facts.sharing, carrying = self._sharing(facts.term, same)
                if facts.sharing == carrying:
                    mutual.update(same)
        for named in others:
            if named not in mutual:
                self._look_into(named)
        if own.required:
            self._look_into_all(own.required)

    def _sharing(self, term: Term, same: Sequence[_Named]) -> tuple[int, int]:
        """Return how many placed pods that a term matches carry it as well, and how many in all."""
        state, pod = self._state, self._pod
        tables = {rule.table for named in same for rule in self._rules[named]}
        sharing = carrying = 0
        with state.without(pod.key, pod.uid):
            for placed in state.placed_classes:
                if not tables.isdisjoint(placed.owned):
                    pods = sum(placed.on_nodes.values())
                    carrying += pods
                    sharing += pods * state.is_about(term, placed.pod_class)
        return sharing, carrying

    def _sort(self) -> None:
        hits: dict[Rule, int] = {}
        for each in self._found.refusals:
            hits[each.rule] = hits.get(each.rule, 0) + each.hits
        for rule, nodes in hits.items():
            for term in rule.terms:
                named = rule.reason, term, rule.annotated
                self._rules.setdefault(named, []).append(rule)
                self._hits[named] = self._hits.get(named, 0) + nodes

    def _look_into(self, named: _Named, written: WrittenTerm | None = None) -> None:
        reason, term, annotated = named
        facts = TermFacts(
            reason,
            term,
            merged=[] if written is None else _merged(term, written),
            matches_pod=self._state.is_about(term, self._class),
            annotated=annotated,
            refused=self._hits.get(named, 0),
        )
        self._found.terms.append(facts)
        chosen = self._choose(term.pods)
        facts.namespaces, facts.namespace_count = sorted(chosen)[:MOST_NAMES], len(chosen)
        if reason is Reason.EXISTING_ANTI_AFFINITY:
            tables = (rule.table for rule in self._rules[named])
            facts.matched = sum(sum(each.counts.values()) for each in tables if each is not None)
        else:
            facts.matched = self._count((term,))

    def _choose(self, pods: PodSelector) -> list[str]:
        """Return the namespaces that a term is about; those it names need not exist."""
        selector = pods.namespace_selector
        if selector is None:
            return [*pods.namespaces]
        labelled = self._state.namespaces.items()
        chosen = {name for name, labels in labelled if selector.matches(labels)}
        return [*chosen.union(pods.namespaces)]

    def _look_into_all(self, terms: Sequence[Term]) -> None:
        """Count the pods that match all required affinity terms: only these meet them."""
        found = self._found
        found.matching_all = self._count(terms)
        asked = ((Reason.AFFINITY, term, is_annotated(self._class, term)) for term in terms)
        if found.matching_all <= MOST_BLOCKERS and any(self._hits.get(each) for each in asked):
            found.anchors = self._pods(terms)
        with self._state.without(self._pod.key, self._pod.uid):
            prefilter = self._state.prefilter_state_of(self._pod)
            found.is_first = prefilter.is_first
            found.matching_somewhere = any(table.counts for table in prefilter.affinity)
        if not (found.matching_all or found.is_first or self._pod.node):
            self._look_for_circle()

    def _look_for_circle(self) -> None:
        """Look for the shortest circle of pods that wait, each for the next and back to this one.

        O(kinds of waiting pods x MOST_TRIES).
        """
        state, own = self._state, self._class
        kinds: dict[PodClass, Pod] = {}
        for other in islice(state.waiting_pods, MOST_WAITING):
            theirs = state.class_of(other)
            asked = len(theirs.affinity.required)
            if 0 < asked <= MOST_TERMS and not other.status.deleting:
                kinds.setdefault(theirs, other)
        chains: dict[PodClass, list[Pod]] = {own: []}
        asking, tries = deque([own]), 0
        while asking:
            asker = asking.popleft()
            if asker is not own and self._meets(asker, own):
                self._found.circle = chains[asker]
                return
            for theirs, other in kinds.items():
                if theirs not in chains and tries < MOST_TRIES and self._meets(asker, theirs):
                    tries += 1
                    if self._waits(other):
                        chains[theirs] = [*chains[asker], other]
                        asking.append(theirs)

    def _meets(self, asker: PodClass, other: PodClass) -> bool:
        terms = asker.affinity.required[:MOST_TERMS]
        return all(self._state.is_about(term, other) for term in terms)

    def _waits(self, other: Pod) -> bool:
        """Return whether there is no pod that another one has to be near, nor may it be first."""
        state = self._state
        with state.without(other.key, other.uid):
            prefilter = state.prefilter_state_of(other)
            return not (prefilter.is_first or any(each.counts for each in prefilter.affinity))

    def _count(self, terms: Sequence[Term]) -> int:
        """Count the pods that match all of some terms."""
        with self._state.without(self._pod.key, self._pod.uid):
            return sum(sum(each.on_nodes.values()) for each in self._matching(terms))

    def _pods(self, terms: Sequence[Term]) -> list[Pod]:
        """Return these pods; O(pods of their nodes)."""
        state = self._state
        places = {id(each.pod_class): each.on_nodes for each in self._matching(terms)}
        nodes = {state.nodes.names[number] for on_nodes in places.values() for number in on_nodes}
        there = (pod for name in nodes for pod in state.pods_on(name))
        found = (pod for pod in there if id(pod.pod_class) in places and pod.uid != self._pod.uid)
        return sorted(found, key=lambda pod: pod.key)

    def _matching(self, terms: Sequence[Term]) -> Iterator[PlacedClass]:
        state = self._state
        for placed in min((state.candidates(term.pods) for term in terms), key=len):
            if all(state.is_about(term, placed.pod_class) for term in terms):
                yield placed


def _merged(term: Term, written: WrittenTerm) -> list[str]:
    """Return the label keys of a term that are requirements of its selector by now."""
    keys = list(written.label_keys())
    if not keys:
        return []
    there = {(each.key, each.operator) for each in term.pods.selector.requirements}
    return [key for key, operator in keys if (key, operator) in there]
