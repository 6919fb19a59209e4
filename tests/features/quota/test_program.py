"""The quota plugin in each mode: the whole program over a file, asked as the scheduler asks."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from extender.core import config
from extender.core.config import layers
from extender.runtime import Running, running
from tests.builders import HOST, crossing, node, pod, quota, selector, term

TEXT = "namespace quota doesn't allow cross-namespace pod affinity"
FAR = term(HOST, selector(app="none"), namespaceSelector={})

BARRED = pod("new").anti_affinity(FAR)
ELSEWHERE = pod("new", "open").anti_affinity(FAR)
APART = pod("new").anti_affinity(term(HOST, selector(app="web")))
CLUSTER = [
    *(node(name, {HOST: name}) for name in ("a", "b")),
    pod("plain").on("a"),
    pod("web").labels(app="web").on("b"),
    pod("user", "open").anti_affinity(FAR).on("a"),
    quota("barred", {"pods": 0}, crossing()),
]


@asynccontextmanager
async def serving(folder: Path, mode: str, **quota_plugin: Any) -> AsyncIterator[Running]:
    """Run the program with the plugin on."""
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps({"kind": "List", "items": CLUSTER}))
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "mode": mode,
        "plugins": ["InterPodAffinity", "CrossNamespacePodAffinity"],
        "crossNamespacePodAffinity": quota_plugin,
        "clusterFiles": [str(cluster)],
        "serving": {"port": 0, "opsPort": 0},
    }
    loaded = layers.load(Namespace(config="config.yaml"), lambda _: json.dumps(document))
    async with running(loaded) as program:
        yield program


async def post(program: Running, verb: str, body: Any) -> tuple[int, Any]:
    """Make one call; return the status and what was answered in JSON."""
    async with (
        ClientSession() as session,
        session.post(f"{program.callbacks_url}/{verb}", json=body) as response,
    ):
        is_json = response.content_type == "application/json"
        return response.status, await response.json() if is_json else None


async def refused(program: Running, incoming: Any, names: list[str]) -> dict[str, str]:
    """Ask filter; return the nodes that are refused, which are never ones to evict pods from."""
    body = {"Pod": incoming, "Nodes": None, "NodeNames": names}
    _, answer = await post(program, "filter", body)
    assert answer["Error"] == ""
    assert answer["FailedNodes"] == {}
    found: dict[str, str] = answer["FailedAndUnresolvableNodes"]
    assert answer["NodeNames"] == [name for name in names if name not in found]
    return found


async def metrics(program: Running) -> str:
    async with ClientSession() as session, session.get(f"{program.ops_url}/metrics") as response:
        return await response.text()


OWN_RULE = "node(s) didn't match pod anti-affinity rules"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("shadow", {}, id="shadow refuses nothing"),
        pytest.param("assist", {"a": TEXT, "b": TEXT}, id="assist refuses by the quota"),
        pytest.param("replace", {"a": TEXT, "b": TEXT}, id="replace does, too"),
    ],
)
async def test_a_barred_pod(tmp_path: Path, mode: str, expected: dict[str, str]) -> None:
    async with serving(tmp_path, mode) as program:
        assert await refused(program, BARRED, ["b", "a"]) == expected
        assert await refused(program, ELSEWHERE, ["b", "a"]) == {}
        text = await metrics(program)
        refusals = float(bool(expected))
        name = "affinity_extender_quota_refusals_total"
        assert f'{name}{{extension_point="Filter"}} {refusals}' in text
        assert "affinity_extender_quota_pods_in_scope 1.0" in text
        assert "affinity_extender_quota_namespaces_in_scope 1.0" in text
        assert 'affinity_extender_cache_objects{resource="resourcequotas"} 1.0' in text


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("assist", {}, id="assist leaves affinity to the scheduler"),
        pytest.param("replace", {"b": OWN_RULE, "stranger": None}, id="replace has it itself"),
    ],
)
async def test_a_pod_out_of_scope(tmp_path: Path, mode: str, expected: dict[str, Any]) -> None:
    async with serving(tmp_path, mode) as program:
        found = await refused(program, APART, ["a", "b", "stranger"])
        assert found.keys() == expected.keys()
        assert {name: found[name] for name in expected if expected[name]} == {
            name: reason for name, reason in expected.items() if reason
        }


async def test_where_crossing_needs_a_quota(tmp_path: Path) -> None:
    async with serving(tmp_path, "assist", limitedByDefault=True) as program:
        assert await refused(program, ELSEWHERE, ["a"]) == {"a": TEXT}
        assert await refused(program, pod("plain-one", "open"), ["a"]) == {}


@pytest.mark.parametrize(
    ("mode", "status", "nodes"),
    [
        pytest.param("shadow", 404, None, id="shadow is not asked"),
        pytest.param("assist", 200, {}, id="assist spares them"),
        pytest.param("replace", 200, {}, id="replace spares them"),
    ],
)
async def test_nobody_is_evicted_for_a_barred_pod(
    tmp_path: Path, mode: str, status: int, nodes: Any
) -> None:
    victims = {"a": {"Pods": [{"UID": "default-plain"}], "NumPDBViolations": 0}}
    async with serving(tmp_path, mode) as program:
        body = {"Pod": BARRED.priority(9), "NodeNameToMetaVictims": victims}
        found, answer = await post(program, "preempt", body)
        assert found == status
        assert nodes is None or answer["NodeNameToMetaVictims"] == nodes
        if nodes is not None:
            body["Pod"] = ELSEWHERE.priority(9)
            _, answer = await post(program, "preempt", body)
            assert answer["NodeNameToMetaVictims"].keys() == {"a"}


async def test_assist_does_not_bind(tmp_path: Path) -> None:
    async with serving(tmp_path, "assist") as program:
        status, _ = await post(program, "bind", {})
        assert status == 404
