"""Which pods are in the way: found over classes, and named only where nodes are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from extender.cluster.counts.placed_classes import PlacedClass
from extender.cluster.state import ClusterState
from extender.model.objects import Pod, PodClass
from extender.model.verdict import Reason
from extender.verbs.company import company
from extender.verbs.explaining.explanation import MOST_BLOCKERS, Refusal
from extender.verbs.nominated_pods import holding
from extender.verbs.rules import PodRule

LOOKS: Final = 400
"""At a class, at a node of a class, or at a pod in one step."""
AT_ONCE: Final = 100
"""Refusals that are noted in one step."""
ENOUGH: Final = MOST_BLOCKERS
"""Pods of a domain whose places are remembered."""


@dataclass(slots=True, eq=False)
class _Wanted:
    """A refusal whose pods are sought, and where some of them are."""

    refusal: Refusal
    counted: bool
    """How many there are is known from the table."""
    found: int = 0
    places: dict[int, list[PodClass]] = field(default_factory=dict)
    """Classes by the number of the node."""


@dataclass(slots=True, eq=False)
class _Domains:
    """What is sought for one rule, by the number of the domain."""

    wanted: dict[int, _Wanted] = field(default_factory=dict)
    lacking: int = 0
    """Domains of which not enough is known yet."""


_Rules: TypeAlias = Mapping[PodRule, _Domains]
_Found: TypeAlias = Iterator[tuple[PodClass, PodRule, Sequence[tuple[int, int]]] | None]
"""Pods of a class by nodes, at most LOOKS of these; None for a class that is not concerned."""


def find_blockers(state: ClusterState, pod: Pod, refusals: Iterable[Refusal]) -> Iterator[None]:
    """Count and name the pods behind each refusal over placed or nominated pods, in steps."""
    matched: dict[PodRule, _Domains] = {}
    carried: dict[PodRule, _Domains] = {}
    for number, refusal in enumerate(refusals):
        if refusal.nominated:
            _name_nominated(state, pod, refusal)
        elif isinstance(refusal.rule, PodRule) and refusal.reason is not Reason.AFFINITY:
            own = refusal.reason is Reason.ANTI_AFFINITY
            _want(refusal, refusal.rule, matched if own else carried)
        if number % AT_ONCE == 0:
            yield
    for rule, domains in matched.items():
        if all(each.counted for each in domains.wanted.values()):
            _take_counts(state, pod, rule, domains)
            yield
        yield from _walk(state, pod, _matching(state, rule, domains), {rule: domains})
    if carried:
        yield from _walk(state, pod, _carrying(state, carried), carried)
    for domains in (*matched.values(), *carried.values()):
        yield from _name(state, pod, domains.wanted.values())


def _want(refusal: Refusal, rule: PodRule, rules: dict[PodRule, _Domains]) -> None:
    # A table of one own term has 1 for each pod; another may count a pod more than once.
    counted = refusal.reason is Reason.ANTI_AFFINITY and len(rule.terms) == 1
    domains = rules.get(rule)
    if domains is None:
        domains = rules[rule] = _Domains()
    number = rule.table.topology.number_of(refusal.domain or "")
    domains.wanted[number] = _Wanted(refusal, counted)
    domains.lacking += 1


def _take_counts(state: ClusterState, pod: Pod, rule: PodRule, domains: _Domains) -> None:
    with state.without(pod.key, pod.uid):
        counts = rule.table.counts
        for domain, each in domains.wanted.items():
            each.refusal.count = counts.get(domain, 0)


def _matching(state: ClusterState, rule: PodRule, domains: _Domains) -> _Found:
    """Yield the placed classes that one of a rule's terms matches."""
    candidates = {placed: None for term in rule.terms for placed in state.candidates(term.pods)}
    for placed in candidates:
        if not domains.lacking:
            return
        if any(state.is_about(term, placed.pod_class) for term in rule.terms):
            yield from _by_nodes(placed, (rule,))
        else:
            yield None


def _carrying(state: ClusterState, rules: Iterable[PodRule]) -> _Found:
    """Yield the placed classes that carry terms."""
    by_table = {rule.table: rule for rule in rules}
    for placed in list(state.placed_classes):
        owned = placed.owned
        if owned and not by_table.keys().isdisjoint(owned):
            yield from _by_nodes(placed, [by_table[table] for table in owned if table in by_table])
        else:
            yield None


def _by_nodes(placed: PlacedClass, rules: Sequence[PodRule]) -> _Found:
    places = iter(list(placed.on_nodes.items()))
    while some := list(islice(places, LOOKS)):
        for rule in rules:
            yield placed.pod_class, rule, some


def _walk(state: ClusterState, pod: Pod, classes: _Found, rules: _Rules) -> Iterator[None]:
    """Take note of the pods of some classes in each domain that is wanted."""
    looks, more = 0, True
    while more:
        more = False
        with state.without(pod.key, pod.uid):
            for found in classes:
                looks += 1
                if found is not None:
                    pod_class, rule, places = found
                    looks += len(places)
                    _note(pod_class, rule, places, rules[rule])
                if looks >= LOOKS:
                    looks, more = 0, True
                    break
        yield


def _note(
    pod_class: PodClass,
    rule: PodRule,
    places: Iterable[tuple[int, int]],
    domains: _Domains,
) -> None:
    domain_of, wanted = rule.table.topology.domain_of, domains.wanted
    for number, pods in places:
        each = wanted.get(domain_of[number])
        if each is not None:
            if not each.counted:
                each.refusal.count += pods
            if each.found < ENOUGH:
                each.found += pods
                each.places.setdefault(number, []).append(pod_class)
                domains.lacking -= each.counted and each.found >= ENOUGH


def _name(state: ClusterState, pod: Pod, wanted: Iterable[_Wanted]) -> Iterator[None]:
    """Name pods, domain by domain."""
    reserved: dict[str | None, list[Pod]] = {}
    for reservation in state.reservations:
        reserved.setdefault(reservation.pod.node, []).append(reservation.pod)
    looks = 0
    for each in wanted:
        found: dict[str, Pod] = {}
        for number, classes in each.places.items():
            name, these = state.nodes.names[number], {id(pod_class) for pod_class in classes}
            there = state.pods_on(name)
            looks += len(there)
            for other in (*there, *reserved.get(name, ())):
                if id(other.pod_class) in these and other.uid != pod.uid:
                    found[other.uid] = other
        each.refusal.pods = _first(found.values())
        if looks >= LOOKS:
            looks = 0
            yield
    yield


def _name_nominated(state: ClusterState, pod: Pod, refusal: Refusal) -> None:
    """Name the pods nominated to a node that keep the pod from it."""
    own = state.class_of(pod)
    found = []
    for other in holding(state, pod, refusal.nodes[0]):
        between = company(state, own, other.pod_class)
        if between is not None:
            own_rule = refusal.reason is Reason.ANTI_AFFINITY
            if between.repelled if own_rule else between.repels:
                found.append(other)
    refusal.count, refusal.pods = len(found), _first(found)


def _first(pods: Iterable[Pod]) -> Sequence[Pod]:
    return sorted(pods, key=lambda each: each.key)[:MOST_BLOCKERS]
