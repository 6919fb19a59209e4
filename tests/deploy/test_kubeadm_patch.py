"""kubeadm's kube-scheduler manifest after our patch."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.kustomize import render
from tests.deploy.places import KUBEADM, SCHEDULER_CONFIG, read_yaml

WRITTEN_BY_KUBEADM = Path(__file__).with_name("kubeadm-scheduler.yaml")


@pytest.fixture
def patched(tmp_path: Path) -> dict[str, Any]:
    """Apply the patch to what kubeadm writes, with Kustomize in kubeadm's place."""
    shutil.copy(WRITTEN_BY_KUBEADM, tmp_path / "pod.yaml")
    shutil.copy(KUBEADM / "patches/kube-scheduler+json.yaml", tmp_path / "patch.yaml")
    kustomization = {
        "resources": ["pod.yaml"],
        "patches": [{"path": "patch.yaml", "target": {"kind": "Pod"}}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    (pod,) = render(tmp_path)
    return pod


def test_the_scheduler_finds_its_file_and_keeps_its_flags(patched: dict[str, Any]) -> None:
    before = read_yaml(WRITTEN_BY_KUBEADM)
    (container,) = patched["spec"]["containers"]
    (old,) = before["spec"]["containers"]
    config = "--config=/etc/kubernetes/kube-scheduler/config.yaml"
    assert container["command"] == [*old["command"], config]
    (mount,) = (one for one in container["volumeMounts"] if one not in old["volumeMounts"])
    assert config.split("=")[1].startswith(f"{mount['mountPath']}/")
    assert mount["name"] in [volume["name"] for volume in patched["spec"]["volumes"]]


@pytest.mark.parametrize("mode", ["assist", "replace"])
def test_the_kubeconfig_in_the_file_is_mounted(mode: str, patched: dict[str, Any]) -> None:
    named_there = read_yaml(SCHEDULER_CONFIG / f"{mode}.yaml")["clientConnection"]["kubeconfig"]
    (container,) = patched["spec"]["containers"]
    assert named_there in [mount["mountPath"] for mount in container["volumeMounts"]]
