"""The slow truth: every counter again from scratch, to compare the live ones with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from extender.core.cluster.counts.existing_term import (
    ExistingTerm,
    Named,
    carried_by,
)
from extender.core.cluster.counts.matching_pods import MatchingPods, PlacedClass
from extender.core.cluster.counts.term_index import TermSum
from extender.core.cluster.counts.topology import DomainTable
from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import UsedPorts
from extender.core.model.objects import PodClass
from extender.features.audit.ledgers import audit_columns, audit_nominated

AUDITED_NODES = 50
"""Nodes of one step: a thousand pods or two."""
AUDITED_CLASSES = 1_000
"""Classes, and rules of theirs, that are gone through in one step: some milliseconds."""
AUDITED_TERMS = 128
"""Terms whose carriers are found in the same steps."""
AUDITED_PLACES = 4_000
"""Nodes of a class that are looked up in one step: some milliseconds."""
AUDITED_COMPARISONS = 5_000
"""Of a class with a selector, in one step: some milliseconds."""
AUDITED_BATCHES = 80
"""Steps for a set that is compared with a sample of the classes."""

Weighed: TypeAlias = Sequence[tuple[int, Mapping[int, int]]]
"""What one pod of a class adds, and how many there are by the number of their node; of some."""
_Counting: TypeAlias = Generator[None, None, dict[str, int]]
"""Steps after which there is what pods add to each domain."""


def room_mismatches(state: ClusterState, names: Iterable[str] | None = None) -> list[str]:
    """Return the nodes, of all or some, where more or less is in use than their pods request."""
    if names is None:
        names = {*state.node_resources.in_use, *(pod.node or "" for pod in state.placed_pods)}
    resources = state.node_resources
    return [
        name
        for name in names
        if (resources.used(name), resources.ports(name)) != _in_use(state, name)
    ]


def _in_use(state: ClusterState, node: str) -> tuple[dict[str, int], UsedPorts]:
    total: Counter[str] = Counter()
    ports = UsedPorts()
    for pod in (*state.pods_on(node), *state.reservations.on(node)):
        total.update(dict(pod.spec.requests))
        ports.use(pod.spec.ports, 1)
    return {resource: amount for resource, amount in total.items() if amount}, ports


def audit(state: ClusterState) -> Iterator[str | None]:
    """Recount a live state in steps between which it may change; yield what each step found.

    One round over the tables that there were at its start, each compared with the placed classes
    that carry its term, which are found some at a time; the classes themselves are first compared
    with the pods, on some nodes at a time, then the nominations on some pods at a time, what
    features book, and the room and what node affinity says on some nodes at a time. Of sets with
    many selectors a sample of the classes is compared.
    """
    names = iter({**dict.fromkeys(state.nodes), **dict.fromkeys(state.node_resources.in_use)})
    while some := list(islice(names, AUDITED_NODES)):
        sound = all(state.classes_on(name) == _classes_on(state, name) for name in some)
        yield None if sound else "pods by class and node"
    yield from audit_nominated(state)
    for ledger in state.ledgers:
        yield from ledger.audit()
    names = iter({**dict.fromkeys(state.nodes), **dict.fromkeys(state.node_resources.in_use)})
    while some := list(islice(names, AUDITED_NODES)):
        wrong = room_mismatches(state, some)
        yield f"room on {wrong[0]}" if wrong else None
    yield from audit_columns(state)
    terms = iter(list(state.existing_terms))
    while together := list(islice(terms, AUDITED_TERMS)):
        yield from _audit_terms(state, together)
    for total in list(state.existing_terms.sums):
        yield from _audit_sum(total)
    for counted in list(state.matching_sets):
        yield from _audit_set(state, counted)


class _Carriers:
    """Which placed classes carry some rules, found in steps between which the state may change."""

    def __init__(
        self, state: ClusterState, carried: Callable[[PlacedClass], Iterable[Hashable]]
    ) -> None:
        """`carried` tells what of interest a class carries."""
        self._state = state
        self._carried = carried
        self._known: set[PlacedClass] = set()
        self._found: dict[Hashable, list[PlacedClass]] = {}

    def finding(self) -> Iterator[None]:
        gone_through = 0
        for placed in list(self._state.placed_classes):
            self._note([placed])
            gone_through += 1 + len(placed.pod_class.affinity)
            if gone_through >= AUDITED_CLASSES:
                gone_through = 0
                yield

    def of(self, what: Hashable) -> Sequence[PlacedClass]:
        """Return the classes that carry something now; O(classes), but little each.

        Those that have gone since, which have no pods, as well.
        """
        self._note([each for each in self._state.placed_classes if each not in self._known])
        return self._found.get(what, ())

    def _note(self, classes: Sequence[PlacedClass]) -> None:
        self._known.update(classes)
        for placed in classes:
            for what in self._carried(placed):
                self._found.setdefault(what, []).append(placed)


def _audit_terms(state: ClusterState, terms: Sequence[ExistingTerm]) -> Iterator[str | None]:
    wanted = {each.named for each in terms}
    carriers = _Carriers(
        state, lambda each: wanted.intersection(named for named, _ in carried_by(each.pod_class))
    )
    for _ in carriers.finding():
        yield None

    def counting(named: Named) -> _Counting:
        return counting_owners(state, carriers.of(named), named)

    for existing in terms:
        if existing.classes:
            yield from _compared(existing.owners, counting(existing.named), existing.term.pods)


def _audit_sum(total: TermSum) -> Iterator[str | None]:
    """Add up the owners of terms that are counted together, in some domains at a step."""
    if not total.members:
        return
    domains = range(len(total.table.topology.values))
    batch = max(1, AUDITED_PLACES // len(total.members))
    sample = iter(domains[:: max(1, len(domains) // (AUDITED_BATCHES * batch))])
    while total.members and (some := list(islice(sample, batch))):
        table = total.table
        owners = [each.counts for each in total.members.values()]
        wrong = any(
            table.counts.get(domain, 0) != sum(each.get(domain, 0) for each in owners)
            for domain in some
        )
        yield f"{table.topology.key} of {len(owners)} terms together" if wrong else None


def _audit_set(state: ClusterState, counted: MatchingPods) -> Iterator[str | None]:
    classes = list(state.placed_classes)
    sampled = counted.size * len(classes) > AUDITED_COMPARISONS
    if sampled:
        batch = max(1, AUDITED_COMPARISONS // counted.size)
        stride = max(1, len(classes) // (AUDITED_BATCHES * batch))
        sample = iter(classes[::stride])
        while some := list(islice(sample, batch)):
            wrong = any(not _is_member_as_it_should(state, counted, placed) for placed in some)
            yield f"members of a set over {counted.table.topology.key}" if wrong else None
    if not _is_kept(state, counted):
        return
    counting = _members if sampled else _matching
    subject = sorted(map(str, counted.pod_set.weights))
    yield from _compared(counted.table, counting(state, counted), subject)


def _is_kept(state: ClusterState, counted: MatchingPods) -> bool:
    return counted in state.matching_sets and counted.pending is None


def _compared(table: DomainTable, counting: _Counting, subject: object) -> Iterator[str | None]:
    """Compare a table with what is counted, both as they are when this begins."""
    shown = table.by_value()
    truth = yield from counting
    yield None if shown == truth else f"{table.topology.key} of {subject}"


def _is_member_as_it_should(
    state: ClusterState, counted: MatchingPods, placed: PlacedClass
) -> bool:
    if not _is_kept(state, counted) or not placed.on_nodes:
        return True
    labels = state.namespace_labels(placed.pod_class.namespace)
    amount = counted.pod_set.weigh(placed.pod_class, labels)
    return amount == placed.counted.get(counted, 0)


def _classes_on(state: ClusterState, node: str) -> dict[PodClass, int]:
    """Return the classes of the pods that count on a node, as the pods say."""
    pods = (*state.pods_on(node), *state.reservations.on(node))
    return dict(Counter(pod.pod_class for pod in pods))


def counting_owners(
    state: ClusterState, carriers: Iterable[PlacedClass], named: Named
) -> _Counting:
    """Count the owners of a term by domain."""
    weighed = [
        (sum(weight for what, weight in carried_by(each.pod_class) if what == named), each.on_nodes)
        for each in carriers
    ]
    return counting_by_domain(state, weighed, named[0].topology_key)


def _matching(state: ClusterState, counted: MatchingPods) -> _Counting:
    labels, weigh = state.namespace_labels, counted.pod_set.weigh
    weighed = [
        (weigh(each.pod_class, labels(each.pod_class.namespace)), each.on_nodes)
        for each in state.placed_classes
    ]
    return counting_by_domain(state, weighed, counted.table.topology.key)


def _members(state: ClusterState, counted: MatchingPods) -> _Counting:
    """Count what the classes add that belong to a set, by what they are said to add."""
    weighed = [(each.counted[counted], each.on_nodes) for each in counted.members]
    return counting_by_domain(state, weighed, counted.table.topology.key)


def counting_by_domain(state: ClusterState, weighed: Weighed, key: str) -> _Counting:
    """Count what pods add to each domain, zeros left out.

    As it is when this begins: events may come between two steps. To copy 150,000 places takes some
    milliseconds.
    """
    copied = [(weight, dict(on_nodes)) for weight, on_nodes in weighed if weight]
    names, labels = state.nodes.names, state.nodes.labels
    numbers = set().union(*(on_nodes for _, on_nodes in copied))
    values = {number: labels(names[number]).get(key) for number in numbers}
    table: Counter[str] = Counter()
    taken = 0
    for weight, on_nodes in copied:
        places = iter(on_nodes.items())
        while some := list(islice(places, AUDITED_PLACES - taken)):
            for node, pods in some:
                value = values[node]
                if value is not None:
                    table[value] += weight * pods
            taken += len(some)
            if taken == AUDITED_PLACES:
                taken = 0
                yield
    return {value: count for value, count in table.items() if count}
