"""What placed pods' terms come to for a pod is what its terms say one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.counts.count_tables import CountTable
from extender.core.cluster.counts.existing_term import Role
from extender.core.cluster.state import ClusterState
from extender.core.model import memory
from extender.core.model.keys import key_of
from extender.core.model.labels import Labels
from extender.core.model.objects import Namespace, Node, Pod, PodClass
from extender.core.model.pod_affinity import Affinity, PodSelector, Term, WeightedTerm
from extender.core.verbs.filtering import judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.warm_up import AT_MOST
from simulation.invariants.recount import mismatches
from tests.builders import HOST, ZONE, Json, model_pod, requirement, term
from tests.builders import Pod as Written
from tests.builders import pod as written
from tests.calls import calls_during
from tests.hostile import crowded, narrow
from tests.model.drawn import labels
from tests.model.test_conjunctions import NAMESPACES, selectors

NODES = {f"n{number}": {HOST: f"n{number}", ZONE: "ab"[number % 2]} for number in range(4)}

spaces = st.frozensets(st.sampled_from(NAMESPACES))
pod_selectors = st.builds(PodSelector, selectors, spaces, st.one_of(st.none(), selectors))
terms = st.builds(Term, pod_selectors, st.sampled_from((HOST, ZONE, "rack")))
rules = st.builds(
    Affinity,
    st.lists(terms, max_size=2).map(tuple),
    st.lists(terms, max_size=2).map(tuple),
    st.lists(st.builds(WeightedTerm, terms, st.sampled_from((-2, 1, 2))), max_size=2).map(tuple),
)
classes = st.builds(PodClass, st.sampled_from(NAMESPACES), labels, rules)
Event = Callable[[ClusterState], None]


def come(number: int, pod_class: PodClass, node: str, state: ClusterState) -> None:
    name = key_of(pod_class.namespace, f"p{number}")
    state.upsert_pod(Pod(name, name, node, pod_class))


def go(number: int, state: ClusterState) -> None:
    for name in NAMESPACES:
        state.remove_pod(f"{name}/p{number}", f"{name}/p{number}")


def relabel(name: str, now: Labels, state: ClusterState) -> None:
    state.upsert_namespace(Namespace(name, now))


def move(name: str, zone: str | None, state: ClusterState) -> None:
    state.upsert_node(Node(name, {HOST: name} if zone is None else {HOST: name, ZONE: zone}))


numbers = st.integers(0, 5)
nodes = st.sampled_from(sorted(NODES))
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(partial, st.just(come), numbers, classes, nodes),
    st.builds(partial, st.just(come), numbers, classes, nodes),
    st.builds(partial, st.just(go), numbers),
    st.builds(partial, st.just(relabel), st.sampled_from(NAMESPACES), labels),
    st.builds(partial, st.just(move), nodes, st.sampled_from((None, "a", "c"))),
)


def said_one_by_one(state: ClusterState, asking: PodClass, role: Role) -> Counter[tuple[str, str]]:
    """Add up what the terms of placed pods say of a class, pod by pod and term by term."""
    found: Counter[tuple[str, str]] = Counter()
    for pod in state.placed_pods:
        affinity = pod.pod_class.affinity
        weighted = {
            Role.REQUIRED: [(each, 1) for each in affinity.required],
            Role.REQUIRED_ANTI: [(each, 1) for each in affinity.required_anti],
            Role.PREFERRED: [(each.term, each.weight) for each in affinity.preferred],
        }[role]
        for rule, weight in weighted:
            value = state.nodes.labels(pod.node or "").get(rule.topology_key)
            if value is not None and state.is_about(rule, asking):
                found[rule.topology_key, value] += weight
    return Counter({place: count for place, count in found.items() if count})


def added_up(tables: Iterator[tuple[CountTable, int]]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for table, factor in tables:
        topology = table.topology
        for domain, count in table.counts.items():
            assert table.has(domain)
            found[topology.key, topology.values[domain]] += factor * count
    return Counter({place: count for place, count in found.items() if count})


def check(state: ClusterState, asking: PodClass) -> None:
    prefilter = state.prefilter_state(asking)
    anti = ((table, 1) for union in prefilter.existing_anti_affinity for table in union.tables)
    assert added_up(anti) == said_one_by_one(state, asking, Role.REQUIRED_ANTI)
    preferred = ((table, 1) for table in prefilter.existing_preferred)
    assert added_up(preferred) == said_one_by_one(state, asking, Role.PREFERRED)
    required = ((table, 1) for table in prefilter.existing_required)
    assert added_up(required) == said_one_by_one(state, asking, Role.REQUIRED)
    spaces = state.namespace_labels(asking.namespace)
    alone = (
        each
        for each in state.existing_terms
        if each.owners.topology.is_anywhere and state.is_about(each.term, asking)
    )
    found = [each.number for each in state.existing_terms.matching(asking, spaces)]
    assert sorted(found) == [each.number for each in alone]


@given(stream=st.lists(events, max_size=10), asking=st.lists(classes, min_size=1, max_size=2))
def test_sums_are_what_the_terms_say_one_by_one(
    stream: list[Event], asking: list[PodClass]
) -> None:
    state = ClusterState()
    for name, worn in NODES.items():
        state.upsert_node(Node(name, worn))
    for event in stream:
        event(state)
        for each in asking:
            check(state, each)
        assert mismatches(state) == []
    for number in range(6):
        go(number, state)
    assert list(state.existing_terms.sums) == []
    assert not state.existing_terms._index._groups
    assert not state.existing_terms._index._indexes


def owners_about(worn: dict[str, str], *selectors: list[Json]) -> dict[str, int]:
    """Place a pod on n0, n1, ... for each selector, apart by host from what it selects.

    Return how many owners a pod with some labels finds on each.
    """
    state = ClusterState()
    for name, found in NODES.items():
        state.upsert_node(Node(name, found))
    for number, expressions in enumerate(selectors):
        rule = term(HOST, {"matchExpressions": expressions})
        made = written(f"p{number}").anti_affinity(rule).on(f"n{number}")
        state.upsert_pod(model_pod(made))
    asking = model_pod(written("new").labels(**worn)).pod_class
    check(state, asking)
    unions = state.prefilter_state(asking).existing_anti_affinity
    return {name: count for union in unions for table in union.tables
            for name, count in table.by_value().items()}  # fmt: skip


def test_what_is_about_a_pod_is_the_sum_less_what_refuses_it() -> None:
    other, same, both = unlike("app", "x"), unlike("app", "web"), unlike("tier", "front")
    worn = {"app": "web", "tier": "front"}
    assert owners_about(worn, [other], [unlike("app", "y")]) == {"n0": 1, "n1": 1}
    assert owners_about(worn, [other], [same]) == {"n0": 1}
    assert owners_about(worn, [same], [same, both], [both], [other]) == {"n3": 1}
    assert owners_about(worn, [same], [both]) == {}
    assert owners_about({}, [same], [both]) == {"n0": 1, "n1": 1}


def unlike(key: str, *values: str) -> Json:
    return requirement(key, "NotIn", *values)


APP = requirement("app", "In", "new")
KINDS: dict[str, Callable[[str], list[Json]]] = {
    "a value of their own refused": lambda own: [unlike("app", own)],
    "one app's pods, and a value refused": lambda own: [APP, unlike("k", own)],
    "some have the key": lambda own: [requirement("job", "Exists"), unlike("job", own)],
    "two keys": lambda own: [unlike("job", own), unlike("app", own)],
    "other values as well": lambda own: [requirement("app", "In", "new", own)],
    "other values of two keys": lambda own: [
        requirement("app", "In", "new", own),
        requirement("tier", "In", "web", own),
    ],
    "a key that is absent": lambda own: [APP, requirement(own, "DoesNotExist")],
    "a value refused that the pod has": lambda own: [APP, unlike("tier", "web", own)],
    "another key's value": lambda own: [APP, requirement(own, "In", "x")],
    "another key": lambda own: [APP, requirement(own, "Exists")],
}
SPACES: dict[str, Callable[[str], Json]] = {
    "everywhere": lambda _: {"namespaceSelector": {}},
    "where a label is not": lambda own: {
        "namespaceSelector": {"matchExpressions": [unlike("team", own)]}
    },
    "where another label is": lambda own: {
        "namespaceSelector": {"matchExpressions": [requirement(own, "Exists")]}
    },
    "over a key that no node has": lambda own: {"namespaceSelector": {}, "topologyKey": own},
    "in other namespaces as well": lambda own: {"namespaces": ["ns1", own]},
    "everywhere, and by name": lambda own: {"namespaceSelector": {}, "namespaces": [own]},
}
ROLES: dict[str, Callable[[Written, Json], Written]] = {
    "required anti-affinity": lambda made, term: made.anti_affinity(term),
    "required affinity": lambda made, term: made.affinity(term),
    "preferred": lambda made, term: made.prefers(3, term),
}
ASKED = [f"n{number}" for number in range(20)]


def place(state: ClusterState, number: int, made: Callable[[int], Written]) -> None:
    state.upsert_pod(model_pod(made(number).on(f"n{number % 20}")))


def crowd(size: int, made: Callable[[int], Written]) -> ClusterState:
    state = crowded(classes=6, pods=24, nodes=20)
    for number in range(size):
        place(state, number, made)
    return state


def calls_of(state: ClusterState, version: str) -> int:
    """Answer filter and prioritize about a pod; return how many Python functions that calls."""
    worn = {"app": "new", "tier": "web", "job": f"new-{version}", "version": version}
    asking, plugin = model_pod(written("new", "ns1").labels(**worn)), InterPodAffinity()
    asked = state.nodes.asked(ASKED)

    def answer() -> None:
        list(state.preparing(asking.pod_class, AT_MOST.slice))
        judge(state, asking, asked, [plugin])
        scores = plugin.prepare(state, asking)
        if scores is not None:
            scores.raw(asked)

    return calls_during(answer)[1]


def costs(size: int, made: Callable[[int], Written]) -> list[int]:
    """Return what a new workload costs, then the same one when one of the crowd comes or goes."""
    state = crowd(size, made)
    found = [calls_of(state, "1"), calls_of(state, "1")]
    place(state, size, made)
    found.append(calls_of(state, "1"))
    state.remove_pod("ns0/c0", "ns0-c0")
    found.append(calls_of(state, "1"))
    return [*found, calls_of(state, "2")]


USUAL_KIND, USUAL_PLACE, USUAL_ROLE = next(iter(KINDS)), next(iter(SPACES)), next(iter(ROLES))


@pytest.mark.parametrize(
    ("kind", "where", "role"),
    [
        *((kind, USUAL_PLACE, USUAL_ROLE) for kind in KINDS),
        *((USUAL_KIND, where, USUAL_ROLE) for where in SPACES),
        *(("one app's pods, and a value refused", where, USUAL_ROLE) for where in SPACES),
        *((USUAL_KIND, USUAL_PLACE, role) for role in ROLES),
    ],
)
def test_an_answer_costs_the_same_beside_however_many_pods_of_few_terms(
    kind: str, where: str, role: str
) -> None:
    def made(number: int) -> Written:
        own = f"x{number}"
        rule = term(HOST, {"matchExpressions": KINDS[kind](own)}, **SPACES[where](own))
        return ROLES[role](written(f"c{number}", "ns0").labels(app=own), rule)

    few, many = costs(20, made), costs(60, made)
    assert all(more <= less + 20 for less, more in zip(few, many, strict=True)), (few, many)


@pytest.mark.parametrize("terms", [2_000, 20])
def test_a_state_that_is_in_use_is_kept_however_large(
    monkeypatch: pytest.MonkeyPatch, terms: int
) -> None:
    monkeypatch.setattr(memory, "PREFILTER_STATES", 64 << 10)
    state = crowded(classes=6, pods=24, nodes=20)
    asking = model_pod(written("new").prefers(1, *narrow(terms))).pod_class
    state.prefilter_state(asking)
    assert state.prefilter_state(asking) is state.prefilter_state(asking)
    assert state.prefilter_state(asking).size > 32 << 10 or terms == 20
