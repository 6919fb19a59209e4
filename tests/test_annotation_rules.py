"""Rules in an annotation, until they are read: an error where we decide, counted elsewhere."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families

from extender import config
from extender.model.objects import Pod as ModelPod
from extender.runtime import running
from tests.builders import HOST, Pod, model_pod, node, pod, selector, term

AFFINITY = "affinity-extender.io/affinity"
POLICY = "affinity-extender.io/affinity-policy"
NAMES = ["a", "b"]
NEW = pod("new").prefers(1, term(HOST, selector(app="web")))
WEB = pod("web").labels(app="web").on("a")
ERROR = (
    f"metadata.annotations[{AFFINITY}]: rules in this annotation are not supported yet, "
    "and the pod is not placed without them"
)
QUOTAS = ["InterPodAffinity", "CrossNamespacePodAffinity"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(NEW, None, id="no annotations"),
        pytest.param(NEW.annotated("example.com/other", AFFINITY), None, id="another one"),
        pytest.param(NEW.annotated(AFFINITY, "{}"), AFFINITY, id="rules"),
        pytest.param(NEW.annotated(AFFINITY, ""), AFFINITY, id="nothing in it"),
        pytest.param(NEW.annotated(POLICY, "Replace"), POLICY, id="what to do with its own rules"),
        pytest.param(
            NEW.annotated(POLICY, "Replace").annotated(AFFINITY, "{}"), AFFINITY, id="both"
        ),
    ],
)
def test_which_annotation_is_seen(raw: Pod, expected: str | None) -> None:
    found: ModelPod = model_pod(raw)
    assert found.annotation == expected


@pytest.mark.parametrize(
    ("mode", "plugins", "verb", "expected", "attempts"),
    [
        pytest.param("replace", QUOTAS[:1], "filter", ERROR, 1, id="replace: filter"),
        pytest.param("replace", QUOTAS[:1], "prioritize", [], 0, id="replace: prioritize"),
        pytest.param("replace", QUOTAS[:1], "preempt", {}, 0, id="replace: preempt"),
        pytest.param("replace", QUOTAS[:1], "bind", ERROR, 0, id="replace: bind"),
        pytest.param("assist", QUOTAS[:1], "prioritize", [], 1, id="assist: prioritize"),
        pytest.param("assist", QUOTAS[:1], "filter", "", 0, id="assist: filter, asked in vain"),
        pytest.param("assist", QUOTAS, "filter", ERROR, 1, id="assist with quotas: filter"),
        pytest.param("shadow", QUOTAS[:1], "filter", "", 1, id="shadow: filter changes nothing"),
        pytest.param("shadow", QUOTAS[:1], "prioritize", [], 0, id="shadow: prioritize"),
    ],
)
async def test_no_pod_is_judged_without_its_rules(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    mode: str,
    plugins: list[str],
    verb: str,
    expected: Any,
    attempts: int,
) -> None:
    annotated = NEW.annotated(AFFINITY, "{}")
    cluster = tmp_path / "cluster.json"
    things = [*(node(name, {HOST: name}) for name in NAMES), WEB, annotated]
    cluster.write_text(json.dumps({"kind": "List", "items": things}))
    async with running(configured(cluster, mode, plugins)) as program, ClientSession() as session:
        async with session.post(f"{program.callbacks_url}/{verb}", json=body(verb)) as response:
            assert response.status == 200
            answer = await response.json()
        async with session.get(f"{program.ops_url}/metrics") as response:
            text = await response.text()
    match verb:
        case "filter":
            assert answer["Error"] == expected
            assert answer["NodeNames"] == (None if expected else NAMES)
        case "prioritize":
            assert answer == expected
        case "preempt":
            assert answer["NodeNameToMetaVictims"] == expected
        case _:
            assert answer["Error"] == expected
    name = "affinity_extender_schedule_attempts_total"
    assert counted(text, name) == ({"error": attempts} if attempts else {})
    (line,) = [line for line in caplog.messages if "1 pods carry" in line]
    assert line.endswith(f"default/new has {AFFINITY}")
    assert [line for line in caplog.messages if f"annotations[{AFFINITY}]" in line]


def configured(cluster: Path, mode: str, plugins: list[str]) -> config.Config:
    """Configure a program over a file."""
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "mode": mode,
        "plugins": plugins,
        "clusterFiles": [str(cluster)],
        "serving": {"port": 0, "opsPort": 0},
    }
    return config.load(Namespace(config="config.yaml"), {}, lambda _: json.dumps(document))


def body(verb: str) -> dict[str, Any]:
    """Ask about the annotated pod."""
    annotated = NEW.annotated(AFFINITY, "{}")
    match verb:
        case "bind":
            found = annotated["metadata"]
            return {
                "PodName": found["name"],
                "PodNamespace": found["namespace"],
                "PodUID": found["uid"],
                "Node": "a",
            }
        case "preempt":
            victims = {"a": {"Pods": [{"UID": WEB["metadata"]["uid"]}], "NumPDBViolations": 0}}
            return {"Pod": annotated, "NodeNameToMetaVictims": victims}
        case _:
            return {"Pod": annotated, "Nodes": None, "NodeNames": NAMES}


def counted(text: str, name: str) -> dict[str, float]:
    """Return the samples of a counter that are not 0, by result."""
    return {
        sample.labels["result"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and sample.value
    }
