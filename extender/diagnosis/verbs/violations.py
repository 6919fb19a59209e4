"""Required rules that placed pods break, whoever placed them.

Found by walking over classes and the tables of the terms that concern them; never over pairs of
pods. Pods are looked at only where a rule is broken, to name two of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Final, TypeAlias

from extender.core.cluster.counts.count_tables import CountTable
from extender.core.cluster.counts.existing_term import ExistingTerm, Role
from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.cluster.counts.pod_sets import matched_by, matched_by_all
from extender.core.cluster.counts.term_index import TermGroup
from extender.core.cluster.counts.topology import NO_DOMAIN, DomainTable, picker
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import Labels
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import Affinity, LimitedTerm, Term
from extender.core.model.signed import shift
from extender.core.model.stepping import at_once

STEP_ENTRIES = 100
"""Classes times nodes between two pauses: two milliseconds where every pod is a class of its own
and carries two required rules, a tenth of that for replicas of the same few hundred apps."""
STEP_LOOKS = 4
"""Looks for the pods behind a broken rule between two pauses; each goes over all nodes."""
STEP_PODS: Final = 250
"""Pods that one such look goes through, two milliseconds where each has rules of its own; one in a
domain with more takes several."""
COMPARISONS = 2_000
"""Of a pod class with a condition, in one step of counting: some milliseconds."""
MOST_KNOWN = 10_000
"""Violations that are known at a time: one pod can break thousands of rules in a domain."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One term that is broken in one topology domain, by however many pods."""

    role: Role
    """REQUIRED_ANTI or REQUIRED."""
    term: Term
    domain: str | None
    """Label value; None for pods with required affinity on nodes that lack the key."""
    near: str | None = field(default=None, compare=False)
    """A node where it was seen, to be looked at first."""
    namespace: str = field(default="", compare=False)
    """That of a pod that breaks it, which need not be the owner of the term."""


@dataclass(frozen=True, slots=True)
class Witnesses:
    owner: str
    other: str | None = None
    """A pod that anti-affinity forbids there; required affinity is broken by an absence."""


A_PAIR: Final = 2
"""Pods of each side of a rule that are kept in mind: one of them is not the other side's."""


Looked: TypeAlias = tuple[set[Violation], int]
"""What was found, and how many pairs of a class and a node were looked at."""
News: TypeAlias = tuple[Violation, Witnesses]


def patrol(state: ClusterState, entries: int) -> Iterator[set[Violation]]:
    """Look at every placed class once, in steps; yield what each step found.

    The state may change between two steps. A step ends once it has looked at so many pairs of a
    class and a node, for each required term that concerns the class. Counting the pods that match
    a rule for the first time goes over many classes, in steps of its own.
    """
    found: set[Violation] = set()
    seen = 0
    for placed in list(state.placed_classes):
        for _ in _matched_counted(state, placed):
            yield set()
        for violations, looked in chain(_too_close(state, placed), _lonely(state, placed)):
            found |= violations
            seen += looked
            if seen >= entries:
                yield found
                found, seen = set(), 0
    yield found
    for existing in list(state.existing_terms) if state.existing_terms.limits else ():
        term = existing.term
        if isinstance(term, LimitedTerm) and existing.classes:
            for _ in state.counting_matching([matched_by(term)], COMPARISONS):
                yield set()
            yield _exceeded(state, existing, term)


def witnesses(state: ClusterState, violation: Violation) -> Witnesses | None:
    """Name pods that show a violation, None when there are none (any more).

    O(nodes + pods in the domain). A pod that may turn up on either of two nodes is not two pods.
    """
    return at_once(_seeking(state, violation))


def _seeking(state: ClusterState, violation: Violation) -> Generator[None, None, Witnesses | None]:
    """Go through the pods of a domain in steps between which the state may change."""
    seek = _lonely_one if violation.role is Role.REQUIRED else _two_together
    return (yield from seek(state, violation))


def _two_together(
    state: ClusterState, violation: Violation
) -> Generator[None, None, Witnesses | None]:
    term = violation.term
    left = term.most if isinstance(term, LimitedTerm) else 0
    # Replicas have the same rules, of which there may be thousands.
    known: dict[PodClass, tuple[bool, bool]] = {}
    owners: list[Pod] = []
    matched: list[Pod] = []
    for pod in _pods_in(state, violation):
        if pod is None:
            yield
            owners, matched = (_still_placed(state, each) for each in (owners, matched))
            continue
        of = pod.pod_class
        if of not in known:
            rules = _rules(state, of)
            owns = term in rules.required_anti or term in rules.limits
            known[of] = owns, state.is_about(term, of)
        owns, matches = known[of]
        left -= matches
        for each, found in ((owns, owners), (matches, matched)):
            if each and len(found) < A_PAIR and pod.uid not in {other.uid for other in found}:
                found.append(pod)
        for other in matched if left < 0 else ():
            for owner in owners:
                if owner.uid != other.uid:
                    return Witnesses(owner.key, other.key)
    return None


def _still_placed(state: ClusterState, pods: Iterable[Pod]) -> list[Pod]:
    reserved = state.reservations.of
    return [
        each
        for each in pods
        if state.pod(each.key, each.uid) is not None or any(reserved(each.key, each.uid))
    ]


class Watch:
    """What is broken at present, and what is new."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._known: dict[Violation, Witnesses] = {}
        self._of: Counter[str] = Counter()
        """How many of them are of each namespace."""
        self.known: Final = MappingProxyType(self._known)
        """What is broken, each with the pods that show it."""

    def count(self, role: Role) -> int:
        return sum(violation.role is role for violation in self._known)

    def take(self, found: Iterable[Violation]) -> Iterator[News | None]:
        """Take over what a step found; yield what was not known yet, once each.

        None is yielded after a look that brought no news, so that each item is one look at pods.
        A rule may stay broken while its pods are replaced: it is shown by pods that are there.
        Of one namespace no more are known than there is room for others, of whichever namespace.
        """
        for violation in found:
            before = self._known.get(violation)
            room = MOST_KNOWN - len(self._known)
            full = before is None and self._of[violation.namespace] >= room
            if full or (before is not None and self._are_there(violation, before)):
                continue
            shown = yield from _seeking(self._state, violation)
            if shown is not None:
                self._known[violation] = shown
                self._of[violation.namespace] += before is None
            yield None if shown is None or before is not None else (violation, shown)

    def _are_there(self, violation: Violation, shown: Witnesses) -> bool:
        """Return whether the pods that show a violation are still placed in its domain; O(1)."""
        pods, nodes, key = self._state.pods, self._state.nodes, violation.term.topology_key
        there = [pods.get(each) for each in (shown.owner, shown.other) if each is not None]
        on = [None if each is None else each.node for each in there]
        return all(
            node is not None and node in nodes and nodes.labels(node).get(key) == violation.domain
            for node in on
        )

    def drop_ended(self, still: Container[Violation]) -> Iterator[News | None]:
        """Forget what a whole round did not find and nobody shows; yield it, as `take` does.

        Classes come and go during a round, so one that was not found may be there all the same.
        """
        for violation, shown in list(self._known.items()):
            if violation not in still:
                ended = (yield from _seeking(self._state, violation)) is None
                if ended:
                    del self._known[violation]
                    shift(self._of, violation.namespace, -1)
                yield (violation, shown) if ended else None


def _rules(state: ClusterState, pod_class: PodClass) -> Affinity:
    return state.class_in_force(pod_class).affinity


def _matched_counted(state: ClusterState, placed: PlacedClass) -> Iterator[None]:
    """Count the pods that those of a class want beside them, a step for each item."""
    rules = _rules(state, placed.pod_class).required
    if rules and placed.on_nodes:
        yield from (None for _ in state.counting_matching(matched_by_all(rules), COMPARISONS))


def _too_close(state: ClusterState, placed: PlacedClass) -> Iterator[Looked]:
    """Look for the anti-affinity terms of other pods that pods of a class break, term by term."""
    pod_class = placed.pod_class
    labels = state.namespace_labels(pod_class.namespace)
    if not placed.on_nodes:
        return
    # All at once: the state may change before the next item is asked for.
    holds = state.scope.holds
    speaking = list(state.existing_terms.speaking_of(pod_class, labels))
    yield set(), 1 + len(speaking)
    for each in speaking:
        if each.role is not Role.REQUIRED_ANTI or not placed.on_nodes or not holds(each.source):
            continue
        if isinstance(each, ExistingTerm):
            yield _broken_by(placed, each.owners, each.term), len(placed.on_nodes)
        else:
            yield from _broken_in(placed, each, labels)


def _broken_in(placed: PlacedClass, group: TermGroup, labels: Labels) -> Iterator[Looked]:
    """Look for the terms of a group that pods of a class break; O(terms) where there are any."""
    owners = group.owners(placed.pod_class, labels)
    shared = set() if owners is None else {*_shared_domains(placed, owners)}
    yield set(), len(placed.on_nodes)
    values = group.topology.values
    for existing in group.about(placed.pod_class, labels) if shared else ():
        counts, own = existing.owners.counts, placed.owned.get(existing.owners, 0)
        there = [domain for domain in counts.keys() & shared if counts[domain] > own]
        yield {_of_class(placed, existing.term, values[domain]) for domain in there}, 1


def _broken_by(placed: PlacedClass, owners: DomainTable, term: Term) -> set[Violation]:
    values = owners.topology.values
    return {_of_class(placed, term, values[each]) for each in _shared_domains(placed, owners)}


def _of_class(placed: PlacedClass, term: Term, domain: str | None) -> Violation:
    namespace = placed.pod_class.namespace
    return Violation(Role.REQUIRED_ANTI, term, domain, namespace=namespace)


def _exceeded(state: ClusterState, existing: ExistingTerm, term: LimitedTerm) -> set[Violation]:
    """Return where more pods match a term with a limit than it allows; O(its domains)."""
    tables = state.matching([matched_by(term)])
    if tables is None or not state.scope.holds(existing.source):
        return set()
    get, values = tables[0].counts.get, existing.owners.topology.values
    over = [each for each in existing.owners.counts if get(each, 0) > term.most]
    space = "" if existing.source is None else existing.source.namespace
    return {Violation(Role.REQUIRED_ANTI, term, values[each], namespace=space) for each in over}


def _shared_domains(placed: PlacedClass, owners: CountTable) -> list[int]:
    counts = owners.counts
    if not counts:
        return []
    own = sum(amount for table, amount in placed.owned.items() if owners.has_part(table))
    domains = picker(list(placed.on_nodes))(owners.topology.domain_of)
    # A pod is no trouble to itself, but to the next one of its class it is.
    return [domain for domain in counts.keys() & set(domains) if counts[domain] > own]


def _lonely(state: ClusterState, placed: PlacedClass) -> Iterator[Looked]:
    """Look for the required affinity terms of a class that its nodes do not meet.

    A pod that matches its own terms meets its own affinity: it may have been the first of its
    group, and all others may have gone since. It is only ever wrong on a node without the key.
    """
    rules = _rules(state, placed.pod_class).required
    if not rules:
        return
    numbers = [number for number in placed.on_nodes if state.nodes.names[number] in state.nodes]
    matched = state.matching(matched_by_all(rules))
    if not numbers or matched is None:
        return
    yield (
        {
            Violation(
                Role.REQUIRED,
                term,
                None if domain == NO_DOMAIN else values[domain],
                state.nodes.names[number],
                placed.pod_class.namespace,
            )
            for term, table in zip(rules, matched, strict=True)
            for values in (table.topology.values,)
            for domain, number in _one_in_each(table, numbers)
            if domain not in table.counts
        },
        len(numbers) * len(rules),
    )


def _one_in_each(table: DomainTable, numbers: list[int]) -> Iterable[tuple[int, int]]:
    """Return the domains of some nodes, each with one of these."""
    return dict(zip(picker(numbers)(table.topology.domain_of), numbers, strict=True)).items()


def _lonely_one(
    state: ClusterState, violation: Violation
) -> Generator[None, None, Witnesses | None]:
    for pod in _pods_in(state, violation):
        if pod is None:
            yield
            continue
        rules = _rules(state, pod.pod_class).required
        matched = state.matching(matched_by_all(rules)) if violation.term in rules else None
        if matched is not None:
            table = matched[rules.index(violation.term)]
            domain = table.topology.domain_of[state.nodes.number_of(pod.node or "")]
            if domain not in table.counts:
                return Witnesses(pod.key)
    return None


def _pods_in(state: ClusterState, violation: Violation) -> Iterator[Pod | None]:
    """Yield the pods on the known nodes of a violation's domain, reserved ones as well.

    None is yielded where a step ends: in a zone there may be a hundred thousand.
    """
    key, value, near = violation.term.topology_key, violation.domain, violation.near
    nodes, passed = state.nodes, 0

    def there(name: str | None) -> Sequence[Pod]:
        if name is None or name not in nodes or nodes.labels(name).get(key) != value:
            return ()
        return (*state.pods_on(name), *state.reservations.on(name))

    yield from there(near)
    for name in [each for each in nodes if each != near and nodes.labels(each).get(key) == value]:
        found = there(name)
        yield from found
        passed += len(found)
        if passed >= STEP_PODS:
            passed = 0
            yield None
