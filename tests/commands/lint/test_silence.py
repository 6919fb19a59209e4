"""Lint has nothing to say about what we ship."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from affinityctl import cli
from extender.core.config import Mode
from tests.commands.lint.asking import found, linted, ours
from tests.deploy.kustomize import render
from tests.deploy.places import (
    EXAMPLES,
    K3S,
    KUBEADM,
    KUBEADM_QUOTA,
    KUBEADM_REPLACE,
    KUBEADM_REPLACE_QUOTA,
    MANIFESTS,
    ROOT,
    SAMPLES,
    SCHEDULER_CONFIG,
    SERVICE,
    SIDECAR_QUOTA,
    SIDECAR_REPLACE_QUOTA,
    SIDECARS,
    read_yaml,
)

CONFIG = MANIFESTS / "base" / "config.yaml"


@pytest.mark.parametrize("mode", [mode.value for mode in Mode])
def test_the_scheduler_s_files_fit_the_configuration(mode: str) -> None:
    own = SIDECARS[mode] / "config.yaml"
    config = ["--config", str(own if own.exists() else CONFIG), "--mode", mode]
    shared = SCHEDULER_CONFIG / f"{mode}.yaml"
    second = SIDECARS[mode] / "scheduler-config.yaml"
    assert cli.main(["lint", str(shared), str(second), *config]) == 0


@pytest.mark.parametrize(
    "folders",
    [[MANIFESTS], [SCHEDULER_CONFIG], [EXAMPLES, MANIFESTS / "components/exclusive"]],
)
def test_whole_folders(folders: list[Path]) -> None:
    assert cli.main(["lint", *map(str, folders)]) == 0


@pytest.mark.parametrize(
    "overlay", [SIDECAR_QUOTA, SERVICE, SIDECAR_REPLACE_QUOTA], ids=lambda each: each.name
)
def test_the_overlays_with_both_files(overlay: Path) -> None:
    scheduler = SIDECARS["replace"] if overlay == SIDECAR_REPLACE_QUOTA else overlay
    assert cli.main(["lint", str(overlay), str(scheduler / "scheduler-config.yaml")]) == 0


@pytest.mark.parametrize(
    "overlay", [*SIDECARS.values(), SIDECAR_QUOTA, SERVICE], ids=lambda each: each.name
)
def test_rendered_overlays_with_their_configurations(overlay: Path, tmp_path: Path) -> None:
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(yaml.safe_dump_all(render(overlay)))
    assert cli.main(["lint", str(rendered)]) == 0


def test_the_scheduler_of_k3s() -> None:
    config = str(MANIFESTS / "base" / "config.yaml")
    assert cli.main(["lint", str(K3S / "scheduler-config.yaml"), "--config", config]) == 0


def test_of_the_sample_cluster_only_what_it_is_there_to_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sample = SAMPLES / "cluster.yaml"
    line = ["lint", "--cluster", str(sample), "--scheduler-version", "1.37", "-o", "json"]
    assert cli.main(line) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert sorted(each["rule"] for each in findings) == [
        "more-replicas-than-domains",
        "rollout-stuck",
    ]


@pytest.mark.parametrize(
    ("overlay", "mode"),
    [
        *((path, mode) for mode, path in SIDECARS.items()),
        (KUBEADM, "assist"),
        (K3S, "assist"),
        (KUBEADM_REPLACE, "replace"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_the_rights_of_each_overlay_are_those_of_its_mode(overlay: Path, mode: str) -> None:
    assert found(linted(*render(overlay), ours(mode), whole=False)) == []


@pytest.mark.parametrize(
    ("sidecar", "on_hosts", "without"),
    [
        pytest.param(SIDECAR_QUOTA, KUBEADM_QUOTA, KUBEADM, id="assist"),
        pytest.param(SIDECAR_REPLACE_QUOTA, KUBEADM_REPLACE_QUOTA, KUBEADM_REPLACE, id="replace"),
    ],
)
def test_the_rights_of_the_overlays_with_quotas(
    sidecar: Path, on_hosts: Path, without: Path
) -> None:
    config = read_yaml(sidecar / "config.yaml")
    assert found(linted(*render(on_hosts), config, whole=False)) == []
    assert found(linted(*render(without), config, whole=False)) == ["right-missing"]


def test_there_is_something_to_be_silent_about() -> None:
    curious = ROOT / "docs" / "examples" / "bar-a-namespace" / "curious.yaml"
    pod = read_yaml(curious)
    del pod["metadata"]["annotations"]
    assert found(linted(pod, whole=False)) == ["selector-empty"]
