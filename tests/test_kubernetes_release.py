"""Whatever names the Kubernetes release of the end-to-end tests names the same one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.controlplane.binaries import KUBERNETES, NEXT, Binaries
from tests.e2e.controlplane.toolchain import GO_BIN, go_for

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
        pytest.param("tests/e2e/matrix.md", " | {} |", id="matrix"),
    ],
)
def test_a_file_names_the_release_of_the_tests(file: str, named: str) -> None:
    assert named.format(KUBERNETES) in (ROOT / file).read_text(encoding="utf-8")


def test_the_recordings_are_of_the_release_of_the_tests() -> None:
    """Otherwise: make recordings."""
    files = (ROOT / "tests" / "simulation" / "recordings").glob("*.json")
    assert {json.loads(each.read_bytes())["kubernetes"] for each in files} == {KUBERNETES}


@pytest.mark.parametrize(
    ("release", "is_usual"), [("1.33.13", True), (KUBERNETES, True), (NEXT, False)]
)
def test_each_release_is_built_with_a_go_that_it_asks_for(release: str, *, is_usual: bool) -> None:
    assert (go_for(release) == GO_BIN) is is_usual


def test_what_was_not_built_of_a_release_is_taken_from_another(tmp_path: Path) -> None:
    own, rest = tmp_path / NEXT, tmp_path / KUBERNETES
    for folder, command in ((own, "kube-scheduler"), (rest, "kube-scheduler"), (rest, "etcd")):
        folder.mkdir(exist_ok=True)
        (folder / command).touch()
    found = Binaries(own, NEXT, rest)
    assert found["kube-scheduler"] == str(own / "kube-scheduler")
    assert found["etcd"] == str(rest / "etcd")
