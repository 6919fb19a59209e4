"""/explain over HTTP: the shape of the answer, what is refused, and that others are served."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod as ModelPod
from extender.core.reading import APART_BYTES
from extender.core.web import turns
from extender.core.web.limits import WITHIN, Allowed, Seconds
from extender.core.web.turns import Pieces
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.sitting import BetterPlace, Sitting
from extender.features.explain.answer import Rests
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    node,
    pod,
    selector,
    state_of,
    term,
    workload,
)
from tests.features.explain.showing import app_over
from tests.hostile import hostile
from tests.reading import Reading

DB = selector(app="db")
APART = term(ZONE, DB)
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
]
DB_0 = pod("db-0").labels(app="db").anti_affinity(APART).on("a1")
WAITS = pod("db-1").labels(app="db").anti_affinity(APART)

Client = Any


@pytest.fixture
def start(aiohttp_client: Any) -> Callable[..., Awaitable[Client]]:
    """Serve the operations port over a state."""

    async def serving(
        state: ClusterState | None = None,
        unready: str | None = None,
        pods: PodReader | None = None,
    ) -> Client:
        state = state or state_of(NODES, [], [DB_0, WAITS])
        return await aiohttp_client(app_over(state, unready, pods=pods))

    return serving


REFUSED = {
    "fits": False,
    "verdict": "refused",
    "rulesAgainst": 2,
    "plugin": "InterPodAffinity",
    "reason": "node(s) didn't match pod anti-affinity rules",
    "term": {
        "topologyKey": ZONE,
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]},
        "namespaces": ["default"],
    },
    "domain": {"key": ZONE, "value": "a"},
    "blockers": ["default/db-0"],
    "blockerCount": 1,
    "score": None,
}


async def test_a_pod_of_the_cluster(start: Any) -> None:
    client = await start()
    response = await client.get("/explain?namespace=default&pod=db-1")
    assert response.status == 200
    told = await response.json()
    assert (told["pod"], told["verdict"], told["unknown"]) == ("default/db-1", "fits", [])
    assert told["summary"] == (
        "2 of 3 nodes: your anti-affinity on zone, blocked by default/db-0 in zone a; 1 fit"
    )
    a1, a2, b1 = told["nodes"]
    assert a1 == {"node": "a1"} | REFUSED
    assert a2 == {"node": "a2"} | REFUSED
    assert (b1["node"], b1["fits"], b1["blockers"], b1["score"]) == ("b1", True, [], 0)
    assert (told["nodeCount"], told["fitting"], told["notes"]) == (3, 1, [])
    assert [each["text"] for each in told["nearMisses"]] == [
        "2 nodes in zone a if default/db-0 were gone"
    ]


ALONE = pod("db-2").labels(app="db").anti_affinity(term(HOST, DB)).priority(10)


@pytest.mark.parametrize(
    ("asked", "node_name"),
    [
        pytest.param(ALONE, "a1", id="a pod that others are evicted for"),
        pytest.param(ALONE.never_preempts(), None, id="preemptionPolicy Never"),
    ],
)
@pytest.mark.parametrize("kind", ["known", "Pod", "Deployment"])
async def test_who_would_be_preempted(
    asked: Pod, node_name: str | None, kind: str, start: Any
) -> None:
    known = [asked] if kind == "known" else []
    client = await start(state_of(NODES[:1], [], [DB_0, *known]))
    if known:
        response = await client.get("/explain?pod=db-2")
    else:
        manifest = asked if kind == "Pod" else workload(kind, "db", asked)
        response = await client.post("/explain", json=manifest)
    (miss,) = (await response.json())["nearMisses"]
    assert miss["wouldBePreemptedOn"] == node_name


ROOM = {"cpu": "1", "pods": "9"}
FULL = pod("low").requests(cpu="1").on("a1")


@pytest.mark.parametrize(
    ("asked", "taints", "first"),
    [
        pytest.param(
            pod("new").requests(cpu="1").priority(10),
            [],
            "See in its events whether the scheduler makes room",
            id="less important pods have the room",
        ),
        pytest.param(
            pod("new").requests(cpu="1"), [], "Add a node", id="equally important pods have it"
        ),
        pytest.param(
            pod("new").requests(cpu="1").priority(10).never_preempts(),
            [],
            "Add a node",
            id="it evicts none",
        ),
        pytest.param(
            pod("new").requests(cpu="2").priority(10),
            [],
            "Ask for less",
            id="the node is too small",
        ),
        pytest.param(
            pod("new").requests(cpu="1").priority(10),
            [{"key": "dedicated", "effect": "NoSchedule"}],
            "Add a node",
            id="a taint keeps it away as well",
        ),
    ],
)
async def test_a_pod_that_may_preempt_is_not_told_to_add_nodes_first(
    asked: Pod, taints: list[Any], first: str, start: Any
) -> None:
    nodes = [node("a1", {HOST: "a1"}, ROOM, taints=taints)]
    client = await start(state_of(nodes, [], [FULL]))
    told = await (await client.post("/explain", json=asked)).json()
    assert told["whatToDo"][0].startswith(first)


@pytest.mark.parametrize("namespace", ["", "&namespace=", "&namespace=default"])
async def test_one_node_only(namespace: str, start: Any) -> None:
    client = await start()
    told = await (await client.get(f"/explain?pod=db-1&node=b1{namespace}")).json()
    assert [each["node"] for each in told["nodes"]] == ["b1"]
    assert told["summary"] == "1 of 1 node fit"


async def test_a_manifest_of_a_workload(start: Any) -> None:
    client = await start()
    manifest = workload("Deployment", "db", WAITS, replicas=3)
    told = await (await client.post("/explain", json=manifest)).json()
    assert told["pod"] == "default/deployment/db"
    assert told["fitting"] == 1


NAMED = ["b1", "a1", "gone", "b1"]


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param({"NodeNames": NAMED}, id="by names"),
        pytest.param({"Nodes": None, "NodeNames": NAMED}, id="as Go writes it"),
        pytest.param({"Nodes": {"items": [*map(node, NAMED)]}, "NodeNames": None}, id="whole ones"),
    ],
)
async def test_a_pod_and_the_nodes_of_a_request(nodes: dict[str, Any], start: Any) -> None:
    client = await start()
    asked = {"Pod": WAITS, **nodes}
    told = await (await client.post("/explain", json=asked)).json()
    fits = {each["node"]: each["fits"] for each in told["nodes"]}
    assert fits == {"b1": True, "a1": False, "gone": False}
    assert told["nodes"][2]["reason"] == "node(s) unknown to the extender"


async def test_a_manifest_of_a_pod_that_runs_is_not_its_own_neighbour(start: Any) -> None:
    client = await start()
    told = await (await client.post("/explain", json=DB_0.uid(None))).json()
    assert told["fitting"] == 3


SPREAD = pod("web-0").labels(app="web").owned_by("ReplicaSet/web")
SPREAD = SPREAD.avoids(7, term(ZONE, selector(app="web"))).on("a1")


def sits(state: ClusterState, pod: ModelPod, takers: Sequence[str]) -> Sitting | None:
    """Say that a node suits one pod better."""
    assert takers
    here = {each.key for each in state.pods_on("a1")}
    return Sitting(BetterPlace("b1", 7, 7), None) if pod.key in here else None


@pytest.mark.parametrize("known", [True, False])
async def test_whether_a_placed_pod_sits_as_well_as_it_can(
    known: bool,
    aiohttp_client: Any,
) -> None:
    """Where the pods of the cluster are known well enough."""
    beside = pod("web-1").labels(app="web").on("a2")
    state = state_of(NODES, [], [SPREAD, beside])
    app = app_over(state, sits=sits if known else None)
    client = await aiohttp_client(app)
    told = await (await client.get("/explain?pod=web-0")).json()
    better = {"node": "b1", "gain": 7, "totalGain": 7, "stays": None}
    assert told.get("improvement") == (better if known else None)
    kinds = [each["kind"] for each in told["notes"]]
    assert kinds == ["placed", *(["sitsWorse"] if known else [])]
    page = await (await client.get("/page/explain?pod=web-0")).text()
    assert ("node b1 would suit it better, by 7" in page) is known
    indifferent = await (await client.get("/explain?pod=web-1")).json()
    assert "improvement" not in indifferent


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        pytest.param("/explain", 400, "say which pod", id="no pod"),
        pytest.param("/explain?pod=x&zone=a", 400, "no parameter 'zone'", id="what is that?"),
        pytest.param("/explain?pod=nobody", 404, "no pod default/nobody", id="an unknown pod"),
    ],
)
async def test_what_is_not_answered(path: str, status: int, said: str, start: Any) -> None:
    response = await (await start()).get(path)
    assert (response.status, said in await response.text()) == (status, True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b"{", "not valid JSON", id="no JSON"),
        pytest.param(b"[]", "Expected `object`", id="no object"),
        pytest.param(b'{"kind":"Service"}', "'Service' is not one of", id="no such kind"),
        pytest.param(b'{"Pod":{"metadata":{}}}', "metadata.name", id="a pod without a name"),
        pytest.param(b'{"kind":"Pod","metadata":{"name":7}}', "metadata.name", id="a broken pod"),
    ],
)
async def test_a_body_that_is_broken(body: bytes, said: str, start: Any) -> None:
    response = await (await start()).post("/explain", data=body)
    assert (response.status, said in await response.text()) == (400, True)


async def test_a_body_that_is_too_large(start: Any) -> None:
    response = await (await start()).post("/explain", data=io.BytesIO(b" " * (2 << 20)))
    assert response.status == 413


async def test_nothing_is_explained_before_the_cluster_is_known(start: Any) -> None:
    client = await start(unready="pods not synced yet")
    for response in (
        await client.get("/explain?pod=db-1"),
        await client.get("/explain?pod=not-listed-yet"),
        await client.post("/explain", json=WAITS),
    ):
        assert (response.status, await response.text()) == (503, "pods not synced yet\n")


async def test_it_takes_too_long(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "WITHIN", Seconds(answer=0.0))
    response = await (await start()).get("/explain?pod=db-1")
    assert (response.status, "took more than 0 s" in await response.text()) == (503, True)
    monkeypatch.undo()
    assert (await (await start()).get("/explain?pod=db-1")).status == 200


async def test_more_than_can_wait_are_sent_away(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MOST", Allowed(waiting=0))
    client = await start()
    assert (await client.get("/explain?pod=db-1")).status == 429
    monkeypatch.undo()
    assert (await client.get("/explain?pod=db-1")).status == 200


async def test_others_are_served_between_two_slices() -> None:
    served = 0

    def steps() -> Any:
        for _ in range(20):
            until = perf_counter() + 2 * WITHIN.slice
            while perf_counter() < until:
                pass
            yield
        return "done"

    async def others() -> None:
        nonlocal served
        while True:
            served += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    assert await turns.in_slices(steps()) == "done"
    beside.cancel()
    assert served >= 20


async def test_what_long_work_makes_is_not_walked() -> None:
    walks = 0

    def note(phase: str, _: object) -> None:
        nonlocal walks
        walks += phase == "stop"

    def steps() -> Any:
        made: list[object] = []
        for _ in range(50):
            made.append([[] for _ in range(200)])
            until = perf_counter() + WITHIN.slice
            while perf_counter() < until:
                pass
            yield
        return len(made)

    gc.callbacks.append(note)
    try:
        assert await turns.in_slices(steps()) == 50
    finally:
        gc.callbacks.remove(note)
        gc.unfreeze()
    assert not walks


async def test_how_long_an_answer_is_is_said_before_its_pieces(start: Any) -> None:
    client = await start()
    for response in (await client.get("/explain?pod=db-1"), await client.head("/explain?pod=db-1")):
        body = await response.read()
        assert (response.status, response.content_type) == (200, "application/json")
        assert int(response.headers["Content-Length"]) > 100
        assert len(body) in {0, int(response.headers["Content-Length"])}
        assert "Transfer-Encoding" not in response.headers
    assert Pieces([b"[1,", b"2]"], "application/json").decode() == "[1,2]"


async def test_one_is_made_at_a_time_and_then_none_for_nine_times_as_long() -> None:
    now, slept = 0.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    def work() -> float:
        nonlocal now
        now += 0.5
        return now

    rests = Rests(clock=lambda: now, sleep=sleep)
    done = list(await asyncio.gather(rests.run(work), rests.run(work)))
    assert (done, slept) == ([0.5, 5.5], [0.0, 4.5])
    now += 100.0
    assert (await rests.run(work), slept[-1]) == (106.0, 0.0)


async def test_one_that_fails_rests_as_well() -> None:
    now, slept = 0.0, list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    def broken() -> None:
        nonlocal now
        now += 1.0
        raise ZeroDivisionError

    rests = Rests(clock=lambda: now, sleep=sleep)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await rests.run(broken)
    assert slept == [0.0, 9.0]


def _web(number: int) -> Pod:
    apart = term(HOST, selector(app="web"))
    return pod(f"web-{number}").labels(app="web").anti_affinity(apart)


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(hostile(60), id="pod"),
        pytest.param({"Pod": hostile(60), "NodeNames": ["a1"]}, id="as filter asks"),
        pytest.param(workload("Deployment", "web", hostile(60)), id="template"),
    ],
)
async def test_a_large_manifest_is_read_in_a_thread_and_a_usual_one_at_once(
    start: Any, manifest: dict[str, object]
) -> None:
    reading = Reading()
    client = await start(pods=reading)
    body = json.dumps(manifest).encode().ljust(APART_BYTES + 1)
    assert (await client.post("/explain", data=body)).status == 200
    assert reading.threads == []
    (apart,) = reading.apart
    assert apart != threading.get_ident()
    assert (await client.post("/explain", json=WAITS)).status == 200
    assert reading.threads == [threading.get_ident()]
