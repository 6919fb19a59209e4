"""Mode `assist` without quotas and rules in annotations: filter and preempt have nothing to do."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from extender.core.callbacks.passing import Passing
from extender.core.config import API_VERSION, KIND, Config, Mode
from extender.core.errors import RequestError
from extender.core.metrics import Metrics
from extender.core.model.verdict import INTER_POD_AFFINITY, NODE_AFFINITY
from extender.core.web.app import LAST_CALLS, callbacks_app
from extender.core.wire.extender_results import write_filter_error
from extender.core.wire.preempting import write_preemption_result
from tests.annotating import annotated
from tests.builders import pod, state_of
from tests.serving import APART, NODES, OLD
from tests.wired import wired

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extender.core.web.app import Callback


def assisting(metrics: Metrics | None = None, **fields: Any) -> Mapping[str, Callback]:
    """Return the callbacks of mode `assist`, before the cluster is known."""
    config = Config(api_version=API_VERSION, kind=KIND, mode=Mode.ASSIST, **fields)
    state = state_of(NODES, [], [OLD])
    return wired(config, state, metrics, unsynced=lambda: "nothing is known yet")


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        pytest.param({}, (Passing, Passing), id="neither"),
        pytest.param(
            {"plugins": (NODE_AFFINITY, INTER_POD_AFFINITY)},
            (Passing, Passing),
            id="what the scheduler has itself",
        ),
    ],
)
def test_who_answers(fields: Any, kinds: tuple[type, type]) -> None:
    callbacks = assisting(**fields)
    assert tuple(type(callbacks[verb]) for verb in ("filter", "preempt")) == kinds


async def test_what_all_calls_pass_is_on_record_once_it_is_called(aiohttp_client: Any) -> None:
    app = callbacks_app(assisting(), Metrics(), 1_000)
    client = await aiohttp_client(app)
    assert app[LAST_CALLS].at == {"prioritize": None}
    await client.post("/filter", json={"Pod": APART, "NodeNames": []})
    assert app[LAST_CALLS].at.keys() == {"prioritize", "filter"}


@pytest.mark.parametrize(
    ("body", "names", "nodes"),
    [
        pytest.param({"NodeNames": ["b", "a"]}, ["b", "a"], None, id="names"),
        pytest.param({"nodenames": ["b", "a"], "NODES": None}, ["b", "a"], None, id="any case"),
        pytest.param({"NodeNames": []}, [], None, id="no name"),
        pytest.param({"NodeNames": ['"%\\', "é", "stranger"]}, ['"%\\', "é", "stranger"], None),
        pytest.param({"Nodes": {"items": NODES}}, None, {"items": NODES}, id="whole nodes"),
    ],
)
@pytest.mark.parametrize("waiting", [APART, annotated(pod("broken"), "broken"), "no pod"])
async def test_filter_passes_every_node(body: Any, names: Any, nodes: Any, waiting: Any) -> None:
    answer = await assisting()["filter"].answer(json.dumps({"Pod": waiting, **body}).encode())
    assert json.loads(answer) == {
        "Nodes": nodes,
        "NodeNames": names,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


@pytest.mark.parametrize("version", ["1.37", "1.38"])
async def test_preempt_passes_every_candidate_that_the_scheduler_takes(version: str) -> None:
    candidates = {
        "a": {"Pods": [{"UID": "default-old"}, {"UID": "unknown"}], "NumPDBViolations": 1},
        "b": {"Pods": [], "NumPDBViolations": 0},
    }
    body = json.dumps({"Pod": APART, "NodeNameToMetaVictims": candidates}).encode()
    callbacks = assisting(scheduler_version=version)
    answer = json.loads(await callbacks["preempt"].answer(body))["NodeNameToMetaVictims"]
    assert answer["a"] == candidates["a"]
    assert answer.get("b") == (candidates["b"] if version == "1.38" else None)


@pytest.mark.parametrize("verb", ["filter", "preempt"])
async def test_broken_bodies(verb: str) -> None:
    callback = assisting()[verb]
    for body in (b"", b"[]", b'{"NodeNames": ["a"]}'):
        with pytest.raises(RequestError):
            await callback.answer(body)
    faults = {
        "filter": write_filter_error("it broke"),
        "preempt": write_preemption_result({}),
    }
    assert callback.fault(RuntimeError("it broke"), 0.0) == faults[verb]


async def test_victims_that_cannot_be_read_are_no_candidates() -> None:
    body = json.dumps({"Pod": APART, "NodeNameToMetaVictims": {"a": {"Pods": 3}}}).encode()
    assert await assisting()["preempt"].answer(body) == write_preemption_result({})


async def test_it_is_said_once_that_the_verbs_are_not_needed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    callback = assisting()["filter"]
    for _ in range(2):
        await callback.answer(json.dumps({"Pod": APART, "NodeNames": ["a"]}).encode())
    assert len(caplog.messages) == 1
    assert "remove filterVerb and preemptVerb" in caplog.text


async def test_attempts_are_counted_where_scores_are_asked_for() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    config = Config(api_version=API_VERSION, kind=KIND, mode=Mode.ASSIST)
    callbacks = wired(config, state_of(NODES, [], [OLD]), metrics)
    body = json.dumps({"Pod": APART, "NodeNames": ["a", "b"]}).encode()
    for verb in ("filter", "prioritize"):
        await callbacks[verb].answer(body)
        await asyncio.sleep(0)
    name = "affinity_extender_schedule_attempts_total"
    assert registry.get_sample_value(name, {"result": "feasible"}) == 1
