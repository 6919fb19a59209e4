"""/explain and its page say what else keeps a pod waiting, as the command does."""

from __future__ import annotations

import html
import json
from typing import Any

import pytest

from extender.cluster.state import ClusterState
from extender.model.node_resources import NO_REQUIREMENTS
from extender.wire.objects import PodReader
from tests.answering import explaining
from tests.builders import HOST, Pod, model_node, node, pod, selector, term
from tests.web.showing import app_of, shown

ROOM = {"cpu": "2", "memory": "4Gi", "pods": "10"}
TAINT = {"key": "gpu", "effect": "NoSchedule"}
NODES = [
    node("free", {HOST: "free"}, ROOM),
    node("small", {HOST: "small"}, ROOM | {"cpu": "1"}),
    node("tainted", {HOST: "tainted"}, ROOM, [TAINT]),
]
SPREAD = {
    "maxSkew": 1,
    "topologyKey": HOST,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": selector(app="web"),
}


def with_spec(raw: Pod, **fields: Any) -> Any:
    return {**raw, "spec": {**raw["spec"], **fields}}


def cluster(waits: Any) -> ClusterState:
    """Build a cluster as the watch does: the pod that waits is read as all others are."""
    state, reader = ClusterState(), PodReader()
    for each in NODES:
        state.upsert_node(model_node(each))
    placed = pod("web").labels(app="web").requests(cpu="1").on("free")
    for raw in (placed, waits):
        state.upsert_pod(reader.read(json.dumps(raw).encode()))
    assert state.pods["default/web"].requirements is NO_REQUIREMENTS
    return state


ROOMY = pod("new").requests(cpu="500m")
BIG = pod("new").requests(cpu="1500m")


@pytest.mark.parametrize(
    ("waits", "kinds", "said"),
    [
        pytest.param(ROOMY, ["room"], "refuses 1 of them", id="a taint"),
        pytest.param(
            with_spec(ROOMY, tolerations=[{"key": "gpu", "operator": "Exists"}]),
            [],
            "fits on 3 of 3 nodes",
            id="a taint that is tolerated",
        ),
        pytest.param(BIG, ["room"], "refuses all of them", id="no room and a taint"),
        pytest.param(
            with_spec(ROOMY, schedulingGates=[{"name": "later"}]),
            ["gated", "room"],
            "leaves it alone until they are removed",
            id="a gate",
        ),
        pytest.param(
            with_spec(ROOMY, schedulerName="other"),
            ["otherScheduler", "room"],
            "asks for another scheduler",
            id="another scheduler",
        ),
        pytest.param(
            with_spec(ROOMY.labels(app="web"), topologySpreadConstraints=[SPREAD]),
            ["room"],
            "1 topology spread on hostname",
            id="even spread",
        ),
        pytest.param(
            ROOMY.labels(app="web").anti_affinity(term(HOST, selector(app="web"))),
            ["room"],
            "affinity rules leave 2 nodes",
            id="rules as well",
        ),
    ],
)
async def test_what_else_keeps_a_pod_waiting(
    waits: Any, kinds: list[str], said: str, aiohttp_client: Any
) -> None:
    state = cluster(waits)
    reader = PodReader(node_affinity=True)
    client = await aiohttp_client(app_of(shown(state, explain=explaining(state, pods=reader))))
    got = await (await client.get("/explain?pod=new")).json()
    posted = await (await client.post("/explain", json=waits)).json()
    assert [each["kind"] for each in got["notes"]] == kinds
    assert posted["notes"] == got["notes"]
    page = html.unescape(await (await client.get("/page/explain?pod=new")).text())
    assert said in page


async def test_a_gate_that_is_removed_is_told_of_no_more(aiohttp_client: Any) -> None:
    gated = with_spec(ROOMY, schedulingGates=[{"name": "later"}])
    state = cluster(gated)
    state.upsert_pod(PodReader().read(json.dumps(ROOMY).encode()))
    client = await aiohttp_client(app_of(shown(state)))
    told = await (await client.get("/explain?pod=new")).json()
    assert [each["kind"] for each in told["notes"]] == ["room"]


async def test_a_pod_with_a_node_keeps_neither(aiohttp_client: Any) -> None:
    state = cluster(with_spec(ROOMY, schedulingGates=[{"name": "later"}]))
    state.upsert_pod(PodReader().read(json.dumps(ROOMY.on("free")).encode()))
    known = state.pods["default/new"]
    assert (known.owner, known.requirements) == (None, NO_REQUIREMENTS)
    client = await aiohttp_client(app_of(shown(state)))
    told = await (await client.get("/explain?pod=new")).json()
    assert [each["kind"] for each in told["notes"]] == ["placed"]
