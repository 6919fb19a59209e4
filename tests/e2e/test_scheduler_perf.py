"""Upstream's own benchmark, with 500 nodes: it runs beside the extender, and places by the rules.

How fast that is says `make bench-upstream`, on a machine that does nothing else. To build it takes
minutes, so `make e2e-all` runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench.scheduler_perf.building import program, upstream
from bench.scheduler_perf.cases import MEDIUM, workloads
from bench.scheduler_perf.running import Benchmark, run
from bench.scheduler_perf.sides import ASSIST, REPLACE
from tests.e2e.controlplane.binaries import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries

CASES = (
    "MixedSchedulingBasePod",
    "SchedulingBasic",
    "SchedulingNodeAffinity",
    "SchedulingPodAffinity",
    "SchedulingPodAntiAffinity",
    "SchedulingPodMatchingAntiAffinity",
    "SchedulingPreferredPodAffinity",
    "SchedulingPreferredPodAntiAffinity",
    "SchedulingPreferredAffinityWithNSSelector",
    "SchedulingPreferredAntiAffinityWithNSSelector",
    "SchedulingRequiredPodAffinityWithNSSelector",
    "SchedulingRequiredPodAntiAffinityWithNSSelector",
)
pytestmark = pytest.mark.long
GATED = "SchedulingGatedPodsWithPodAffinityImpactForThroughput"
"""Its gated pods wait for good, so it is left to the benchmark itself."""


@pytest.fixture(scope="module")
def benchmark(built: Any, binaries: Binaries) -> Benchmark:
    """Return the benchmark, built on the first run."""
    sources: Path = built(lambda report: upstream(cache_folder(), report))
    return Benchmark(built(program), sources, binaries.folder)


@pytest.mark.parametrize("side", [ASSIST, REPLACE])
@pytest.mark.parametrize("case", CASES)
def test_upstreams_benchmark_runs_with_the_extender(
    case: str, side: str, benchmark: Benchmark, tmp_path: Path
) -> None:
    (workload,) = (w for w in workloads(benchmark.upstream, MEDIUM) if w.case == case)

    outcome = run(benchmark, workload, side, tmp_path / "run")

    assert outcome.broken == []
    assert outcome.waiting == 0
    assert outcome.placed > 0


def test_no_workload_of_upstreams_is_forgotten(benchmark: Benchmark) -> None:
    found = {each.case for each in workloads(benchmark.upstream, MEDIUM)}
    assert found == {*CASES, GATED}
