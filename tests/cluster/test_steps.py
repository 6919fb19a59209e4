"""No single step does much, whatever one pod contains; and what was cut into steps is exact."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.counts.class_index import ClassIndex
from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.cluster.counts.matching_sets import FILING
from extender.core.cluster.counts.pod_sets import matched_by
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import PodClass
from extender.core.warm_up import AT_MOST
from extender.core.wire.limits import OF_RULES
from simulation.invariants.recount import mismatches
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    requirement,
    state_of,
    term,
)
from tests.calls import calls_during
from tests.hostile import NAMESPACES, crowded, narrow, unlike_anything

CLASSES, MOST = 60, OF_RULES.terms
STEP = 100


@pytest.fixture
def state() -> ClusterState:
    return crowded(classes=CLASSES, pods=240, nodes=20)


def class_of(raw: Pod) -> PodClass:
    return model_pod(raw).pod_class


MANY = pod("x", "ns0")


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(MANY.anti_affinity(*unlike_anything(MOST)), id="its own anti-affinity"),
        pytest.param(MANY.affinity(*unlike_anything(MOST)), id="affinity to all of them"),
        pytest.param(
            MANY.prefers(3, *unlike_anything(MOST // 2)).avoids(7, *narrow(MOST // 2)), id="scores"
        ),
        pytest.param(
            MANY.anti_affinity(*unlike_anything(20), *unlike_anything(20, key=ZONE), *narrow(24)),
            id="over two keys",
        ),
    ],
)
def test_a_step_is_one_class_longer_than_allowed_at_most(state: ClusterState, asking: Pod) -> None:
    steps = list(state.preparing(class_of(asking), STEP))
    costliest = 3 * MOST + 20  # comparisons of one class with all conditions, and its nodes
    assert max(steps) <= STEP + costliest
    assert sum(state.preparing(class_of(asking), STEP)) == 0, "all is prepared"
    assert mismatches(state) == []


def test_terms_cost_the_classes_that_they_can_match(state: ClusterState) -> None:
    steps = state.preparing(class_of(MANY.anti_affinity(*narrow(MOST))), STEP)
    assert sum(steps) <= FILING * MOST + 6 * CLASSES, "not terms times classes"


CALLS = 15
"""Of Python functions, for a comparison, at most."""


def calls_of(steps: Iterator[int]) -> tuple[int, int] | None:
    """Take a step; return what it says it took, and how many Python functions were called."""
    spent, calls = calls_during(partial(next, steps, None))
    return None if spent is None else (spent, calls)


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(MANY.anti_affinity(*narrow(MOST)), id="a label each"),
        pytest.param(MANY.affinity(*narrow(MOST)), id="affinity to all of them"),
        pytest.param(MANY.anti_affinity(*unlike_anything(MOST)), id="nearly everybody each"),
        pytest.param(MANY.avoids(3, *narrow(MOST)), id="scores"),
    ],
)
def test_a_step_does_about_as_much_as_it_says(state: ClusterState, asking: Pod) -> None:
    steps = state.preparing(class_of(asking), AT_MOST.slice)
    found = [*iter(lambda: calls_of(steps), None)]
    assert all(calls <= CALLS * max(AT_MOST.slice, spent) for spent, calls in found)


JOBS = 3_000
OWN = {"key": "job", "operator": "NotIn", "values": ["new"]}


@pytest.fixture(scope="module")
def jobs() -> ClusterState:
    """A cluster of classes that have all but one label's value in common, and of one without."""
    state = ClusterState()
    state.upsert_node(model_node(node("n1", {HOST: "n1"})))
    for number in range(JOBS):
        worn = {"app": "web", "job": f"j{number}", "team": f"t{number % 20}"}
        state.upsert_pod(model_pod(pod(f"p{number}", "ns0").labels(**worn).on("n1")))
    state.upsert_pod(model_pod(pod("bare", "ns0").on("n1")))
    return state


@pytest.mark.parametrize(
    "terms",
    [
        pytest.param([[requirement("job", "Exists"), OWN]], id="a key with a value each"),
        pytest.param([[requirement("app", "In", "web"), OWN]], id="a label of them all"),
        pytest.param([[requirement("app", "In", "web", "db")]], id="one of two labels"),
        pytest.param([[OWN]], id="everybody else"),
        pytest.param(
            [[requirement("team", "In", f"t{number}")] for number in range(19)],
            id="many terms about some each",
        ),
    ],
)
def test_the_first_step_of_a_set_is_short_as_well(jobs: ClusterState, terms: list[Json]) -> None:
    rules = [term(HOST, {"matchExpressions": each}) for each in terms]
    steps = jobs.preparing(class_of(MANY.anti_affinity(*rules)), STEP)
    found = [*iter(lambda: calls_of(steps), None)]
    assert sum(spent for spent, _ in found) > JOBS / 2
    assert max(calls for _, calls in found) < 10 * STEP < JOBS / 2
    assert mismatches(jobs) == []


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 2)), max_size=40))
def test_classes_that_stay_are_found_whatever_comes_and_goes(
    changes: list[tuple[bool, int, int]],
) -> None:
    index = ClassIndex()

    def made(number: int, app: int) -> PlacedClass:
        worn = {"app": f"a{app}", "job": f"j{number}"}
        return PlacedClass(PodClass(f"ns{number % 2}", worn), {})

    there = {number: made(number, number % 3) for number in range(6)}
    for each in there.values():
        index.add(each)
    stay = {*there.values()}
    selectors = [
        requirement("job", "Exists"),
        requirement("app", "In", "a0", "a1", "a2"),
        requirement("job", "NotIn", "x"),
    ]
    everywhere = [
        term(HOST, {"matchExpressions": [each]}, namespaceSelector={}) for each in selectors
    ]
    looks = [
        index.candidates(each.pods)[1]
        for each in class_of(pod("x").anti_affinity(*everywhere)).affinity.required_anti
    ]
    found = [[next(look)] for look in looks]
    for comes, number, app in changes:
        gone = there.pop(number, None)
        if gone is not None:
            index.remove(gone)
            stay.discard(gone)
        if comes:
            there[number] = made(number, app)
            index.add(there[number])
        for some, look in zip(found, looks, strict=True):
            some.extend(islice(look, 1))
    for some, look in zip(found, looks, strict=True):
        assert stay <= {*some, *look}


def test_sets_that_a_watch_has_counted_cost_the_next_one_nothing() -> None:
    def cost(watched: int) -> int:
        state = crowded(classes=CLASSES, pods=240, nodes=20)
        rules = class_of(MANY.anti_affinity(*unlike_anything(watched))).affinity.required_anti
        assert state.matching([matched_by(each) for each in rules]) is not None
        asking = class_of(MANY.anti_affinity(*narrow(1)))
        return calls_during(lambda: list(state.preparing(asking, STEP)))[1]

    assert cost(MOST) <= cost(20) + 10


def test_what_sets_take_is_known_once_they_are_counted(state: ClusterState) -> None:
    rules = class_of(MANY.anti_affinity(*unlike_anything(5))).affinity.required_anti
    assert state.matching([matched_by(each) for each in rules]) is not None
    assert state.matching_sets._entries == sum(each.entries for each in state.matching_sets)


def test_rules_are_told_anew_when_a_node_has_a_label_key_that_none_had(
    state: ClusterState,
) -> None:
    asking = model_pod(MANY.anti_affinity(*narrow(40, key="rack")))
    assert state.prefilter_state(asking.pod_class).anti_affinity == ()
    state.upsert_node(model_node(node("n1", {HOST: "n1", "rack": "r1"})))
    state.upsert_pod(model_pod(pod("near", "ns0").labels(app="a0").on("n1")))
    (union,) = state.prefilter_state(asking.pod_class).anti_affinity
    assert union.tables[0].by_value().keys() == {"r1"}
    assert mismatches(state) == []


def test_a_set_is_exact_though_classes_came_and_went_while_it_was_filed(
    state: ClusterState,
) -> None:
    asking = model_pod(MANY.anti_affinity(*narrow(40)))
    steps = state.preparing(asking.pod_class, 1)
    for number in range(40):
        next(steps)
        key, uid = f"ns{number % NAMESPACES}/p{number}", f"ns{number % NAMESPACES}-p{number}"
        state.remove_pod(key, uid)
        state.upsert_pod(model_pod(pod(f"new{number}", "ns1").labels(app=f"a{number}").on("n1")))
        state.upsert_namespace(model_namespace(namespace("ns1", {"team": f"u{number}"})))
    assert next(iter(state.matching_sets)).pending is not None
    for _ in steps:
        pass
    assert sum(state.preparing(asking.pod_class, STEP)) == 0
    assert mismatches(state) == []


def test_a_set_is_exact_though_everything_changed_while_it_was_counted(state: ClusterState) -> None:
    asking = model_pod(MANY.anti_affinity(*unlike_anything(40)))
    steps = state.preparing(asking.pod_class, 1)
    for number in islice(range(CLASSES), CLASSES // 2):
        next(steps)
        state.remove_pod(f"ns{number % NAMESPACES}/p{number}", f"ns{number % NAMESPACES}-p{number}")
        state.upsert_pod(model_pod(pod(f"new{number}", "ns1").labels(app=f"b{number}").on("n1")))
        state.upsert_namespace(model_namespace(namespace("ns2", {"team": f"u{number}"})))
    assert sum(steps) > 0
    (union,) = state.prefilter_state(asking.pod_class).anti_affinity
    assert union.tables[0].by_value().keys() == {f"n{number}" for number in range(20)}
    assert mismatches(state) == []


def test_what_was_counted_is_of_use_to_the_next_attempt(state: ClusterState) -> None:
    pod_class = class_of(MANY.anti_affinity(*unlike_anything(MOST)))
    whole = sum(1 for _ in crowded(CLASSES, 240, 20).preparing(pod_class, STEP))
    first = sum(1 for _ in islice(state.preparing(pod_class, STEP), whole // 2))
    second = sum(1 for _ in state.preparing(pod_class, STEP))
    assert first + second <= whole + 2


def test_giving_up_sets_costs_what_they_cost_to_count() -> None:
    state = ClusterState(most_matching_sets=8)
    for number in range(100):
        state.upsert_pod(model_pod(pod(f"p{number}").labels(app=f"a{number}").on("n")))
    for number in range(200):
        state.prefilter_state(
            class_of(pod("x").anti_affinity(*unlike_anything(1, key=f"{number}")))
        )
    assert state.do_deferred() == 0, "over keys that no node has nothing is counted"


def test_new_labels_of_a_namespace_give_up_what_would_cost_too_much(state: ClusterState) -> None:
    terms = [
        {**each, "namespaceSelector": {"matchLabels": {"team": "t1"}}}
        for each in unlike_anything(MOST)
    ]
    asking = model_pod(MANY.anti_affinity(*terms))
    before = state.prefilter_state(asking.pod_class).anti_affinity[0].tables[0].by_value()
    state.upsert_namespace(model_namespace(namespace("ns1", {"team": "other"})))
    assert mismatches(state) == []
    assert before
    again = state.prefilter_state(asking.pod_class).anti_affinity[0].tables[0].by_value()
    assert again == {}


def test_the_index_finds_a_superset_of_the_classes_that_match() -> None:
    index = ClassIndex()
    placed = [PlacedClass(PodClass(f"ns{n % 2}", {"app": f"a{n % 3}"}), {}) for n in range(12)]
    for each in placed:
        index.add(each)
    (term,) = class_of(pod("x", "ns0").anti_affinity(*narrow(1))).affinity.required_anti
    size, found = index.candidates(term.pods)
    assert (size, {*found}) == (
        4,
        {each for each in placed if each.pod_class.labels["app"] == "a0"},
    )
    for each in placed:
        index.remove(each)
    assert (len(index), index.candidates(term.pods)[0]) == (0, 0)


def both_ways(conditions: int, number: int = 0) -> Json:
    """Build a term of which half of the conditions are about namespaces."""
    half = range(number, number + conditions // 2)
    labels = {"matchExpressions": [requirement(f"label-{each}", "Exists") for each in half]}
    spaces = {"matchExpressions": [requirement(f"space-{each}", "Exists") for each in half]}
    return term(HOST, labels, namespaceSelector=spaces)


@pytest.mark.parametrize(
    "terms",
    [
        pytest.param([both_ways(OF_RULES.conditions - 2)], id="one of very many conditions"),
        pytest.param([both_ways(16, n) for n in range(OF_RULES.terms)], id="very many"),
    ],
)
def test_a_pod_whose_terms_choose_by_many_labels_is_soon_placed(terms: list[Json]) -> None:
    state = state_of([node("n1", {HOST: "n1"})], [], [])
    owner = model_pod(pod("x").anti_affinity(*terms).on("n1"))
    assert owner.spec.broken_rules is None
    for change in (
        lambda: state.upsert_pod(owner),
        lambda: state.remove_pod(owner.key, owner.uid),
        lambda: state.prefilter_state(owner.pod_class),
    ):
        _, calls = calls_during(change)
        assert calls < 16 * OF_RULES.conditions
    assert mismatches(state) == []


VERY_MANY = {f"label-{number}": "x" for number in range(20_000)}


@pytest.mark.parametrize(
    ("each", "met"),
    [
        pytest.param(requirement("app", "In", "a0", "a1"), True, id="In"),
        pytest.param(requirement("app", "In", "a0"), False, id="In another value"),
        pytest.param(requirement("job", "Exists"), True, id="Exists"),
        pytest.param(requirement("job", "NotIn", "j0"), True, id="NotIn"),
        pytest.param(requirement("job", "DoesNotExist"), False, id="DoesNotExist"),
    ],
)
@pytest.mark.parametrize("more", [{}, VERY_MANY], ids=["few", "very many"])
def test_a_pod_is_found_by_each_of_its_labels_however_many_it_has(
    each: Json, *, met: bool, more: dict[str, str]
) -> None:
    placed = pod("x").labels(app="a1", job="j1", **more).on("n1")
    # Where more pods are than have the label, they are looked up by it.
    others = [pod(f"z{number}").labels(z=f"{number}").on("n2") for number in range(3)]
    state = state_of([node("n1", {HOST: "n1"}), node("n2", {})], [], [placed, *others])
    asking = class_of(pod("y").anti_affinity(term(HOST, {"matchExpressions": [each]})))
    (union,) = state.prefilter_state(asking).anti_affinity
    assert bool(union.domains()) is met
    state.upsert_pod(model_pod(placed.labels(app="other", job="j1", **more)))
    assert mismatches(state) == []
    state.remove_pod("default/x", model_pod(placed).uid)
    assert (mismatches(state), union.domains()) == ([], None)


def test_what_is_kept_of_a_placed_pod_grows_little_with_its_labels() -> None:
    state = state_of([node("n1", {HOST: "n1"})], [], [])
    placed = model_pod(pod("x").labels(**VERY_MANY).on("n1"))
    tracemalloc.start()
    try:
        state.upsert_pod(placed)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < len(VERY_MANY)


def test_keys_that_no_node_has_cost_no_topology(state: ClusterState) -> None:
    terms = [each for number in range(MOST) for each in narrow(1, key=f"key-{number}")]
    asking = model_pod(pod("x").anti_affinity(*terms))
    state.upsert_pod(model_pod(pod("y").anti_affinity(*terms).on("n1")))
    assert state.prefilter_state(asking.pod_class).anti_affinity == ()
    lists = {id(each.owners.topology.domain_of) for each in state.existing_terms}
    assert len(lists) == 2, "one for the hostname, and one for all keys that nobody has"
    assert HOST in {each.term.topology_key for each in state.existing_terms}
