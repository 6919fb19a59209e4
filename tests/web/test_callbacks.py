"""What the scheduler gets over HTTP, whatever it sends and whatever breaks."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.logs import TRACE
from extender.core.metrics import Metrics
from extender.core.verbs.filtering import concerned
from extender.core.web.app import callbacks_app
from tests import strategies
from tests.answering import Answering
from tests.builders import HOST, model_node, model_pod, node, pod, state_of
from tests.serving import APART, LARGEST_BODY, NEW, NODES, OLD, TOGETHER, Start, ask, question
from tests.verbs.judging import AFFINITY

UNREAD = Metrics()


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param(TRACE, {"1 nodes fit default/new", "filter: answered 200 in"}, id="at 5"),
        pytest.param(logging.DEBUG, set(), id="below"),
    ],
)
async def test_decisions_and_requests_are_logged_at_their_level(
    start: Start, caplog: pytest.LogCaptureFixture, level: int, expected: set[str]
) -> None:
    caplog.set_level(level, "extender")
    client = await start()
    await ask(client, "/filter", question(APART, "a", "b"))
    lines = [record.getMessage() for record in caplog.records if record.levelno == TRACE]
    assert {" ".join(line.split(";")[0].split()[:4]) for line in lines} == expected


@pytest.mark.parametrize(
    ("unready", "body", "says"),
    [
        pytest.param(
            "pods not synced yet", question(NEW, "a"), "pods not synced yet", id="not synced"
        ),
        pytest.param(
            None,
            question({"metadata": {"name": "x", "labels": {"100%": 5}}}, "a"),
            "metadata.labels",
            id="a broken pod",
        ),
        pytest.param(None, {"Pod": APART, "NodeNames": "a"}, "NodeNames", id="broken names"),
        pytest.param(None, {"Pod": NEW}, "neither NodeNames nor Nodes", id="no nodes at all"),
    ],
)
async def test_a_fault_is_an_answer(
    start: Start, registry: CollectorRegistry, unready: str | None, body: Any, says: str
) -> None:
    client = await start(unready=unready)
    error = (await ask(client, "/filter", body))["Error"]
    assert says in error
    assert "%" not in error
    assert "\n" not in error
    # The pod needs a rule, or nothing would be looked up for it and nothing could go wrong.
    scored = {**body, "Pod": {**TOGETHER, **body["Pod"]} if says == "metadata.labels" else TOGETHER}
    assert await ask(client, "/prioritize", scored) == []
    for point in ("Filter", "Score"):
        labels = {"plugin": "InterPodAffinity", "extension_point": point, "status": "Error"}
        name = "affinity_extender_plugin_execution_duration_seconds_count"
        assert registry.get_sample_value(name, labels) == 1


async def test_a_defect_is_an_answer_too(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    class Defective(ClusterState):
        def prefilter_state(self, pod_class: Any) -> Any:
            del pod_class
            raise ZeroDivisionError("100% broken")

    state = Defective()
    state.upsert_node(model_node(NODES[0]))
    client = await start(state)
    assert (await ask(client, "/filter", question(NEW, "a")))["Error"] == "100 percent broken"
    assert await ask(client, "/prioritize", question(NEW, "a")) == []
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("POST", "/filter", b"{", 400, id="not JSON"),
        pytest.param("POST", "/prioritize", b"[]", 400, id="not an object"),
        pytest.param("POST", "/filter", b" " * (LARGEST_BODY + 1), 413, id="too large"),
        pytest.param("GET", "/filter", b"", 405, id="not a POST"),
        pytest.param("POST", "/nowhere", b"{}", 404, id="no such verb"),
    ],
)
async def test_what_is_no_callback_is_a_client_error(
    start: Start, method: str, path: str, body: bytes, status: int
) -> None:
    response = await (await start()).request(method, path, data=body)
    assert response.status == status


async def test_every_call_is_observed(start: Start, registry: CollectorRegistry) -> None:
    client = await start()
    await ask(client, "/filter", question(APART, "a", "b"))
    await ask(client, "/filter", question(APART, "a"))
    await client.post("/filter", data=b"{")
    seen = registry.get_sample_value
    count = "affinity_extender_request_duration_seconds_count"
    assert seen(count, {"verb": "filter", "code": "200"}) == 2
    assert seen(count, {"verb": "filter", "code": "400"}) == 1
    attempts = "affinity_extender_schedule_attempts_total"
    assert seen(attempts, {"result": "feasible"}) == 1
    assert seen(attempts, {"result": "unschedulable"}) == 1
    filtered = "affinity_extender_nodes_filtered_total"
    assert seen(filtered, {"reason": "node(s) didn't match pod anti-affinity rules"}) == 2


@pytest.mark.parametrize(
    ("enforce", "verbs", "unready", "result", "attempts"),
    [
        pytest.param(True, ("filter", "prioritize"), None, "feasible", 1, id="both are asked"),
        pytest.param(False, ("prioritize",), None, "feasible", 1, id="scores alone are asked for"),
        pytest.param(
            False, ("filter", "prioritize"), None, "feasible", 1, id="filter refuses nothing here"
        ),
        pytest.param(False, ("prioritize",), "down", "error", 1, id="there are no scores"),
        pytest.param(True, ("filter",), "down", "error", 1, id="there is no verdict"),
    ],
)
async def test_an_attempt_counts_once_whichever_verbs_the_scheduler_calls(
    start: Start,
    registry: CollectorRegistry,
    *,
    enforce: bool,
    verbs: tuple[str, ...],
    unready: str | None,
    result: str,
    attempts: int,
) -> None:
    client = await start(enforce=enforce, unready=unready)
    for verb in verbs:
        await ask(client, f"/{verb}", question(TOGETHER, "a", "b"))
    counted = {
        sample.labels["result"]: sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "affinity_extender_schedule_attempts_total" and sample.value
    }
    assert counted == {result: attempts}


@pytest.mark.thorough
@given(data=st.data())
def test_names_given_twice_change_nothing(data: st.DataObject) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    # About a pod that has its node nothing is judged: the names go back as they came.
    incoming = data.draw(strategies.incoming_pods(cluster, placed=False), label="pod")
    once = data.draw(strategies.asked_names(cluster), label="names")
    again = data.draw(st.lists(st.sampled_from(once)) if once else st.just([]), label="again")
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)
    repeated = list(once)
    for name in again:
        # After its first mention, which is where its place in the order is.
        place = data.draw(st.integers(repeated.index(name) + 1, len(repeated)), label="place")
        repeated.insert(place, name)
    expected = answered(state, "filter", incoming, once)
    if not concerned(state, model_pod(incoming), AFFINITY):
        # About a pod that no rule is about, neither.
        expected["NodeNames"] = repeated
    assert answered(state, "filter", incoming, repeated) == expected
    expected = answered(state, "prioritize", incoming, once)
    assert answered(state, "prioritize", incoming, repeated) == expected


def answered(state: ClusterState, verb: str, incoming: Any, names: list[str]) -> Any:
    """Answer without a server; nothing is in flight that would have to be waited for."""
    answers = Answering(state, UNREAD, resolvable=True, defer=lambda work: work())
    body = json.dumps(question(incoming, *names)).encode()

    async def at_once() -> bytes:
        # Its turn of the event loop is free: nothing is awaited.
        with pytest.raises(StopIteration) as done:
            getattr(answers, verb)(body).send(None)
        answer: bytes = done.value.value
        return answer

    return json.loads(asyncio.run(at_once()))


@pytest.mark.parametrize(
    ("names", "fits", "refused"),
    [
        pytest.param(["a", "a", "b"], ["b"], {"a"}, id="one that is refused"),
        pytest.param(["b", "b"], ["b"], set(), id="one that fits"),
        pytest.param(["c", "c", "b"], ["b"], {"c"}, id="one that nobody knows"),
        pytest.param(["b", "a", "b", "a"], ["b"], {"a"}, id="all of them"),
    ],
)
async def test_a_node_that_is_named_twice_is_answered_once(
    start: Start, names: list[str], fits: list[str], refused: set[str]
) -> None:
    # One more host repels the pod, and nobody asks about that one.
    others = [node("x", {HOST: "x"}), *NODES]
    state = state_of(others, [], [OLD, pod("far").labels(app="web").on("x")])
    client = await start(state)
    answer = await ask(client, "/filter", question(APART, *names))
    assert answer["NodeNames"] == fits
    assert {*answer["FailedAndUnresolvableNodes"]} == refused
    scores = await ask(client, "/prioritize", question(TOGETHER, *names, "a"))
    hosts = [score["Host"] for score in scores]
    assert hosts == ["a"]


async def test_a_connection_is_kept_for_the_next_call(start: Start) -> None:
    client = await start()
    for _ in range(3):
        await ask(client, "/filter", question(APART, "a"))
    connector = client.session.connector
    assert connector is not None
    assert sum(map(len, connector._conns.values())) == 1


class Slow:
    """A callback that answers when it may."""

    def __init__(self) -> None:
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    async def answer(self, body: bytes) -> bytes:
        """Answer with what was asked."""
        self.asked.set()
        await self.go_on.wait()
        return body

    def fault(self, error: Exception, seconds: float) -> bytes:
        """Fail the test."""
        raise AssertionError(error, seconds)


async def test_calls_in_flight_show(aiohttp_client: Any, registry: CollectorRegistry) -> None:
    slow = Slow()
    client = await aiohttp_client(callbacks_app({"filter": slow}, Metrics(registry), 1000))

    def in_flight() -> float | None:
        return registry.get_sample_value("affinity_extender_requests_in_flight", {"verb": "filter"})

    assert in_flight() == 0
    call = asyncio.create_task(client.post("/filter", data=b"{}"))
    async with asyncio.timeout(10):
        await slow.asked.wait()
        assert in_flight() == 1
        slow.go_on.set()
        await (await call).read()
    assert in_flight() == 0
