"""/explain and its page judge by all filters, as the command does."""

from __future__ import annotations

import html
import json
from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import NO_REQUIREMENTS
from extender.core.wire.objects import PodReader
from tests.beside import RULES
from tests.builders import HOST, Pod, model_node, node, pod, selector, term
from tests.features.explain.showing import app_over

ROOM = {"cpu": "2", "memory": "4Gi", "pods": "10"}
TAINT = {"key": "gpu", "effect": "NoSchedule"}
NODES = [
    node("free", {HOST: "free"}, ROOM),
    node("small", {HOST: "small"}, ROOM | {"cpu": "1"}),
    node("tainted", {HOST: "tainted"}, ROOM, [TAINT]),
]
AS_WATCHED = PodReader(waiting=True, rules=RULES)
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
    state = ClusterState()
    for each in NODES:
        state.upsert_node(model_node(each))
    placed = pod("web").labels(app="web").requests(cpu="1").on("free")
    for raw in (placed, waits):
        state.upsert_pod(AS_WATCHED.read(json.dumps(raw).encode()))
    assert state.pods["default/web"].spec.requirements is NO_REQUIREMENTS
    return state


ROOMY = pod("new").requests(cpu="500m")
BIG = pod("new").requests(cpu="1500m")
REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


GPU = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("waits", "verdict", "said"),
    [
        pytest.param(ROOMY, "fits", "2 of 3 nodes fit; 1: untolerated taint gpu:", id="a taint"),
        pytest.param(
            with_spec(ROOMY, **GPU), "fits", "fits on 3 of 3 nodes", id="a taint that is tolerated"
        ),
        pytest.param(
            BIG,
            "refused",
            "2 of 3 nodes: too little cpu; 1: untolerated taint gpu:NoSchedule; affinity leaves 3 ",
            id="no room and a taint",
        ),
        pytest.param(
            with_spec(ROOMY, schedulingGates=[{"name": "later"}]),
            "unknown",
            "scheduling gates (later): the scheduler leaves the pod alone until they are removed",
            id="a gate",
        ),
        pytest.param(
            with_spec(ROOMY, schedulerName="other"),
            "unknown",
            "asks for scheduler 'other': another one",
            id="another scheduler",
        ),
        pytest.param(
            ROOMY | {"status": {"conditions": [REFUSED]}},
            "unknown",
            "the scheduler refused it",
            id="what the scheduler has refused",
        ),
        pytest.param(
            with_spec(ROOMY, resourceClaims=[{"name": "gpu"}]),
            "unknown",
            "may fit on 2 of 3 nodes",
            id="a resource claim",
        ),
        pytest.param(
            with_spec(BIG, resourceClaims=[{"name": "gpu"}]),
            "refused",
            "fits on no node",
            id="a resource claim and no room",
        ),
        pytest.param(
            with_spec(ROOMY.labels(app="web"), topologySpreadConstraints=[SPREAD]),
            "fits",
            "1: your topology spread on hostname",
            id="even spread",
        ),
        pytest.param(
            ROOMY.labels(app="web").anti_affinity(term(HOST, selector(app="web"))),
            "fits",
            "1: your anti-affinity on hostname, blocked by default/web on free",
            id="rules as well",
        ),
        pytest.param(
            ROOMY.selects(**{HOST: "small"}), "fits", "fits on 1 of 3 nodes", id="a node selector"
        ),
    ],
)
async def test_one_verdict_of_all_filters(
    waits: Any, verdict: str, said: str, aiohttp_client: Any
) -> None:
    state = cluster(waits)
    reader = PodReader(node_selection=True, requirements=True, rules=RULES)
    client = await aiohttp_client(app_over(state, pods=reader))
    got = await (await client.get("/explain?pod=new")).json()
    posted = await (await client.post("/explain", json=waits)).json()
    assert got["verdict"] == verdict
    assert posted == got
    page = html.unescape(await (await client.get("/page/explain?pod=new")).text())
    assert said in page
    assert ("Best nodes of those that may fit" in page) is (
        verdict == "unknown" and not got["held"]
    )


async def test_a_gate_that_is_removed_is_told_of_no_more(aiohttp_client: Any) -> None:
    gated = with_spec(ROOMY, schedulingGates=[{"name": "later"}])
    state = cluster(gated)
    client = await aiohttp_client(app_over(state))
    told = await (await client.get("/explain?pod=new")).json()
    assert [each["kind"] for each in told["notes"]] == ["gated"]
    state.upsert_pod(AS_WATCHED.read(json.dumps(ROOMY).encode()))
    told = await (await client.get("/explain?pod=new")).json()
    assert told["notes"] == []


async def test_of_a_placed_pod_not_all_is_kept(aiohttp_client: Any) -> None:
    state = cluster(with_spec(ROOMY, **GPU))
    state.upsert_pod(AS_WATCHED.read(json.dumps(ROOMY.on("free")).encode()))
    known = state.pods["default/new"]
    assert (known.spec.owner, known.spec.requirements, known.node_selection) == (
        None,
        NO_REQUIREMENTS,
        None,
    )
    client = await aiohttp_client(app_over(state))
    told = await (await client.get("/explain?pod=new")).json()
    assert [each["kind"] for each in told["notes"]] == ["placed"]
    assert (told["verdict"], told["fitting"]) == ("unknown", 3)
    (unknown,) = told["unknown"]
    assert "`affinity-extender explain` from the command line knows more" in unknown["text"]


async def test_a_placed_pods_own_room_does_not_count_against_it(aiohttp_client: Any) -> None:
    state = cluster(ROOMY)
    manifest = pod("web").labels(app="web").requests(cpu="2").on("free").uid(None)
    client = await aiohttp_client(app_over(state))
    told = await (await client.post("/explain", json=manifest)).json()
    assert [each["node"] for each in told["nodes"] if each["fits"]] == ["free"]
