"""Which pods a scale-down takes first: ranks as pods are bound, and what puts them in order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.objects import Pod as ModelPod
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.topologies import topologies
from extender.features.scale_down import COST_ANNOTATION, GIVEN_COST_ANNOTATION, rules
from extender.features.scale_down.cost import COST, DeletionCost
from extender.features.scale_down.rules import (
    STEP,
    Correction,
    Ranks,
    corrections,
    domains,
    with_cost,
)
from tests.annotating import REQUIRED, annotated
from tests.beside import COVERS_ALL, covering
from tests.builders import HOST, ZONE, Pod, model_node, node, pod, selector, term
from tests.features.scale_down import ranked
from tests.features.scale_down.ranked import READER, ranked_state, replicas_in

RACK = "example.com/rack"
WEB = selector(app="web")
ZONES = "abc"
PER_ZONE = 3
NODES = {
    f"{zone}{number}": node(f"{zone}{number}", {ZONE: zone, HOST: f"{zone}{number}", RACK: zone})
    for zone in ZONES
    for number in range(PER_ZONE)
}


def spread(name: str) -> Pod:
    """Build a replica that prefers to be apart in zones, and less so on hosts."""
    made = pod(name).labels(app="web").owned_by("ReplicaSet/web-1")
    return made.avoids(90, term(ZONE, WEB)).avoids(10, term(HOST, WEB))


def costing(raw: Pod, cost: int | str, *, given: bool = True) -> Pod:
    """Give a pod a cost."""
    costs = raw.annotated(COST_ANNOTATION, str(cost))
    return costs.annotated(GIVEN_COST_ANNOTATION, str(cost)) if given else costs


def read(raw: Pod) -> ModelPod:
    """Read a pod as the extender does where it gives costs."""
    return READER.read(json.dumps(raw).encode())


def state_with(*pods: Pod) -> ClusterState:
    """Build a state that knows the nodes and some pods."""
    state = ranked_state(scope=COVERS_ALL)
    for each in NODES.values():
        state.upsert_node(model_node(each))
    for raw in pods:
        state.upsert_pod(read(raw))
    return state


def cost_on(state: ClusterState, raw: Pod, node_name: str) -> int | None:
    """Return the cost that a pod gets on a node."""
    cost = with_cost(replicas_in(state), state.in_force(read(raw)), node_name).facet(COST)
    return None if cost is None else cost.value


@pytest.mark.parametrize(
    ("raw", "keys"),
    [
        pytest.param(spread("p"), (ZONE, HOST), id="preferred"),
        pytest.param(
            pod("p").labels(app="web").anti_affinity(term(HOST, WEB), term(ZONE, WEB)),
            (ZONE, HOST),
            id="required; hostnames come last",
        ),
        pytest.param(
            pod("p").labels(app="web").avoids(1, term(ZONE, WEB)).avoids(2, term(RACK, WEB)),
            (RACK, ZONE),
            id="by weight",
        ),
        pytest.param(
            pod("p").labels(app="web").avoids(100, term(ZONE, WEB)).anti_affinity(term(RACK, WEB)),
            (RACK, ZONE),
            id="required before preferred",
        ),
        pytest.param(pod("p").labels(app="web").avoids(1, term(HOST, WEB)), (HOST,), id="one"),
        pytest.param(
            annotated(
                pod("p").labels(app="web"),
                {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB, maxMatchingPods=2)]}},
            ),
            (ZONE,),
            id="a limit in an annotation",
        ),
        pytest.param(
            pod("p").labels(app="db").anti_affinity(term(ZONE, WEB)), (), id="from other pods"
        ),
        pytest.param(
            pod("p").labels(app="web").prefers(1, term(ZONE, WEB)).affinity(term(HOST, WEB)),
            (),
            id="near each other",
        ),
        pytest.param(
            pod("p").labels(app="web").avoids(1, term("example.com/row", WEB), term(HOST, WEB)),
            (HOST,),
            id="a label that the node lacks",
        ),
    ],
)
def test_topologies_are_those_over_which_a_pod_keeps_from_its_like(
    raw: Pod, keys: tuple[str, ...]
) -> None:
    state = state_with()
    pod_class = state.in_force(read(raw)).pod_class
    found = domains(topologies(state, pod_class), state.nodes.labels("a0"))
    assert tuple(key for key, _ in found) == keys


def test_each_bind_takes_the_lowest_rank_that_is_free() -> None:
    state, costs = state_with(), []
    for number, name in enumerate(["a0", "a1", "b0", "a0", "a0"]):
        placed = with_cost(replicas_in(state), read(spread(f"p{number}")), name)
        # No watch shows it in time for the next one.
        state.reserve(placed, name, 10.0)
        costs.append(placed.facet(COST))
    assert costs == [
        DeletionCost(value, given=True) for value in (-1001, -2001, -1001, -3002, -4003)
    ]
    state.upsert_pod(read(costing(spread("p0"), -1001).on("a0").being_deleted()))
    assert cost_on(state, spread("late"), "a2") == -1001, "who is on his way out holds no rank"


def test_pods_without_zones_are_ranked_on_hosts() -> None:
    state = state_with(costing(spread("p0"), -1000).on("bare"))
    state.upsert_node(model_node(node("bare", {HOST: "bare"})))
    assert cost_on(state, spread("p1"), "bare") == -2000


@pytest.mark.parametrize(
    ("raw", "cost"),
    [
        pytest.param(costing(spread("p"), 7, given=False), 7, id="its user's own"),
        pytest.param(costing(spread("p"), "x", given=False), 0, id="its user's own, and no number"),
        pytest.param(costing(spread("p"), -9000), -1001, id="given to the pod it was copied from"),
        pytest.param(spread("p").owned_by("StatefulSet/web"), None, id="deleted by number"),
        pytest.param(spread("p").owned_by("CloneSet/web"), -1001, id="of another controller"),
        pytest.param(
            pod("p").labels(app="web").anti_affinity(term(ZONE, WEB)), None, id="without an owner"
        ),
        pytest.param(
            pod("p").labels(app="web").owned_by("ReplicaSet/web-1"), None, id="without a rule"
        ),
        pytest.param(
            pod("p").owned_by("ReplicaSet/web-1").anti_affinity(term(ZONE, WEB)),
            None,
            id="apart from others only",
        ),
    ],
)
def test_who_gets_a_cost(raw: Pod, cost: int | None) -> None:
    assert cost_on(state_with(), raw, "a0") == cost


def test_whoever_names_the_controller_of_another_namespace_takes_no_rank_there() -> None:
    forged = costing(spread("p"), -1001)
    forged["metadata"]["namespace"] = "tenant"
    state = state_with(forged.on("a0"))
    assert cost_on(state, spread("mine"), "a0") == -1001


@pytest.mark.parametrize(
    ("number", "cost", "corrected"),
    [(2, -3003, True), (3, None, True), (4, None, False)],
    ids=["one too few", "as many as are ranked", "one too many"],
)
def test_pods_of_very_many_get_none(
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    cost: int | None,
    corrected: bool,
) -> None:
    monkeypatch.setattr(rules, "MOST_REPLICAS", 3)
    costs = (-1001, -2002, None, None)
    pods = [spread(f"p{each}").on("a0") for each in range(number)]
    found = [
        made if cost is None else costing(made, cost)
        for made, cost in zip(pods, costs, strict=False)
    ]
    state = state_with(*found)
    assert cost_on(state, spread("last"), "a0") == cost
    state.upsert_pod(read(costing(spread("p0"), -9000).on("a0")))
    (owner,) = replicas_in(state)
    assert bool(corrections(state, replicas_in(state).of(owner))) is corrected


def test_a_pod_that_is_asked_about_again_does_not_hold_a_rank_against_itself() -> None:
    state = state_with()
    state.reserve(with_cost(replicas_in(state), read(spread("p")), "a0"), "a0", 10.0)
    assert cost_on(state, spread("p"), "a1") == -1001


def test_rules_in_an_annotation_that_do_not_count_put_no_pod_in_order() -> None:
    state = ranked_state(scope=covering(None))
    state.upsert_node(model_node(NODES["a0"]))
    raw = annotated(
        pod("p").labels(app="web").owned_by("ReplicaSet/web-1").on("a0"),
        {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}},
    )
    state.upsert_pod(read(Pod(raw)))
    (owner,) = replicas_in(state)
    assert corrections(state, replicas_in(state).of(owner)) == []


def test_where_nobody_asks_for_costs_none_is_read() -> None:
    assert PodReader().read(json.dumps(costing(spread("p"), 1)).encode()).facet(COST) is None


def corrected(*pods: Pod) -> dict[str, int]:
    """Return the pods that get another cost, with it."""
    state = state_with(*pods)
    (owner,) = replicas_in(state)
    return {
        key.partition("/")[2]: cost
        for (key, _), _, cost in corrections(state, replicas_in(state).of(owner))
    }


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        pytest.param([-1001, -2001, -3001], {}, id="in order"),
        pytest.param([-2001, -3001, -1001], {}, id="in order, whoever came first"),
        pytest.param([-1001, -3001, -4001], {"p2": -2001}, id="the highest fills the gap"),
        pytest.param([-3001, -4001, -5001], {"p1": -1001, "p2": -2001}, id="two gaps"),
        pytest.param([-1001, -1001, -3001], {"p1": -2001}, id="one rank twice"),
        pytest.param([-1001, None, -3001], {"p1": -2001}, id="without a cost"),
        pytest.param([-1001, 5, -2001], {"p1": -3001}, id="a cost that nobody gave"),
        pytest.param([-1001, -2147483648, -2001], {"p1": -3001}, id="beyond all ranks"),
    ],
)
def test_as_few_pods_as_can_be_are_put_in_order(
    costs: list[int | None], expected: dict[str, int]
) -> None:
    pods = [
        (spread(f"p{number}") if cost is None else costing(spread(f"p{number}"), cost)).on(name)
        for number, (cost, name) in enumerate(zip(costs, ["a0", "a1", "a2"], strict=True))
    ]
    assert corrected(*pods) == expected


def test_those_that_are_not_alone_on_their_host_get_the_higher_ranks() -> None:
    pods = [spread(f"p{number}").on(name) for number, name in enumerate(["a0", "a0", "a1"])]
    assert corrected(*pods) == {"p0": -1001, "p2": -2001, "p1": -3002}


def test_a_rank_on_a_host_that_a_pod_in_order_has_is_given_to_no_other() -> None:
    assert corrected(costing(spread("p0"), -1001).on("a0"), spread("p1").on("a0")) == {"p1": -2002}


def test_where_first_and_second_rank_disagree_the_order_on_the_host_stays() -> None:
    pods = [costing(spread("p0"), -4002).on("a0"), costing(spread("p1"), -5001).on("a0")]
    assert corrected(*pods) == {"p1": -1001, "p0": -2002}


def test_the_1000th_pod_of_a_host_keeps_its_rank_in_the_zone() -> None:
    state = state_with()
    first = read(spread("p").on("a0"))
    for number in range(1, STEP):
        given = DeletionCost(Ranks(number, number).cost, given=True)
        made = structs.replace(first, key=Key(f"default/p{number}"), uid=f"{number}")
        state.upsert_pod(ranked.costing(made, given))
    cost = cost_on(state, spread("last"), "a0")
    assert (cost, Ranks.of(cost).first) == (-1_000_999, STEP)


def test_what_its_user_has_written_is_left_alone() -> None:
    own = costing(spread("own"), -1001, given=False).on("a0")
    assert corrected(own, costing(spread("p0"), -2001).on("a1")) == {"p0": -1001}


def test_a_pod_that_is_not_known_to_be_bound_keeps_its_rank() -> None:
    state = state_with(costing(spread("bound"), -2001).on("a0"), spread("asked"))
    placed = with_cost(replicas_in(state), read(spread("asked")), "a1")
    state.reserve(placed, "a1", 10.0)
    state.upsert_pod(read(costing(spread("late"), -1001).on("a2")))
    (owner,) = replicas_in(state)
    changed = corrections(state, replicas_in(state).of(owner))
    assert [each.pod.key for each in changed] == ["default/late"]
    assert changed[0].cost == -3001


def test_a_pod_that_is_not_known_to_be_bound_gets_no_other_rank() -> None:
    state = state_with(costing(spread("bound"), -1001).on("a0"), spread("asked"))
    asked = ranked.costing(read(spread("asked")), DeletionCost(-9001, given=True))
    state.reserve(asked, "a1", 10.0)
    (owner,) = replicas_in(state)
    assert len(replicas_in(state).of(owner)) == 2
    assert corrections(state, replicas_in(state).of(owner)) == []


def scaled_down(placed: dict[str, tuple[str, int]], number: int) -> Counter[str]:
    """Return how many pods each zone keeps when the controller has taken all but so many."""
    left = sorted(placed.values(), key=lambda each: -each[1])[:number]
    return Counter(name[0] for name, _ in left)


def is_even(left: Counter[str], before: Counter[str]) -> bool:
    """Return whether zones differ by one at most, save for those that never had as many."""
    most = max(left.values(), default=0)
    return all(left[zone] >= min(most - 1, before[zone]) for zone in ZONES)


def bind_all(state: ClusterState, names: Iterable[str]) -> None:
    """Place pods one by one, and have the watch show each."""
    for number, name in enumerate(names, len(state.pods)):
        raw = spread(f"p{number}")
        state.upsert_pod(structs.replace(with_cost(replicas_in(state), read(raw), name), node=name))


def costs_in(state: ClusterState) -> dict[str, tuple[str, int]]:
    return {
        pod.key: (pod.node, cost.value)
        for pod in state.pods.values()
        if pod.node is not None and (cost := pod.facet(COST)) is not None
    }


names = st.sampled_from(sorted(NODES))


@given(st.lists(names, min_size=1, max_size=24))
def test_any_scale_down_leaves_zones_even(placed: Sequence[str]) -> None:
    state = state_with()
    bind_all(state, placed)
    costs = costs_in(state)
    assert len(costs) == len(placed)
    before = Counter(name[0] for name in placed)
    for number in range(len(placed)):
        assert is_even(scaled_down(costs, number), before), number


@given(
    st.lists(names, min_size=1, max_size=24),
    st.sets(st.integers(0, 23)),
    st.lists(names, max_size=8),
)
def test_corrections_make_that_so_again(
    placed: Sequence[str], lost: set[int], more: Sequence[str]
) -> None:
    state = state_with()
    bind_all(state, placed)
    gone = [each for number, each in enumerate(state.pods.values()) if number in lost]
    for each in gone:
        state.remove_pod(each.key, each.uid)
    for number, name in enumerate(more):
        # Bound by somebody else, without a cost.
        state.upsert_pod(read(spread(f"more{number}").on(name)))
    for owner in list(replicas_in(state)):
        changed = corrections(state, replicas_in(state).of(owner))
        assert len(changed) <= len(more) + len(gone)
        for change in changed:
            carry_out(state, change)
        assert corrections(state, replicas_in(state).of(owner)) == []
    costs = costs_in(state)
    assert len(costs) == len(state.pods)
    before = Counter(name[0] for name, _ in costs.values())
    for number in range(len(costs)):
        assert is_even(scaled_down(costs, number), before), number


places = st.one_of(st.none(), st.sampled_from(ZONES))


@given(
    st.lists(st.tuples(names, st.booleans()), min_size=1, max_size=24),
    st.lists(st.tuples(names, places, st.booleans()), max_size=6),
)
def test_whatever_becomes_of_nodes_the_controllers_are_noted_whose_pods_are_out_of_order(
    placed: Sequence[tuple[str, bool]], moves: Sequence[tuple[str, str | None, bool]]
) -> None:
    state = state_with()
    for number, (name, other) in enumerate(placed):
        raw = spread(f"p{number}").owned_by("ReplicaSet/other" if other else "ReplicaSet/web-1")
        state.upsert_pod(structs.replace(with_cost(replicas_in(state), read(raw), name), node=name))
    settle(state)
    for name, zone, gone in moves:
        if gone:
            state.remove_node(name)
        labels = {HOST: name} if zone is None else {HOST: name, ZONE: zone}
        state.upsert_node(model_node(node(name, labels)))
    settle(state)
    labels_of = state.nodes.labels
    for owner in replicas_in(state):
        costs = {
            key: (labels_of(name).get(ZONE, name), cost)
            for key, (name, cost) in costs_in(state).items()
            if state.pods[key].controller == owner
        }
        before = Counter(zone for zone, _ in costs.values() if zone in ZONES)
        if before.total() == len(costs):
            for number in range(len(costs)):
                assert is_even(scaled_down(costs, number), before), number


def settle(state: ClusterState) -> None:
    """Put the pods of the controllers that are noted in order, after which no others are out."""
    for owner in list(replicas_in(state).take_changed()):
        for change in corrections(state, replicas_in(state).of(owner)):
            carry_out(state, change)
    for owner in replicas_in(state):
        assert corrections(state, replicas_in(state).of(owner)) == []


def carry_out(state: ClusterState, change: Correction) -> None:
    """Give a pod its new cost, as the watch shows it after the patch."""
    known = state.pod(*change.pod)
    assert known is not None
    cost = known.facet(COST)
    assert (cost and cost.value) == change.before
    state.upsert_pod(ranked.costing(known, DeletionCost(change.cost, given=True)))
