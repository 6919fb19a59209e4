"""Which pods are in the way: named only where nodes are refused.

In a domain of one node, the pods there are gone through. In any other, classes are, and then the
pods of the nodes where some were found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Final, TypeAlias

from extender.core.cluster.counts.count_tables import CountTable
from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import holding, preempting_beside
from extender.core.verbs.interaction import interaction
from extender.core.verbs.rules import Refusal, Rule
from extender.diagnosis.verbs.explanation import MOST_BLOCKERS
from extender.diagnosis.verbs.node_room import holders

ENOUGH: Final = MOST_BLOCKERS
"""Pods of a domain whose places are remembered."""


@dataclass(slots=True, eq=False)
class _Wanted:
    """A refusal whose pods are sought, and where some of them are."""

    refusal: Refusal
    found: int = 0
    places: dict[int, list[PodClass]] = field(default_factory=dict)
    """Classes by the number of the node."""


@dataclass(slots=True, eq=False)
class _Sought:
    """What is sought for one rule."""

    table: CountTable
    counted: bool
    """How many pods there are is known from the table."""
    alone: list[Refusal] = field(default_factory=list)
    """In domains of one node: the pods there are looked at, and no others."""
    wanted: dict[int, _Wanted] = field(default_factory=dict)
    """The others, by the number of the domain."""
    lacking: int = 0
    """Of these, those of which not enough is known yet."""
    classes: list[PodClass] = field(default_factory=list)
    """Those of which pods are sought."""

    def note(self, pod_class: PodClass, places: Iterable[tuple[int, int]]) -> None:
        domain_of, wanted, counted = self.table.topology.domain_of, self.wanted, self.counted
        for number, pods in places:
            each = wanted.get(domain_of[number])
            if each is not None:
                if not counted:
                    each.refusal.count += pods
                if each.found < ENOUGH:
                    each.found += pods
                    each.places.setdefault(number, []).append(pod_class)
                    self.lacking -= counted and each.found >= ENOUGH


_BY_NAME: Final = attrgetter("key")
_Found: TypeAlias = Iterator[tuple[PodClass, _Sought, Iterable[tuple[int, int]]]]
"""Pods of a class by nodes."""


def find_blockers(state: ClusterState, pod: Pod, refusals: Iterable[Refusal]) -> None:
    """Count and name the pods behind each refusal over other pods."""
    matched: dict[Rule, _Sought] = {}
    carried: dict[Rule, _Sought] = {}
    for refusal in refusals:
        rule = refusal.rule
        if rule.nominated:
            _name_nominated(state, pod, refusal)
        elif rule.by_placed_pods and rule.table is not None:
            carriers = refusal.reason is Reason.EXISTING_ANTI_AFFINITY
            _want(state, refusal, rule.table, carried if carriers else matched)
        elif refusal.reason is Reason.PORTS:
            there = holders(state, pod, refusal)
            refusal.count, refusal.pods = len(there), _first(pod, there)
    with state.without(pod.key, pod.uid):
        for rule, sought in matched.items():
            if sought.counted:
                _take_counts(sought, [each.refusal for each in sought.wanted.values()])
            _note(_matching(state, pod, rule, sought))
        if carried:
            _note(_carrying(state, pod, carried.values()))
    for sought in (*matched.values(), *carried.values()):
        _name_alone(state, pod, sought)
        _name(state, pod, sought.wanted.values())


def _want(
    state: ClusterState, refusal: Refusal, table: CountTable, rules: dict[Rule, _Sought]
) -> None:
    rule, topology = refusal.rule, table.topology
    sought = rules.get(rule)
    if sought is None:
        # A table of one own term has 1 for each pod; another may count a pod more than once.
        carriers = refusal.reason is Reason.EXISTING_ANTI_AFFINITY
        counted = not carriers and len(rule.terms) == 1
        sought = rules[rule] = _Sought(table, counted)
    node = state.nodes.number(refusal.first)
    if node is not None and topology.is_alone(node):
        sought.alone.append(refusal)
    else:
        sought.wanted[topology.number_of(refusal.domain or "")] = _Wanted(refusal)
        sought.lacking += 1


def _take_counts(sought: _Sought, refusals: Iterable[Refusal]) -> None:
    """Read how many pods there are, while the pod itself is left out."""
    topology, counts = sought.table.topology, sought.table.counts
    for each in refusals:
        each.count = counts.get(topology.number_of(each.domain or ""), 0)


def _note(found: _Found) -> None:
    for pod_class, sought, places in found:
        sought.note(pod_class, places)


def _matching(state: ClusterState, pod: Pod, rule: Rule, sought: _Sought) -> _Found:
    candidates: dict[PlacedClass, None] = {}
    for term in rule.terms:
        candidates.update(dict.fromkeys(state.candidates(term.pods)))
    for placed in _own_first(pod, candidates):
        if not sought.alone and not sought.lacking:
            return
        if any(state.is_about(term, placed.pod_class) for term in rule.terms):
            yield from _by_nodes(placed, (sought,))


def _carrying(state: ClusterState, pod: Pod, every: Iterable[_Sought]) -> _Found:
    by_table = {sought.table: sought for sought in every}
    for placed in _own_first(pod, state.placed_classes):
        if placed.owned and not by_table.keys().isdisjoint(placed.owned):
            yield from _by_nodes(placed, [by_table[e] for e in placed.owned if e in by_table])


def _own_first(pod: Pod, classes: Iterable[PlacedClass]) -> Iterator[PlacedClass]:
    """Yield those of the pod's own namespace first: they are whose pods tell most."""
    others = []
    for placed in classes:
        if placed.pod_class.namespace == pod.pod_class.namespace:
            yield placed
        else:
            others.append(placed)
    yield from others


def _by_nodes(placed: PlacedClass, every: Iterable[_Sought]) -> _Found:
    for sought in every:
        if sought.alone:
            sought.classes.append(placed.pod_class)
        if sought.lacking:
            yield placed.pod_class, sought, placed.on_nodes.items()


def _name_alone(state: ClusterState, pod: Pod, sought: _Sought) -> None:
    concerned, counted = {id(pod_class) for pod_class in sought.classes}, sought.counted
    namespace = pod.pod_class.namespace
    has_own = any(pod_class.namespace == namespace for pod_class in sought.classes)
    own = _places(state, pod)
    if counted:
        with state.without(pod.key, pod.uid):
            _take_counts(sought, sought.alone)
    for each in sought.alone:
        there: Sequence[Pod] = state.pods_on(each.first)
        if reserved := state.reservations.on(each.first):
            there = (*there, *reserved)
        if each.first in own:
            there = [other for other in there if other.uid != pod.uid]
        found = (other for other in there if id(other.pod_class) in concerned)
        if counted:
            # Each look at a pod is one at memory that is far away.
            each.pods = _first(pod, islice(found, None if has_own else MOST_BLOCKERS))
        else:
            pods = list(found)
            each.count, each.pods = len(pods), _first(pod, pods)


def _places(state: ClusterState, pod: Pod) -> Collection[str | None]:
    known = state.pod(pod.key, pod.uid)
    places = [each.pod.node for each in state.reservations.of(pod.key, pod.uid)]
    return places if known is None else [*places, known.node]


def _name(state: ClusterState, pod: Pod, wanted: Iterable[_Wanted]) -> None:
    for each in wanted:
        # One may have places on several nodes.
        found: dict[str, Pod] = {}
        for number, classes in each.places.items():
            name, these = state.nodes.names[number], {id(pod_class) for pod_class in classes}
            for other in (*state.pods_on(name), *state.reservations.on(name)):
                if id(other.pod_class) in these and other.uid != pod.uid:
                    found[other.uid] = other
        each.refusal.pods = _first(pod, found.values())


def _name_nominated(state: ClusterState, pod: Pod, refusal: Refusal) -> None:
    own, node = state.class_of(pod), refusal.nodes[0]
    there = {each.uid: each for each in holding(state, pod, node)}
    others = {each.uid: each for each in preempting_beside(state, pod)} | there
    found = []
    for uid, other in others.items():
        between = interaction(state, own, state.class_for_others(other.pod_class, own.namespace))
        if between is None:
            continue
        keys = between.repelled if refusal.reason is Reason.ANTI_AFFINITY else between.repels
        if keys and (uid in there or _share_domain(state, keys, node, str(other.node))):
            found.append(other)
    refusal.count, refusal.pods = len(found), _first(pod, found)


def _share_domain(state: ClusterState, keys: Iterable[str], node: str, other: str) -> bool:
    one, two = state.nodes.labels(node), state.nodes.labels(other)
    return any(key in one and one[key] == two.get(key) for key in keys)


def _first(pod: Pod, pods: Iterable[Pod]) -> Sequence[Pod]:
    """Choose those of the pod's own namespace first, and sort them by name."""
    ordered = sorted(pods, key=_BY_NAME)
    if len(ordered) > MOST_BLOCKERS:
        own = pod.pod_class.namespace
        ordered.sort(key=lambda each: each.pod_class.namespace != own)
        ordered = sorted(ordered[:MOST_BLOCKERS], key=_BY_NAME)
    return ordered
