"""The audit finds what is wrong in a live state, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice

import pytest

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import HostPort
from extender.features.audit import ledgers, recount
from extender.features.audit.ledgers import audit_columns, audit_nominated
from extender.features.audit.recount import audit
from tests.builders import (
    ZONE,
    Json,
    Pod,
    model_node,
    model_pod,
    node,
    node_term,
    pod,
    requirement,
    selector,
    state_of,
    term,
)

LONER = pod("a").labels(app="web").anti_affinity(term(ZONE, selector(app="web"))).on("n")
NOMINATED = pod("b").nominated("n")


def a_state() -> ClusterState:
    """Build a state with a carried term and a counted set."""
    state = state_of([node("n", {ZONE: "z"})], [], [LONER])
    state.prefilter_state(model_pod(LONER).pod_class)
    return state


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(lambda _: None, id="nothing"),
        pytest.param(lambda state: state.reserve(model_pod(pod("b")), "n", 1.0), id="a place"),
        pytest.param(
            lambda state: state.reserve(model_pod(LONER.uid("new")), "n", 1.0), id="of its class"
        ),
        pytest.param(lambda state: state.remove_node("n"), id="a node goes"),
        pytest.param(lambda state: state.upsert_pod(model_pod(NOMINATED)), id="a nomination"),
        pytest.param(
            lambda state: state.expect_nomination(model_pod(pod("b")), "n", 1.0), id="its own"
        ),
        pytest.param(lambda state: state.upsert_pod(model_pod(LONER.being_deleted())), id="an end"),
    ],
)
def test_a_sound_state_is_found_sound(event: Callable[[ClusterState], object]) -> None:
    state = a_state()
    event(state)
    assert {*audit(state)} == {None}


def test_a_round_goes_on_while_the_state_changes() -> None:
    state = a_state()
    steps = audit(state)
    assert list(islice(steps, 1)) == [None]
    state.remove_pod("default/a", "default-a")
    assert {*steps} == {None}, "the term is gone, everything else is still right"


def test_a_wrong_counter_is_named() -> None:
    state = a_state()
    (existing,) = state.existing_terms
    existing.owners.counts.clear()
    (counted,) = state.matching_sets
    counted.table.counts[0] += 1
    *_, of_owners, of_matches = audit(state)
    assert of_owners is not None
    assert ZONE in of_owners
    assert of_matches is not None
    assert "web" in of_matches


def rich_state() -> ClusterState:
    """Build a state with several of all that is counted."""
    nodes = [node(f"n{number}", {ZONE: f"z{number}"}) for number in range(3)]
    pods = []
    for number in range(3):
        mine = selector(app=f"app{number}")
        made = pod(f"p{number}").labels(app=f"app{number}").requests(cpu="1")
        pods.append(made.anti_affinity(term(ZONE, mine)).on(f"n{number}"))
        pods.append(pod(f"w{number}").nominated(f"n{number}"))
    state = state_of(nodes, [], pods)
    for number in range(3):
        near = pod("new").affinity(term(ZONE, selector(app=f"app{number}")))
        state.prefilter_state(model_pod(near).pod_class)
    return state


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(
            lambda state, which: [*state.existing_terms][which].owners.counts.clear(), id="a term"
        ),
        pytest.param(
            lambda state, which: [*state.matching_sets][which].table.counts.clear(), id="a set"
        ),
        pytest.param(
            lambda state, which: state.node_resources.used(f"n{which}").update(cpu=7), id="room"
        ),
        pytest.param(
            lambda state, which: state.nominated._shown.pop(f"default-w{which}"),
            id="a nomination that the watch shows",
        ),
        pytest.param(
            lambda state, which: state.nominated._nominated.pop(f"default-w{which}"),
            id="a nomination that counts",
        ),
        pytest.param(
            lambda state, which: state.nominated._on.pop(f"n{which}"), id="a nomination by its node"
        ),
        pytest.param(
            lambda state, which: [*state.placed_classes][which].on_nodes.update({which: 2}),
            id="a class",
        ),
    ],
)
def test_what_is_wrong_is_noticed_whichever_of_several_it_is(
    spoil: Callable[[ClusterState, int], object], which: int
) -> None:
    state = rich_state()
    assert {*audit(state)} == {None}
    spoil(state, which)
    assert {*audit(state)} != {None}


@pytest.mark.parametrize("is_gone", [False, True], ids=["a node", "a node that is gone"])
@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda state: state.node_resources.used("n1").update(cpu=7), id="room"),
        pytest.param(
            lambda state: state.node_resources.use_ports("n1", (HostPort("", "TCP", 80),), 1),
            id="ports",
        ),
        pytest.param(lambda state: [*state.placed_classes][1].on_nodes.update({1: 2}), id="pods"),
    ],
)
def test_what_is_wrong_is_noticed_on_nodes_that_are_gone_as_well(
    spoil: Callable[[ClusterState], object], *, is_gone: bool
) -> None:
    state = rich_state()
    if is_gone:
        state.remove_node("n1")
    assert {*audit(state)} == {None}
    spoil(state)
    assert {*audit(state)} != {None}


def wide_state(replicas: int) -> ClusterState:
    """Build the same with a replica on each of many nodes."""
    nodes = [node(f"n{number}", {ZONE: f"z{number % 3}"}) for number in range(replicas)]
    state = state_of(nodes, [], [replica(number) for number in range(replicas)])
    state.prefilter_state(model_pod(replica(0)).pod_class)
    return state


def replica(number: int) -> Pod:
    made = pod(f"p{number}").labels(app="web")
    return made.anti_affinity(term(ZONE, selector(app="web"))).on(f"n{number}")


@pytest.mark.parametrize("moved", [None, *range(16)])
def test_a_class_on_many_nodes_is_counted_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch, moved: int | None
) -> None:
    monkeypatch.setattr(recount, "AUDITED_PLACES", 10)
    state, steps = wide_state(35), 0
    for found in audit(state):
        assert found is None
        if steps == moved:
            state.remove_pod("default/p5", "default-p5")
            state.upsert_node(model_node(node("n6", {ZONE: "z9"})))
        steps += 1
    assert steps >= len(list(audit(a_state()))) + 3


def test_a_node_that_gets_its_zone_once_its_pods_are_gone_is_nothing_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recount, "AUDITED_PLACES", 10)
    names = [f"n{number}" for number in range(35)]
    places = [node(name, {} if name == "n30" else {ZONE: "z"}) for name in names]
    for moment in range(16):
        state = state_of(places, [], [replica(number) for number in range(35)])
        state.prefilter_state(model_pod(replica(0)).pod_class)
        for step, found in enumerate(audit(state)):
            assert found is None
            if step == moment:
                state.remove_pod("default/p30", "default-p30")
                state.upsert_node(model_node(node("n30", {ZONE: "new"})))


def test_a_wrong_counter_of_a_class_on_many_nodes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recount, "AUDITED_PLACES", 10)
    state = wide_state(35)
    (existing,) = state.existing_terms
    existing.owners.counts[0] += 1
    assert any(found and ZONE in found for found in audit(state))


def test_a_pod_that_slipped_through_is_noticed() -> None:
    state = a_state()
    (placed,) = state.placed_classes
    placed.on_nodes[0] += 1
    assert next(audit(state)) == "pods by class and node"


@pytest.mark.parametrize("node", ["n", "gone"])
def test_room_that_nobody_uses_is_noticed(node: str) -> None:
    state = a_state()
    state._node_resources.use(node, (("cpu", 100),), 1)
    assert {*audit(state)} == {None, f"room on {node}"}


def test_a_host_port_that_nobody_has_is_noticed() -> None:
    state = a_state()
    state._node_resources.use_ports("n", (HostPort("", "TCP", 80),), 1)
    assert {*audit(state)} == {None, "room on n"}


def gone_but_nominated(state: ClusterState) -> None:
    state.remove_pod("default/b", "default-b")
    state._nominated.learn(model_pod(NOMINATED))


@pytest.mark.parametrize(
    "slips",
    [
        pytest.param(lambda state: state._nominated.forget("default-b"), id="forgotten"),
        pytest.param(gone_but_nominated, id="kept"),
        pytest.param(lambda state: state._nominated._on.clear(), id="not of its node"),
        pytest.param(lambda state: state._nominated._of_class.clear(), id="not of its class"),
    ],
)
def test_a_nomination_that_slipped_through_is_noticed(
    slips: Callable[[ClusterState], object],
) -> None:
    state = a_state()
    state.upsert_pod(model_pod(NOMINATED))
    slips(state)
    assert "nominated pods" in list(audit(state))


class Wrong(Ledger):
    """Books something that is wrong."""

    def audit(self) -> Iterator[str | None]:
        yield "what it books"


def test_what_each_of_several_ledgers_finds_is_told() -> None:
    state = a_state()
    for each in (Ledger(), Wrong(), Wrong(), Ledger()):
        state.book_with(each)
    assert list(audit(state)).count("what it books") == 2


def unlike(app: str) -> Json:
    return term(ZONE, {"matchExpressions": [requirement("app", "NotIn", app)]})


def test_what_terms_say_together_is_recounted() -> None:
    pods = [pod(f"p{n}").anti_affinity(unlike(f"x{n}")).on("n") for n in range(3)]
    state = state_of([node("n", {ZONE: "z"})], [], pods)
    assert {*audit(state)} == {None}
    (total,) = state.existing_terms.sums
    total.table.counts[0] += 1
    assert {*audit(state)} == {None, f"{ZONE} of 3 terms together"}


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_column_that_says_wrong_is_noticed(wrong: int) -> None:
    nodes = [node("a", {"disk": "ssd"}), node("b", {"disk": "hdd"})]
    picky = [
        pod(disk).requires_nodes(node_term(requirement("disk", "In", disk)))
        for disk in ("ssd", "none")
    ]
    state = state_of(nodes, [], picky)
    for each in picky:
        affinity = model_pod(each).node_selection
        assert affinity is not None
        assert affinity.required is not None
        state.node_rules.judge(affinity.required)
    assert {*audit(state)} == {None}
    list(state.node_rules)[wrong].by_number[state.nodes.number_of("b")] = 1
    assert "node affinity on b" in list(audit(state))


def test_nominations_and_columns_that_end_within_a_round_are_nothing_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledgers, "AUDITED_PODS", 1)
    monkeypatch.setattr(ledgers, "AUDITED_CONDITIONS", 1)
    rule = node_term(requirement("disk", "In", "ssd"))
    nodes = [node(name, {"disk": "ssd"}) for name in "abc"]
    for end in range(8):
        picky = pod("picky").requires_nodes(rule).nominated("a")
        state = state_of(nodes, [], [picky, pod("other").nominated("b")])
        for each in model_pod(picky).node_selection.rules:  # type: ignore[union-attr]
            state.node_rules.judge(each)
        for step, found in enumerate(chain(audit_nominated(state), audit_columns(state))):
            assert found is None
            if step == end:
                state.remove_pod("default/picky", "default-picky")
                for name in "bc":
                    state.upsert_node(model_node(node(name)))
