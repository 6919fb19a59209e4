"""The command dump: what the other commands read, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from affinityctl import cli
from affinityctl.commands.dump.fields import READ_AS, Pruner
from affinityctl.reading.whole_pods import WholePodReader
from extender.core.offline import READS
from tests.beside import AFFINITY_ANNOTATION
from tests.builders import (
    HOST,
    ZONE,
    model_pod,
    namespace,
    node,
    pod,
    quota,
    selector,
    term,
    workload,
)
from tests.conformance.stored import cases
from tests.conformance.verdicts import FIELDS, verdicts

MARK = "of-nobody-s-concern"


def with_secrets(made: Any) -> Any:
    """Fill in what objects of a cluster have and nobody here reads."""
    raw = json.loads(json.dumps(made))
    raw["metadata"].setdefault("annotations", {})["last-applied"] = MARK
    raw["metadata"]["managedFields"] = [{"manager": MARK}]
    if raw["kind"] == "Pod":
        fill(raw["spec"])
        raw["status"] = raw.get("status", {}) | {"conditions": [{"type": "Ready", "message": MARK}]}
    elif "template" in raw.get("spec", {}):
        fill(raw["spec"]["template"]["spec"])
    return raw


def fill(spec: Any) -> None:
    for container in spec.setdefault("containers", [{"name": "c"}]):
        container["env"] = [{"name": "PASSWORD", "value": MARK}]
        container["command"] = container["args"] = [MARK]
    spec["volumes"] = [{"name": "v", "secret": {"secretName": MARK}}]


APART = pod("t", "shop").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
OBJECTS = [
    node("n1", {HOST: "n1", ZONE: "a"}, {"cpu": "4", "memory": "8Gi", "pods": "9"}),
    node("n2", {HOST: "n2", ZONE: "b"}, {"cpu": "1", "memory": "8Gi", "pods": "9"}),
    namespace("shop", {"team": "a"}),
    workload("Deployment", "web", APART, replicas=3),
    workload("CronJob", "nightly", pod("t", "shop").affinity(term("rack", selector()))),
    quota("q", {"pods": 1}),
    pod("web-1", "shop").labels(app="web").owned_by("Deployment/web").on("n1"),
    pod("db", "shop").labels(app="db").annotated(AFFINITY_ANNOTATION, "{}"),
    pod("picky", "shop").selects(disk="ssd"),
]


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "raw.json"
    made.write_text(json.dumps({"kind": "List", "items": list(map(with_secrets, OBJECTS))}))
    return made


ANSWERED = [
    *(f"explain {name} -n shop" for name in ("db", "picky", "web-1", "deployment/web")),
    "simulate",
    "simulate --drain n1",
    "simulate --lose zone=a",
    "simulate --restart deployment/web -n shop",
    "lint",
    "advise",
    "quota",
    "violations",
]


@pytest.mark.parametrize("command", ANSWERED)
def test_commands_answer_as_on_the_raw_objects(
    command: str, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["dump", "--cluster", str(raw)]) == 0
    said = capsys.readouterr().out
    size = Path("dump.json").stat().st_size
    assert said.startswith(f"dump.json: {size:,} bytes with 2 Node, 1 Namespace, ")
    answers = []
    for file in ("raw.json", "dump.json"):
        code = cli.main([*command.split(), "-o", "json", "--cluster", file])
        told = capsys.readouterr()
        where = re.compile(rf'{file}|"line": \d+')
        answers.append((code, where.sub("", told.out), where.sub("", told.err)))
    assert answers[0] == answers[1]
    assert answers[0][1]


def test_what_is_not_read_is_not_in_it(raw: Path) -> None:
    assert MARK in raw.read_text()
    assert cli.main(["dump", "--cluster", str(raw)]) == 0
    dumped = Path("dump.json")
    assert MARK not in dumped.read_text()
    assert dumped.stat().st_mode & 0o777 == 0o600
    assert len(json.loads(dumped.read_text())["items"]) == len(OBJECTS)


def test_every_kind_that_is_read_can_be_dumped() -> None:
    rights = {kind for kind in READS if "Role" in kind}
    assert READ_AS.keys() == READS.keys() - rights


@settings(max_examples=20)
@given(case=cases())
def test_verdicts_on_a_dump_are_those_on_the_raw_objects(case: dict[str, Any]) -> None:
    dumped = {**case, "judged": _dumped("pods", case["judged"])}
    for part in ("cluster", "volumes"):
        dumped[part] = {field: _dumped(field, each) for field, each in case[part].items()}
    assert verdicts(dumped) == verdicts(case)


def _dumped(field: str, things: list[Any]) -> Any:
    pruner = Pruner(FIELDS[field])
    return [json.loads(pruner.prune(json.dumps(each).encode())) for each in things]


def test_templates_in_a_cron_job_are_taken_apart_as_well() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"env": [MARK]}]}}
    spec = {"jobTemplate": {"spec": {"parallelism": 2, "template": template}}, "suspend": False}
    pruned = json.loads(Pruner("CronJob").prune(json.dumps({"spec": spec}).encode()))
    job = {"parallelism": 2, "template": template | {"spec": {"containers": [{}]}}}
    assert pruned["spec"] == {"jobTemplate": {"spec": job}, "suspend": False}


TEMPLATE = {
    "metadata": {"annotations": {"a": MARK}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
SOURCES = [
    {"csi": {"driver": "d", "volumeAttributes": {"password": MARK}}},
    {"flexVolume": {"driver": "d", "options": {"password": MARK}}},
    {"gitRepo": {"repository": f"https://user:{MARK}@example.com/r"}},
    {"rbd": {"monitors": ["m"], "image": "i", "user": MARK, "keyring": MARK}},
    {"iscsi": {"iqn": "q", "initiatorName": MARK, "readOnly": True}},
    {"gcePersistentDisk": {"pdName": "disk", "fsType": MARK}},
    {"persistentVolumeClaim": {"claimName": "data"}},
    {"ephemeral": {"volumeClaimTemplate": TEMPLATE}},
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: next(iter(source)))
def test_of_a_volume_what_refuses_nodes_is_kept(source: dict[str, Any]) -> None:
    volumes = [{"name": "v", **source}]
    raw = json.dumps({"metadata": {"name": "p"}, "spec": {"volumes": volumes}}).encode()
    pruned = Pruner("Pod").prune(raw)
    assert MARK not in pruned.decode()
    assert WholePodReader().read(pruned) == WholePodReader().read(raw)


@pytest.mark.parametrize("condition", ["Ready", "PodResizePending"])
def test_what_a_kubelet_has_set_is_kept_where_it_counts(condition: str) -> None:
    told = {"name": "c", "allocatedResources": {"cpu": "3"}, "image": MARK}
    raw = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {
            "conditions": [{"type": condition, "reason": "Deferred", "message": MARK}],
            "containerStatuses": [told],
        },
    }
    pruned = Pruner("Pod").prune(json.dumps(raw).encode())
    assert MARK not in pruned.decode()
    assert (b"allocatedResources" in pruned) is (condition != "Ready")
    assert model_pod(json.loads(pruned)).spec.requests == model_pod(raw).spec.requests


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param("--cluster others.json", 2, "nothing that a command reads", id="others"),
        pytest.param("--cluster raw.json -o no/such/d.json", 3, "No such file", id="nowhere"),
        pytest.param("--cluster raw.json -o .", 2, "is no file", id="a folder"),
    ],
)
def test_what_cannot_be_dumped(
    arguments: str, code: int, said: str, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (raw.parent / "others.json").write_text('{"kind":"Widget","metadata":{"name":"w"}}')
    assert cli.main(["dump", *arguments.split()]) == code
    assert said in capsys.readouterr().err
    assert not [*raw.parent.glob("*dump*"), *raw.parent.glob(".*")]
