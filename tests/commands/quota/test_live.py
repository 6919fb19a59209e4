"""The command quota on a live cluster, found as kubectl finds it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from affinityctl import cli
from tests.builders import crossing, pod, quota, selector, term
from tests.kube.live import pointing_to
from tests.kube.rig import Rig

FAR = term("zone", selector(app="none"), namespaceSelector={})
CLUSTER = [
    pod("placed").anti_affinity(FAR).on("n"),
    pod("waits").anti_affinity(FAR),
    quota("q", {"pods": 1}, crossing()),
]


@pytest.mark.parametrize("source", ["--kubeconfig", "KUBECONFIG", "home"])
async def test_a_live_cluster_tells_what_a_dump_of_it_does(
    source: str,
    rig: Rig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": CLUSTER}))
    assert cli.main(["quota", "--cluster", str(dump)]) == 0
    told = capsys.readouterr().out
    assert "default/waits" in told
    for each in CLUSTER:
        rig.api.collection(f"/api/v1/{each['kind'].lower()}s").put(each)
    kubeconfig = tmp_path / ".kube" / "config"
    kubeconfig.parent.mkdir()
    kubeconfig.write_text(yaml.safe_dump(pointing_to(str(rig.api.url))))
    arguments = ["quota"]
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if source == "home":
        monkeypatch.setenv("HOME", str(tmp_path))
    elif source == "KUBECONFIG":
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    else:
        arguments += ["--kubeconfig", str(kubeconfig)]
    assert await asyncio.to_thread(cli.main, arguments) == 0
    assert capsys.readouterr() == (told, "")
