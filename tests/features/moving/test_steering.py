"""Successors of moved pods are led to better nodes than the scheduler chose, once each."""

from __future__ import annotations

import pytest
from msgspec import structs

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod as ModelPod
from extender.core.ports import Hook
from extender.features.moving.steering import Steering
from tests.builders import HOST, ZONE, model_node, model_pod, node, pod, selector, term
from tests.features.moving.booked import books_over
from tests.verbs.judging import AFFINITY

WEB = selector(app="web")


def web(name: str) -> ModelPod:
    """Build a replica that prefers zones without others of its kind."""
    raw = pod(name).labels(app="web").avoids(100, term(ZONE, WEB))
    return model_pod(raw.owned_by("ReplicaSet/web"))


class Rig:
    """Three zones, a replica in each but the last one, and one more that was moved out of `a0`."""

    def __init__(self, *, pods: int = 110, min_gain: int = 1) -> None:
        self.state = ClusterState()
        self.successors = books_over(self.state).successors
        for name in ("a0", "a1", "b0", "c0"):
            labels = {HOST: name, ZONE: name[0]}
            room = {"pods": str(pods if name == "c0" else 110)}
            self.state.upsert_node(model_node(node(name, labels, room)))
        for name, place in (("one", "a0"), ("two", "b0")):
            self.state.upsert_pod(structs.replace(web(name), node=place))
        self.moved = structs.replace(web("moved"), node="a1")
        self.successors.expect(self.moved)
        self.steering = Steering(self.state, self.successors, AFFINITY, min_gain)
        self.successor = web("next")
        self.state.upsert_pod(self.successor)


@pytest.mark.parametrize(
    ("place", "led_to"),
    [
        pytest.param("a1", "c0", id="back where it was: to the zone that has none"),
        pytest.param("b0", "c0", id="elsewhere, no better: to the zone that has none"),
        pytest.param("c0", None, id="the best there is: it stays"),
    ],
)
def test_a_successor_is_led_to_a_better_node(place: str, led_to: str | None) -> None:
    rig = Rig()
    found = rig.steering.better(rig.successor, place)
    assert (found and found.node) == led_to
    if found is not None:
        assert found.why == (
            "it replaces a pod that was moved for its preferred rules, which node c0 meets better; "
            "that one is tried first now"
        )
        assert rig.steering.better(rig.successor, place) is None, "it is kept once"


def test_only_the_nodes_that_suit_a_successor_best_get_points() -> None:
    rig = Rig()

    def asked() -> NodeList:
        return rig.state.nodes.asked(["a0", "b0", "c0"])

    scored = rig.steering.scores(rig.successor, asked, 20)
    assert scored is not None
    points = dict(zip(scored.names, (scored.final[raw] for raw in scored.raw), strict=True))
    assert points == {"a0": 0, "b0": 0, "c0": 20}
    assert rig.steering.scores(web("later"), asked, 20) is None, "the plugins score it"
    assert Hook().scores(rig.successor, asked, 20) is None


def test_a_better_node_that_has_no_room_keeps_nobody_waiting() -> None:
    assert (rig := Rig(pods=0)).steering.better(rig.successor, "a1") is None


def test_less_than_the_margin_keeps_nobody_waiting() -> None:
    assert (rig := Rig(min_gain=101)).steering.better(rig.successor, "a1") is None


def test_nobody_else_is_kept_from_a_node() -> None:
    rig = Rig()
    later = web("later")
    rig.state.upsert_pod(later)
    assert rig.steering.better(later, "a1") is None, "the first one is the successor"
    assert rig.steering.better(rig.moved, "a1") is None, "who goes is not its own successor"
    assert rig.moved.controller is not None
    rig.successors.end(rig.moved.controller)
    assert rig.steering.better(rig.successor, "a1") is None
