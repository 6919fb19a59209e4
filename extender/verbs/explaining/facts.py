"""What is to be known about each required term that has to do with a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final, TypeAlias

from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.model.pod_affinity import PodSelector, Term, WrittenTerm
from extender.model.verdict import AnyReason, Reason
from extender.verbs.explaining.explanation import Explanation, TermFacts
from extender.verbs.pod_rules import is_annotated
from extender.verbs.rules import Rule

LOOKS: Final = 300
"""At a class or namespace by a selector, in one step."""
CLASSES: Final = 60
"""Whose pods are counted in one step; each may be on thousands of nodes."""
COMPARISONS: Final = 4000
"""Of labels with conditions in one step; a selector may have tens of thousands of these."""
MOST_TERMS: Final = 32
"""Terms that are looked into."""
MOST_WAITING: Final = 2000
"""Waiting pods that are looked at."""
MUTUAL_AT_ONCE: Final = 10
"""Of them in one step."""
MOST_TRIES: Final = 3
"""Of those that are near enough: whether one waits takes as long as to judge it."""
MOST_NAMES: Final = 10
"""Namespaces that are named."""


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

    def running(self) -> Iterator[None]:
        """Look into one term after the other, in steps."""
        yield from self._sort()
        own, written = self._class.affinity, self._class.written
        for reason, terms, as_written in (
            (Reason.AFFINITY, own.required, written.required),
            (Reason.ANTI_AFFINITY, own.required_anti, written.required_anti),
        ):
            pairs = zip_longest(terms, as_written[: len(terms)])
            for term, each in islice(pairs, MOST_TERMS):
                yield from self._look_into((reason, term, is_annotated(self._class, term)), each)
        for term, (as_it_is, _) in zip(own.limits, written.limits, strict=False):
            yield from self._look_into((Reason.LIMIT, term, True), as_it_is)
        theirs = [each for each in self._hits if each[0] in OF_OTHERS]
        others = sorted(theirs, key=lambda each: -self._hits[each])[:MOST_TERMS]
        mutual = set()
        for facts in self._found.terms:
            same = (Reason.EXISTING_ANTI_AFFINITY, facts.term, facts.annotated)
            if facts.reason is Reason.ANTI_AFFINITY and same in others:
                facts.mutual = True
                mutual.add(same)
        for named in others:
            if named not in mutual:
                yield from self._look_into(named)
        if own.required:
            yield from self._look_into_all(own.required)

    def _sort(self) -> Iterator[None]:
        hits: dict[Rule, int] = {}
        for number, each in enumerate(self._found.refusals):
            hits[each.rule] = hits.get(each.rule, 0) + each.hits
            if number % LOOKS == 0:
                yield
        for number, (rule, nodes) in enumerate(hits.items()):
            for term in rule.terms:
                named = rule.reason, term, rule.annotated
                self._rules.setdefault(named, []).append(rule)
                self._hits[named] = self._hits.get(named, 0) + nodes
            if number % LOOKS == 0:
                yield

    def _look_into(self, named: _Named, written: WrittenTerm | None = None) -> Iterator[None]:
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
        yield
        chosen: list[str] = []
        yield from self._choose(term.pods, chosen)
        facts.namespaces, facts.namespace_count = sorted(chosen)[:MOST_NAMES], len(chosen)
        if reason is Reason.EXISTING_ANTI_AFFINITY:
            tables = (rule.table for rule in self._rules[named])
            facts.matched = sum(sum(each.counts.values()) for each in tables if each is not None)
        else:
            for number in self._counting((term,)):
                facts.matched += number
                yield

    def _choose(self, pods: PodSelector, chosen: list[str]) -> Iterator[None]:
        """Collect the namespaces that a term is about; those it names need not exist."""
        chosen += pods.namespaces
        selector = pods.namespace_selector
        if selector is None:
            return
        for looks, (name, labels) in enumerate(list(self._state.namespaces.items()), 1):
            if name not in pods.namespaces and selector.matches(labels):
                chosen.append(name)
            if looks % LOOKS == 0:
                yield

    def _look_into_all(self, terms: Sequence[Term]) -> Iterator[None]:
        """Count the pods that match all required affinity terms: only these meet them."""
        found = self._found
        found.matching_all = 0
        for number in self._counting(terms):
            found.matching_all += number
            yield
        with self._state.without(self._pod.key, self._pod.uid):
            prefilter = self._state.prefilter_state_of(self._pod)
            found.is_first = prefilter.is_first
            found.matching_somewhere = any(table.counts for table in prefilter.affinity)
        if not (found.matching_all or found.is_first or self._pod.node):
            yield from self._look_for_mutual(terms[:MOST_TERMS])

    def _look_for_mutual(self, terms: Sequence[Term]) -> Iterator[None]:
        """Look for a pod that waits for ours, where ours waits for it."""
        state, own, seen, tries = self._state, self._class, set(), 0
        for number, other in enumerate([*islice(state.waiting_pods, MOST_WAITING)]):
            theirs = state.class_of(other)
            if number % MUTUAL_AT_ONCE == 0:
                yield
            asked = theirs.affinity.required
            if theirs in seen or not 0 < len(asked) <= MOST_TERMS:
                continue
            seen.add(theirs)
            pairs = ((terms, theirs), (asked, own))
            if not all(state.is_about(term, of) for several, of in pairs for term in several):
                continue
            for _ in state.preparing(theirs, LOOKS):
                yield
            with state.without(other.key, other.uid):
                prefilter = state.prefilter_state_of(other)
                waits = not (prefilter.is_first or any(each.counts for each in prefilter.affinity))
            tries += 1
            if waits or tries == MOST_TRIES:
                self._found.mutual = other if waits else None
                return

    def _counting(self, terms: Sequence[Term]) -> Iterator[int]:
        """Yield how many more pods match all of some terms, step by step."""
        state, pod = self._state, self._pod
        rarest = min((state.candidates(term.pods) for term in terms), key=len)
        candidates = iter(rarest)
        most = COMPARISONS // sum(term.pods.conditions for term in terms)
        while some := list(islice(candidates, max(1, min(CLASSES // len(terms), most)))):
            with state.without(pod.key, pod.uid):
                found = sum(
                    sum(placed.on_nodes.values())
                    for placed in some
                    if all(state.is_about(term, placed.pod_class) for term in terms)
                )
            # Not before the pod counts again: others look at the state between two steps.
            yield found


def _merged(term: Term, written: WrittenTerm) -> list[str]:
    """Return the label keys of a term that are requirements of its selector by now."""
    keys = list(written.label_keys())
    if not keys:
        return []
    there = {(each.key, each.operator) for each in term.pods.selector.requirements}
    return [key for key, operator in keys if (key, operator) in there]
