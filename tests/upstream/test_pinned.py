"""The Go module of bench/ is pinned to the release that everything else is measured on."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.controlplane.binaries import KUBERNETES

GO_MOD = Path(__file__).parents[2] / "bench" / "scheduler_perf" / "go.mod"


def test_the_benchmark_is_pinned_to_the_release_of_the_other_tests() -> None:
    """Otherwise: python -m bench.scheduler_perf --pin."""
    assert f"k8s.io/kubernetes v{KUBERNETES}\n" in GO_MOD.read_text()
