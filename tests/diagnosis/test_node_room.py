"""What is between a pod and a node alone: its name, taints, ports and resources, at the edges."""

from __future__ import annotations

import json

import pytest

from extender.core.model.node_resources import CORDONED
from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import judge
from extender.core.verbs.node_fit import NodeFit
from extender.core.verbs.plugins import FilterPlugin
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Question
from extender.diagnosis.verbs.node_room import (
    MOST_ASKED,
    NodeName,
    NodePorts,
    NodeResourcesFit,
    NodeUnschedulable,
    TaintToleration,
)
from tests.builders import Json, Pod, model_pod, node, pod, state_of

ROOM = {"cpu": "4", "memory": "4Gi", "pods": "9"}
A, B = node("a", {}, ROOM), node("b", {}, ROOM)
CORDON = {"key": CORDONED.key, "effect": CORDONED.effect}
OF_CORDONED = {"key": CORDONED.key, "operator": "Exists"}
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
TAINTED = node("t", {}, ROOM, [TAINT])
FULL, PORT = Reason.RESOURCES, Reason.PORTS


def cordoned(name: str) -> Json:
    """Build a node as `kubectl cordon` leaves it."""
    made = node(name, {}, ROOM, [CORDON])
    return {**made, "spec": made["spec"] | {"unschedulable": True}}


def tolerating(*tolerations: Json) -> Pod:
    """Build a pod with some tolerations."""
    made = pod("new")
    return Pod({**made, "spec": made["spec"] | {"tolerations": [*tolerations]}})


def asks(**amounts: str) -> Pod:
    """Build a pod that requests something."""
    return pod("new").requests(**amounts)


RESOURCES, PORTS = NodeResourcesFit(), NodePorts()
TAINTS, CORDONS, NAME = TaintToleration(), NodeUnschedulable(), NodeName()
HELD = pod("held").priority(1).nominated("a")
OTHERS = [{"key": f"k{number}", "operator": "Exists"} for number in range(MOST_ASKED)]


@pytest.mark.parametrize(
    ("plugin", "nodes", "placed", "asked", "expected"),
    [
        pytest.param(RESOURCES, [A], [], asks(cpu="4"), {}, id="all that a node has"),
        pytest.param(RESOURCES, [A], [], asks(cpu="4001m"), {"a": FULL}, id="more than it has"),
        pytest.param(
            RESOURCES,
            [A],
            [pod("large").requests(cpu="9").on("a")],
            asks(cpu="0", memory="1Gi"),
            {},
            id="none of what a node has given away twice",
        ),
        pytest.param(
            RESOURCES, [A], [HELD.requests(cpu="3")], asks(cpu="1"), {}, id="all that is not held"
        ),
        pytest.param(
            RESOURCES,
            [A],
            [HELD.requests(cpu="3")],
            asks(cpu="1001m"),
            {"a": FULL},
            id="a part of what is held",
        ),
        pytest.param(
            PORTS, [A, B], [HELD.host_port(80)], pod("new").host_port(80), {"a": PORT}, id="a port"
        ),
        pytest.param(
            PORTS, [A], [HELD.host_port(81)], pod("new").host_port(80), {}, id="another port"
        ),
        pytest.param(
            CORDONS, [cordoned("c"), A], [], pod("new"), {"c": Reason.UNSCHEDULABLE}, id="a cordon"
        ),
        pytest.param(
            CORDONS, [cordoned("c")], [], tolerating(OF_CORDONED), {}, id="a cordon, tolerated"
        ),
        pytest.param(
            TAINTS,
            [cordoned("c")],
            [],
            pod("new"),
            {},
            id="the taint of a cordon is not said twice",
        ),
        pytest.param(
            TAINTS,
            [TAINTED],
            [],
            tolerating(*OTHERS),
            {"t": Reason.TAINT},
            id="as many tolerations as are looked at",
        ),
        pytest.param(TAINTS, [TAINTED], [], tolerating(*OTHERS, OF_CORDONED), {}, id="one more"),
        pytest.param(
            NAME, [A, B], [], pod("new").on("a"), {"b": Reason.NODE_NAME}, id="a node by name"
        ),
    ],
)
def test_what_a_node_lacks(
    plugin: FilterPlugin,
    nodes: list[Json],
    placed: list[Pod],
    asked: Pod,
    expected: dict[str, Reason],
) -> None:
    state = state_of(nodes, [], placed)
    names = state.nodes.asked(list(state.nodes))
    found = judge(state, model_pod(asked), names, [plugin]).refused
    assert {name: reason for reason, names in found for name in names} == expected


ITSELF = pod("new").requests(cpu="3").host_port(80)


@pytest.mark.parametrize("plugin", [RESOURCES, PORTS, NAME, TAINTS, CORDONS])
@pytest.mark.parametrize("reserved", [False, True])
def test_a_pod_is_in_its_own_way_nowhere(plugin: FilterPlugin, *, reserved: bool) -> None:
    """Of a placed pod a running extender does not know what it tolerates."""
    state = state_of([A, B, TAINTED, cordoned("c")], [], [] if reserved else [ITSELF.on("a")])
    asked = model_pod(ITSELF if reserved else ITSELF.on("a"))
    if reserved:
        state.reserve(asked, "a", 10.0)
    found = judge(state, asked, state.nodes.asked(["a", "b"]), [plugin])
    assert found.refused == []
    if not reserved:
        assert judge(state, asked, state.nodes.asked([*state.nodes]), [plugin]).refused == []


@pytest.mark.parametrize(
    ("room", "asked", "fits", "curable"),
    [
        pytest.param(ROOM, asks(cpu="1"), False, True, id="there is another pod"),
        pytest.param(ROOM, asks(cpu="5"), False, False, id="too large for the empty node"),
        pytest.param(ROOM, asks(cpu="0", memory="1Gi"), True, True, id="nothing of what is short"),
        pytest.param(ROOM | {"pods": "0"}, pod("new"), False, True, id="no pod at all"),
        pytest.param(
            ROOM, asks(cpu="5").host_port(80), False, True, id="ports are judged before resources"
        ),
        pytest.param(ROOM, pod("new").host_port(80), False, True, id="its port alone"),
    ],
)
def test_whether_pods_that_go_might_help(
    room: dict[str, str],
    asked: Pod,
    fits: bool,
    curable: bool,
) -> None:
    there = pod("there").requests(cpu="9").host_port(80).on("a")
    found = NodeFit(state_of([node("a", {}, room)], [], [there]), model_pod(asked), "a")
    assert (found.fits, found.is_curable) == (fits, curable)


def test_a_pod_frees_its_place_on_its_own_node_alone() -> None:
    there = pod("there").requests(cpu="3").on("b")
    mine = asks(cpu="3").on("a")
    state = state_of([A, B], [], [mine, there])
    assert NodeFit(state, model_pod(mine), "a").fits
    assert not NodeFit(state, model_pod(mine), "b").fits


def test_who_has_the_port_of_a_pod_is_another() -> None:
    other = pod("other").host_port(80).on("a")
    state = state_of([A], [], [ITSELF.on("a"), other])
    question = Question(model_pod(ITSELF.on("a")), ["a"], [PORTS])
    [group] = explanation_of(state, question).groups
    assert group.cause == "host port 80/TCP taken by default/other"


def test_the_largest_of_the_nodes_that_are_too_small_is_named() -> None:
    smaller = node("b", {}, ROOM | {"cpu": "2"})
    asked = PodReader(requirements=True).read(json.dumps(asks(cpu="9")).encode())
    question = Question(asked, ["a", "b"], [RESOURCES])
    [group] = explanation_of(state_of([A, smaller], [], []), question).groups
    assert "(asks for 9, the largest of them has 4)" in group.cause


def key(name: str, effect: str = "NoSchedule", value: str = "") -> Json:
    return {"key": name, "effect": effect, "value": value}


UNREACHABLE = "node.kubernetes.io/unreachable"
NO_CLOUD = "node.cloudprovider.kubernetes.io/uninitialized"


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        pytest.param([TAINT], "t if the pod tolerated the taint dedicated=db:NoSchedule", id="set"),
        pytest.param(
            [key(UNREACHABLE), key(UNREACHABLE, "NoExecute")],
            f"t once it is reachable (the taint {UNREACHABLE} goes then)",
            id="of a node that does not answer",
        ),
        pytest.param(
            [key(NO_CLOUD, value="true"), TAINT],
            f"t once it is initialized by the cloud controller manager (the taint {NO_CLOUD} goes "
            "then), and if the pod tolerated the taint dedicated=db:NoSchedule",
            id="of both kinds",
        ),
        pytest.param(
            [key(NO_CLOUD), key("node.kubernetes.io/not-ready")],
            "t once it is initialized by the cloud controller manager and ready (the taints "
            f"{NO_CLOUD} and node.kubernetes.io/not-ready go then)",
            id="two that pass",
        ),
    ],
)
def test_no_pod_is_told_to_tolerate_what_is_wrong_with_a_node(
    taints: list[Json], expected: str
) -> None:
    state = state_of([node("t", {}, ROOM, taints)], [], [])
    question = Question(model_pod(pod("new")), ["t"], (TAINTS,))
    (nearest,) = explanation_of(state, question).near_misses
    assert str(nearest) == expected
