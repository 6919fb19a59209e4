"""The command explain on a live cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from affinityctl import cli
from affinityctl.reading.limit_ranges import LIMIT_RANGES
from affinityctl.reading.limit_ranges import WITHOUT as WITHOUT_RANGES
from affinityctl.reading.priorities import PRIORITY_CLASSES, WITHOUT
from affinityctl.scheduler.default_spread.selectors import Selectors, selecting_resources
from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES
from tests.builders import HOST, node, pod, selector, workload
from tests.commands.test_default_spread import OWN, file_of, profile
from tests.kube.fake_api import answering, failure
from tests.kube.live import made_current, pointing_to
from tests.kube.rig import Rig
from tests.volumes import bound, using

SO = {
    "resourcequotas": "quotas are not looked at",
    "persistentvolumes": "less is known of pods with volumes",
}
NOTE = "affinity-extender: note: no right to list {}, so {}\n"


@pytest.mark.parametrize(
    ("forbidden", "code"),
    [
        pytest.param("resourcequotas", 0, id="quotas are not looked at, and that is said"),
        pytest.param("persistentvolumes", 4, id="a pod with volumes may fit, and that is said"),
        pytest.param("nodes", 3, id="without nodes there is no answer"),
    ],
)
async def test_a_right_that_is_lacking(
    forbidden: str, code: int, rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("namespaces", "nodes", "pods", "resourcequotas"):
        rig.api.collection(f"/api/v1/{name}")
    rig.api.collection("/api/v1/nodes").put(node("n"))
    for each in VOLUME_RESOURCES:
        rig.api.collection(each.path)
    raw = pod("p") if code == 0 else using("data", name="p")
    rig.api.collection("/api/v1/pods").put(raw)
    rig.api.collection("/api/v1/persistentvolumeclaims").put({**bound("data", "v")})
    rig.api.collection(f"/api/v1/{forbidden}").lists.append(
        answering(lambda: failure(403, "Forbidden", "no"))
    )
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    arguments = ["explain", "p", "--kubeconfig", str(kubeconfig)]
    assert await asyncio.to_thread(cli.main, arguments) == code
    out, err = capsys.readouterr()
    if so := SO.get(forbidden):
        assert out.startswith("default/p fits" if code == 0 else "default/p may fit")
        assert err == NOTE.format(forbidden, so)
    else:
        assert "403 Forbidden" in err


@pytest.mark.parametrize(
    ("forbidden", "code"),
    [
        pytest.param("", 0, id="what selects pods is listed"),
        pytest.param("services", 4, id="without the right a pod may fit, and that is said"),
    ],
)
async def test_default_constraints(
    forbidden: str, code: int, rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = NOTE.format(forbidden, "less is known of default topology spread") if forbidden else ""
    selecting = [each.path for each in selecting_resources(Selectors())]
    others = [f"/api/v1/{name}" for name in ("namespaces", "nodes", "pods", "resourcequotas")]
    for path in (*others, *selecting, *(each.path for each in VOLUME_RESOURCES)):
        rig.api.collection(path)
    for name in ("a", "b"):
        rig.api.collection("/api/v1/nodes").put(node(name, {HOST: name}))
    web = pod("p").labels(app="web").owned_by("ReplicaSet/web")
    rig.api.collection("/api/v1/pods").put(web)
    rig.api.collection("/api/v1/pods").put(pod("there").labels(app="web").on("a"))
    made = workload("ReplicaSet", "web", web, selector=selector(app="web"))
    made["metadata"]["namespace"] = "default"
    rig.api.collection("/apis/apps/v1/replicasets").put(made)
    if forbidden:
        refused = answering(lambda: failure(403, "Forbidden", "no"))
        rig.api.collection(f"/api/v1/{forbidden}").lists.append(refused)
    kubeconfig, scheduler = tmp_path / "kubeconfig", tmp_path / "scheduler.yaml"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    scheduler.write_text(yaml.safe_dump(file_of(profile(OWN))))
    arguments = ["explain", "p", "--kubeconfig", str(kubeconfig)]
    assert await asyncio.to_thread(cli.main, arguments) == 0
    assert "2 of 2 nodes" in capsys.readouterr().out
    assert not any(rig.api.collection(path).listed for path in selecting)
    arguments += ["--scheduler-config", str(scheduler)]
    assert await asyncio.to_thread(cli.main, arguments) == code
    told = capsys.readouterr()
    assert ("on 1 of 2 nodes" in told.out, told.err) == (not code, note)


@pytest.mark.parametrize("allowed", [True, False], ids=["with the right", "without the right"])
async def test_the_priority_classes_of_a_manifest_are_listed(
    rig: Rig, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, allowed: bool
) -> None:
    for name in ("namespaces", "nodes", "pods", "resourcequotas"):
        rig.api.collection(f"/api/v1/{name}")
    for each in (*VOLUME_RESOURCES, PRIORITY_CLASSES, LIMIT_RANGES):
        rig.api.collection(each.path)
    room = {"cpu": "1", "memory": "1Gi", "pods": "9"}
    rig.api.collection("/api/v1/nodes").put(node("n", {HOST: "n"}, room))
    rig.api.collection("/api/v1/pods").put(pod("lesser").requests(cpu="1").on("n"))
    classes = rig.api.collection(PRIORITY_CLASSES.path)
    classes.put({"metadata": {"name": "high", "uid": "u"}, "value": 9})
    if not allowed:
        classes.lists.append(answering(lambda: failure(403, "Forbidden", "no")))
    kubeconfig, manifest = tmp_path / "kubeconfig", tmp_path / "pod.json"
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    manifest.write_text(json.dumps(pod("p").requests(cpu="1").priority_class("high")))
    arguments = ["explain", "-f", str(manifest), "--kubeconfig", str(kubeconfig)]
    assert await asyncio.to_thread(cli.main, arguments) == 1
    out, err = capsys.readouterr()
    assert ("would evict default/lesser" in out) is allowed
    assert err == ("" if allowed else NOTE.format("priorityclasses", WITHOUT))


@pytest.mark.parametrize("allowed", [True, False], ids=["with the right", "without the right"])
async def test_the_limit_ranges_of_a_manifest_are_listed(
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    allowed: bool,
) -> None:
    room = {"cpu": "1", "memory": "1Gi", "pods": "9"}
    made_current(rig, [node("n", {HOST: "n"}, room)], tmp_path, monkeypatch)
    limits = [{"type": "Container", "defaultRequest": {"cpu": "2"}}]
    metadata = {"name": "l", "namespace": "default", "uid": "u"}
    ranges = rig.api.collection(LIMIT_RANGES.path)
    ranges.put({"metadata": metadata, "spec": {"limits": limits}})
    if not allowed:
        ranges.lists.append(answering(lambda: failure(403, "Forbidden", "no")))
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod("p")))
    code = await asyncio.to_thread(cli.main, ["explain", "-f", str(manifest)])
    assert code == int(allowed)
    note = NOTE.format("limitranges", WITHOUT_RANGES)
    assert capsys.readouterr().err == ("" if allowed else note)
