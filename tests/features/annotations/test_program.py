"""Rules in annotations, in each mode: who enforces them, and what becomes of broken ones."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

from extender.core import config
from extender.core.config import layers
from extender.runtime import Running, running
from tests.annotating import DURING, PREFERRED, REQUIRED, annotated
from tests.beside import AFFINITY_ANNOTATION as AFFINITY
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    model_pod,
    node,
    node_term,
    pod,
    requirement,
    selector,
    term,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

NAMES = ["a", "b", "c"]
NODES = [node(name, {HOST: name, ZONE: zone}) for name, zone in zip(NAMES, "xxy", strict=True)]
NEW = pod("new").labels(app="web")
WEB = pod("web").labels(app="web").on("a")
DB = pod("db").labels(app="db").on("c")
AWAY = term(HOST, selector(app="web"))
ERROR = f"metadata.annotations[{AFFINITY}]: not valid JSON"
QUOTAS = ["InterPodAffinity", "CrossNamespacePodAffinity"]
MINE = "node(s) didn't match pod anti-affinity rules"
THEIRS = "node(s) didn't satisfy existing pods anti-affinity rules"
NEAR = "node(s) didn't match pod affinity rules"
LABELS = "node(s) didn't match Pod's node affinity/selector"


@asynccontextmanager
async def serving(
    directory: Path, mode: str, *pods: Mapping[str, Any], plugins: tuple[str, ...] = ()
) -> AsyncIterator[tuple[Running, ClientSession]]:
    """Run a program over the nodes and some pods."""
    cluster = directory / "cluster.json"
    cluster.write_text(json.dumps({"kind": "List", "items": [*NODES, *pods]}))
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "mode": mode,
        "plugins": list(plugins) or QUOTAS[:1],
        "annotations": {"namespaceSelector": {}},
        "clusterFiles": [str(cluster)],
        "serving": {"port": 0, "opsPort": 0},
    }
    loaded = layers.load(Namespace(config="config.yaml"), lambda _: json.dumps(document))
    async with running(loaded) as program, ClientSession() as session:
        yield program, session


async def post(url: str, session: ClientSession, body: Mapping[str, Any]) -> Any:
    async with session.post(url, json=body) as response:
        assert response.status == 200
        return await response.json()


def asking(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {"Pod": raw, "Nodes": None, "NodeNames": NAMES}


def anti(strength: str = REQUIRED) -> dict[str, Any]:
    return {"podAntiAffinity": {strength: [AWAY]}}


def on_zone(zone: str, strength: str = REQUIRED) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [node_term(requirement(ZONE, "In", zone))]}
    return {"nodeAffinity": {strength: terms}}


ASSIST_AND_REPLACE = ("assist", "replace")


@pytest.mark.parametrize(
    ("modes", "incoming", "placed", "expected"),
    [
        pytest.param(
            ASSIST_AND_REPLACE, annotated(NEW, anti()), [WEB], {"a": MINE}, id="own anti-affinity"
        ),
        pytest.param(
            ASSIST_AND_REPLACE, annotated(NEW, anti(DURING)), [WEB], {"a": MINE},
            id="own anti-affinity, during execution as well",
        ),
        pytest.param(
            ASSIST_AND_REPLACE, NEW, [annotated(WEB, anti())], {"a": THEIRS},
            id="anti-affinity of a placed pod",
        ),
        pytest.param(
            ASSIST_AND_REPLACE,
            annotated(NEW, {"podAffinity": {DURING: [term(ZONE, selector(app="db"))]}}),
            [WEB, DB], {"a": NEAR, "b": NEAR}, id="affinity",
        ),
        pytest.param(
            ASSIST_AND_REPLACE, annotated(NEW, on_zone("y")), [], {"a": LABELS, "b": LABELS},
            id="node affinity, with the scheduler's plugin on",
        ),
        pytest.param(
            ASSIST_AND_REPLACE, annotated(NEW, on_zone("x", DURING)), [WEB], {"c": LABELS},
            id="node affinity during execution",
        ),
        pytest.param(
            ("assist",), annotated(NEW.anti_affinity(AWAY), on_zone("y")), [WEB],
            {"a": LABELS, "b": LABELS}, id="rules of the spec are the scheduler's in assist",
        ),
        pytest.param(
            ("assist",), NEW.anti_affinity(AWAY), [WEB.anti_affinity(AWAY)], {},
            id="without annotations nothing is refused in assist",
        ),
        pytest.param(
            ("shadow",), annotated(NEW, anti()), [WEB], {}, id="shadow refuses nothing"
        ),
        pytest.param(
            ("replace",), NEW, [WEB, annotated(DB, "{")], {}, id="broken rules of a placed pod"
        ),
        pytest.param(
            ("replace",), NEW, [annotated(WEB.anti_affinity(AWAY), "{")], {"a": THEIRS},
            id="beside broken rules those of the spec count",
        ),
    ],
)  # fmt: skip
async def test_what_filter_refuses(
    tmp_path: Path,
    modes: tuple[str, ...],
    incoming: Pod,
    placed: list[Pod],
    expected: dict[str, str],
) -> None:
    for mode in modes:
        async with serving(tmp_path, mode, *placed, incoming) as (program, session):
            answer = await post(f"{program.callbacks_url}/filter", session, asking(incoming))
        assert answer["Error"] == ""
        assert answer["FailedAndUnresolvableNodes"] == expected, mode
        assert answer["NodeNames"] == [name for name in NAMES if name not in expected]


@pytest.mark.parametrize("mode", ["assist", "replace"])
async def test_preferences_of_annotations_are_scored(tmp_path: Path, mode: str) -> None:
    near_db = {"weight": 9, "podAffinityTerm": term(HOST, selector(app="db"))}
    nodes = {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": node_term(In="a")}]}}
    by_node, by_pod = (
        annotated(NEW, nodes),
        annotated(pod("other"), {"podAffinity": {PREFERRED: [near_db]}}),
    )
    theirs = annotated(DB, {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": AWAY}]}})
    async with serving(tmp_path, mode, theirs) as (program, session):
        url = f"{program.callbacks_url}/prioritize"
        assert await post(url, session, asking(by_pod)) == [{"Host": "c", "Score": 20}]
        # What two plugins say is added: each of the nodes is the best by one of them.
        assert await post(url, session, asking(by_node)) == [
            {"Host": "a", "Score": 20},
            {"Host": "c", "Score": 20},
        ]


@pytest.mark.parametrize(
    ("mode", "plugins", "verb", "expected", "attempts"),
    [
        pytest.param("replace", QUOTAS[:1], "filter", ERROR, 1, id="replace: filter"),
        pytest.param("replace", QUOTAS[:1], "prioritize", [], 0, id="replace: prioritize"),
        pytest.param("replace", QUOTAS[:1], "preempt", {}, 0, id="replace: preempt"),
        pytest.param("replace", QUOTAS[:1], "bind", ERROR, 0, id="replace: bind"),
        pytest.param("assist", QUOTAS[:1], "prioritize", [], 1, id="assist: prioritize"),
        pytest.param("assist", QUOTAS[:1], "filter", ERROR, 1, id="assist: filter"),
        pytest.param("assist", QUOTAS[:1], "preempt", {}, 0, id="assist: preempt"),
        pytest.param("assist", QUOTAS, "filter", ERROR, 1, id="assist with quotas: filter"),
        pytest.param("shadow", QUOTAS[:1], "filter", "", 1, id="shadow: filter changes nothing"),
        pytest.param("shadow", QUOTAS[:1], "prioritize", [], 0, id="shadow: prioritize"),
    ],
)
async def test_no_pod_with_broken_rules_is_placed(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    mode: str,
    plugins: list[str],
    verb: str,
    expected: Any,
    attempts: int,
) -> None:
    broken = NEW.annotated(AFFINITY, "{").prefers(1, AWAY)
    async with serving(tmp_path, mode, WEB, broken, plugins=tuple(plugins)) as (program, session):
        answer = await post(f"{program.callbacks_url}/{verb}", session, body(verb, broken))
        async with session.get(f"{program.ops_url}/metrics") as response:
            text = await response.text()
        async with session.get(f"{program.ops_url}/domains") as response:
            found = (await response.json())["brokenAnnotations"]
    match verb:
        case "prioritize":
            assert answer == expected
        case "preempt":
            assert answer["NodeNameToMetaVictims"] == expected
        case _:
            assert answer["Error"].startswith(expected)
            assert bool(answer["Error"]) is bool(expected)
    name = "affinity_extender_schedule_attempts_total"
    assert counted(text, name) == ({"error": attempts} if attempts else {})
    assert "affinity_extender_broken_annotations 1.0" in text
    assert found["pods"] == 1
    assert found["examples"][0]["pod"] == "default/new"
    (line,) = [line for line in caplog.messages if "too many: default/new" in line]
    assert ERROR in line


def body(verb: str, broken: Pod) -> dict[str, Any]:
    """Ask about a pod."""
    match verb:
        case "bind":
            found = broken["metadata"]
            return {
                "PodName": found["name"],
                "PodNamespace": found["namespace"],
                "PodUID": found["uid"],
                "Node": "a",
            }
        case "preempt":
            victims = {"a": {"Pods": [{"UID": WEB["metadata"]["uid"]}], "NumPDBViolations": 0}}
            return {"Pod": broken, "NodeNameToMetaVictims": victims}
        case _:
            return asking(broken)


def counted(text: str, name: str) -> dict[str, float]:
    """Return the samples of a counter that are not 0, by result."""
    return {
        sample.labels["result"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and sample.value
    }


async def test_rules_that_nobody_enforces_are_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path, "assist", WEB) as (program, session):
        url = program.callbacks_url
        await post(f"{url}/prioritize", session, asking(annotated(NEW, anti())))
        assert [line for line in caplog.messages if "add filterVerb" in line]
        caplog.clear()
        await post(f"{url}/filter", session, asking(annotated(NEW, anti())))
        await post(f"{url}/prioritize", session, asking(annotated(NEW, anti())))
        assert not [line for line in caplog.messages if "add filterVerb" in line]
        async with session.get(f"{program.ops_url}/metrics") as response:
            attempts = counted(await response.text(), "affinity_extender_schedule_attempts_total")
        assert attempts == {"feasible": 2}


async def test_a_bind_is_refused_where_an_annotation_forbids_it(tmp_path: Path) -> None:
    waiting = annotated(NEW, anti(DURING))
    async with serving(tmp_path, "replace", WEB, waiting) as (program, session):
        found = await post(f"{program.callbacks_url}/bind", session, body("bind", NEW))
    assert MINE in found["Error"]


async def test_in_assist_a_pod_waits_until_the_watch_shows_one_that_is_in_its_way(
    tmp_path: Path,
) -> None:
    one, two = (annotated(pod(name).labels(app="web"), anti()) for name in ("one", "two"))
    async with serving(tmp_path, "assist") as (program, session):
        url = f"{program.callbacks_url}/filter"
        first = await post(url, session, asking(one))
        assert first["NodeNames"] == NAMES

        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(post(url, session, asking(two)))
            # Whoever has nothing to do with it is answered meanwhile.
            for _ in range(20):
                other = await post(url, session, asking(pod("other")))
                assert other["NodeNames"] == NAMES
            assert not asked.done()
            program.state.upsert_pod(model_pod(Pod(one).on("b")))
        assert asked.result()["NodeNames"] == ["a", "c"]
