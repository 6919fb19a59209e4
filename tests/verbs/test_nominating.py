"""Which node a refused pod is pointed to."""

from __future__ import annotations

from typing import Any, TypeAlias

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import JUST_A_POD, Requests, Requirements, Toleration
from extender.core.verbs.nominating import Chooser, ExpectedPlacement, loses_victims
from tests.builders import (
    HOST,
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
from tests.verbs.judging import AFFINITY

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "3"}
DB = pod("db").labels(app="db")
LONER = pod("loner").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
ZONE_LONER = LONER.anti_affinity(term("zone", selector(app="web")))
JOINER = pod("joiner").affinity(term(HOST, selector(app="db")))


def host(name: str, room: Json | None = None, **more: Any) -> dict[str, Any]:
    """Build a node with room."""
    return node(name, {HOST: name, "name": name}, room or ROOM, **more)


NODES = [host("a"), host("b"), host("c")]


Wish: TypeAlias = dict[str, Any]
"""Fields of a pod's spec that are other than the object has them."""


def choose(
    state: ClusterState,
    raw: Pod,
    wish: Wish | None = None,
    *,
    chance: float = 0.0,
    avoid: tuple[str, ...] = (),
    placements: tuple[ExpectedPlacement, ...] = (),
) -> str | None:
    """Choose for a pod."""
    return Chooser(state, AFFINITY).choose(
        model_pod(raw).with_spec(**wish or {}),
        avoid=avoid,
        placements=placements,
        chance=chance,
    )


def test_a_node_that_satisfies_the_rules() -> None:
    state = state_of(NODES, [], [DB.on("b")])
    assert choose(state, JOINER) == "b"
    assert choose(state_of(NODES, [], []), JOINER) is None


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        pytest.param(0.0, "a", id="from the first"),
        pytest.param(0.5, "b", id="from the middle"),
        pytest.param(0.999, "c", id="from the last"),
    ],
)
def test_chance_chooses_among_them(chance: float, expected: str) -> None:
    assert choose(state_of(NODES, [], []), LONER, chance=chance) == expected


def _named(*names: str) -> Json:
    return node_term(requirement("name", "In", *names))


def test_a_search_goes_round() -> None:
    state = state_of(NODES, [], [LONER.on("c")])
    assert choose(state, pod("x").labels(app="web"), chance=0.999) in {"a", "b"}
    assert choose(state, pod("x").labels(app="web"), chance=0.999, avoid=("b",)) == "a"


def requests(**amounts: int) -> Requests:
    """Return a pod's requests."""
    return tuple(sorted({**amounts, "pods": 1}.items()))


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        pytest.param({}, {"a", "b", "c"}, id="no wish"),
        pytest.param({"requests": requests(cpu=4000)}, {"b", "c"}, id="where cpu is left"),
        pytest.param({"requests": requests(cpu=3000)}, {"a", "b", "c"}, id="just enough cpu"),
        pytest.param({"requests": requests(gpu=1)}, set(), id="what no node has"),
        pytest.param(
            {"requests": requests(gpu=0)}, {"a", "b", "c"}, id="nothing of what no node has"
        ),
        pytest.param(
            {"requirements": Requirements((Toleration("", None, ""),))},
            {"a", "b", "c", "tainted"},
            id="tolerates everything",
        ),
    ],
)
def test_only_nodes_that_suit_the_pod_otherwise(wish: Wish, expected: set[str]) -> None:
    taint = {"key": "x", "effect": "NoExecute"}
    nodes = [*NODES, host("tainted", taints=[taint]), host("full", {"pods": "0"}), node("unready")]
    there = [pod("busy").requests(cpu="1").on("a")]
    state = state_of(nodes, [], there)
    found = {choose(state, LONER, wish, chance=number / 6) for number in range(6)}
    assert found - {None} == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(LONER.selects(name="b"), {"b"}, id="a selector"),
        pytest.param(LONER.selects(x=""), set(), id="a selector that nothing matches"),
        pytest.param(LONER.requires_nodes(node_term(In="c")), {"c"}, id="a node by its name"),
        pytest.param(
            LONER.requires_nodes(node_term(requirement("name", "NotIn", "a"))),
            {"b", "c"},
            id="an expression",
        ),
        pytest.param(
            LONER.prefers_nodes(9, node_term(In="c")), {"a", "b", "c"}, id="a mere preference"
        ),
    ],
)
def test_only_nodes_that_the_pod_asks_for(raw: Pod, expected: set[str]) -> None:
    state = state_of(NODES, [], [])
    found = {choose(state, raw, chance=number / 3) for number in range(3)}
    assert found - {None} == expected


def test_a_host_port_is_had_once() -> None:
    state = state_of([host("a"), host("b")], [], [pod("there").host_port(80).on("a")])
    assert choose(state, LONER.host_port(80), chance=0.0) == "b"
    assert choose(state, LONER.host_port(81), chance=0.0) == "a"
    state.remove_pod("default/there", "default-there")
    assert choose(state, LONER.host_port(80), chance=0.0) == "a"


def test_places_for_pods_are_counted() -> None:
    there = [pod(f"p{number}").on("a") for number in range(3)]
    state = state_of([host("a")], [], there)
    assert choose(state, LONER, {"requests": JUST_A_POD}) is None
    state.remove_pod("default/p0", "default-p0")
    assert choose(state, LONER, {"requests": JUST_A_POD}) == "a"


def test_a_reserved_place_is_taken() -> None:
    state = state_of([host("a", {"pods": "1"}), host("b", {"pods": "1"})], [], [])
    state.reserve(model_pod(DB), "a", 1.0)
    assert choose(state, LONER) == "b"


def test_a_promise_to_a_rival_is_kept() -> None:
    state = state_of(NODES, [], [])
    rival = ExpectedPlacement(model_pod(LONER.uid("rival")), "a")
    assert choose(state, LONER, placements=(rival,)) == "b"
    assert choose(state, LONER, placements=(ExpectedPlacement(model_pod(DB), "a"),)) == "a", (
        "no rival"
    )
    own = ExpectedPlacement(model_pod(LONER), "a")
    assert choose(state, LONER, placements=(own,)) == "a", "its own earlier hint"


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        pytest.param(ZONE_LONER, {"c"}, id="who excludes it"),
        pytest.param(pod("web").labels(app="web"), {"c"}, id="whom it excludes"),
        pytest.param(pod("other").labels(app="other"), {"a", "b", "c"}, id="neither"),
    ],
)
def test_a_promise_keeps_rivals_out_of_the_whole_domain(asks: Pod, expected: set[str]) -> None:
    zones = {"a": "x", "b": "x", "c": "y"}
    nodes = [node(name, {HOST: name, "zone": zone}, ROOM) for name, zone in zones.items()]
    state = state_of(nodes, [], [])
    promised = (ExpectedPlacement(model_pod(ZONE_LONER.uid("rival")), "a"),)
    found = {choose(state, asks, placements=promised, chance=each / 3) for each in range(3)}
    assert found == expected


WEB = pod("web").requests(cpu="2").host_port(80)
HELD = pod("held").requests(cpu="3")
EXPECTED = [pod(f"expected-{number}") for number in range(3)]


def asking(*amounts: str, port: int = 0, on: str = "a") -> list[ExpectedPlacement]:
    """Return pods that are expected on a node, by what each asks for."""
    pods = [each.requests(cpu=cpu) for each, cpu in zip(EXPECTED, amounts, strict=False)]
    ported = [each.host_port(port) if port else each for each in pods]
    return [ExpectedPlacement(model_pod(each), on) for each in ported]


@pytest.mark.parametrize(
    ("expected", "fits"),
    [
        pytest.param(asking("2"), True, id="one beside which it fits"),
        pytest.param(asking("3"), False, id="one that takes its room"),
        pytest.param(asking("1", "1"), True, id="two beside which it fits"),
        pytest.param(asking("2", "1"), False, id="two, and the first takes more"),
        pytest.param(asking("1", "2"), False, id="two, and the last takes more"),
        pytest.param(asking("0", "0", "0"), False, id="as many as there may be pods"),
        pytest.param(asking("1", port=80), False, id="one that takes its port"),
        pytest.param(asking("1", port=81), True, id="one with another port"),
        pytest.param(asking("3", on="b"), True, id="one elsewhere"),
        pytest.param([*asking("2"), *asking("3", on="b")], True, id="one there, one elsewhere"),
    ],
)
def test_a_node_has_to_have_room_for_all_who_are_expected_there(
    expected: list[ExpectedPlacement], *, fits: bool
) -> None:
    state = state_of([host("a")], [], [])
    assert choose(state, WEB, placements=tuple(expected)) == ("a" if fits else None)


@pytest.mark.parametrize(
    ("held", "fits"),
    [
        pytest.param(HELD.priority(10), False, id="a more important one"),
        pytest.param(HELD, False, id="an equal one"),
        pytest.param(HELD.priority(-1), True, id="a lesser one"),
        pytest.param(pod("held").requests(cpu="2"), True, id="one beside which there is room"),
        pytest.param(pod("held").host_port(80), False, id="one that takes its port"),
    ],
)
def test_the_room_of_a_pod_that_is_nominated_to_a_node_is_left_to_it(
    held: Pod, *, fits: bool
) -> None:
    state = state_of([host("a")], [], [held.nominated("a")])
    assert choose(state, WEB) == ("a" if fits else None)


def test_nodes_that_come_are_seen() -> None:
    state = state_of([host("a")], [], [LONER.uid("other").on("a")])
    chooser = Chooser(state, AFFINITY)
    asker = model_pod(pod("x").labels(app="web"))

    def chosen() -> str | None:
        return chooser.choose(asker, avoid=(), placements=(), chance=0.0)

    assert chosen() is None
    state.upsert_node(model_node(host("z")))
    assert chosen() == "z"


@pytest.mark.parametrize(
    ("there", "loses"),
    [
        pytest.param(DB.priority(1).being_deleted().on("a"), True, id="a lesser pod ends there"),
        pytest.param(DB.priority(2).being_deleted().on("a"), False, id="one as important ends"),
        pytest.param(DB.priority(1).on("a"), False, id="a lesser pod stays"),
        pytest.param(DB.priority(1).being_deleted().on("b"), False, id="one ends elsewhere"),
    ],
)
def test_whether_victims_are_on_their_way_out_of_a_node(there: Pod, *, loses: bool) -> None:
    state = state_of(NODES, [], [there])
    assert loses_victims(state, model_pod(LONER.priority(2)), "a") is loses
