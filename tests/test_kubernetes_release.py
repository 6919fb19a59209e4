"""Whatever names the Kubernetes release of the end-to-end tests names the same one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.controlplane.binaries import KUBERNETES

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("file", "named"),
    [
        # python -m bench.scheduler_perf --pin
        pytest.param("bench/scheduler_perf/go.mod", "k8s.io/kubernetes v{}\n", id="benchmark"),
        pytest.param(
            "manifests/overlays/sidecar/kustomization.yaml", "newTag: v{}\n", id="sidecar"
        ),
        pytest.param("docs/compatibility.md", "tested with Kubernetes {}.", id="compatibility"),
        # make matrix RELEASE=...
        pytest.param("tests/e2e/matrix.md", " | {} |\n", id="matrix"),
    ],
)
def test_a_file_names_the_release_of_the_tests(file: str, named: str) -> None:
    assert named.format(KUBERNETES) in (ROOT / file).read_text(encoding="utf-8")


def test_the_recordings_are_of_the_release_of_the_tests() -> None:
    """Otherwise: make recordings."""
    files = (ROOT / "tests" / "simulation" / "recordings").glob("*.json")
    assert {json.loads(each.read_bytes())["kubernetes"] for each in files} == {KUBERNETES}
