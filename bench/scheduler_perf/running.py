"""One workload, run with one of the schedulers that are compared."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.machine import machine
from bench.scheduler_perf.cases import Workload, write_case
from bench.scheduler_perf.sides import side
from tests.e2e.checker import Checker
from tests.e2e.controlplane.process import tail
from tests.upstream.grouped import run_group

if TYPE_CHECKING:
    from pathlib import Path

STATISTICS = ("Average", "Perc50", "Perc90", "Perc95", "Perc99")
_THROUGHPUT = "SchedulingThroughput"
_LIMIT_S = 45 * 60


@dataclass(frozen=True, slots=True)
class Outcome:
    workload: str
    threshold: float | None
    side: str
    pods_per_second: dict[str, float]
    """By statistic, over samples of a second; empty where it took less than one."""
    placed: int
    waiting: int
    broken: list[str]
    """Where placements break the rules; a line each."""
    machine: str
    """What it ran on, and with which versions."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    program: Path
    upstream: Path
    etcd: Path
    """The folder that etcd is in."""


def run(benchmark: Benchmark, workload: Workload, name: str, folder: Path) -> Outcome:
    """Run a workload in a folder of its own, and judge the placements afterwards."""
    folder.mkdir(parents=True)
    cluster = folder / "cluster.json"
    _run(benchmark, workload, name, folder, cluster)
    (report,) = folder.glob("BenchmarkPerfScheduling*.json")
    items = json.loads(report.read_text())["dataItems"] or ()
    found = json.loads(cluster.read_text())
    pods = found["pods"]
    placed = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
    return Outcome(
        str(workload),
        workload.threshold,
        name,
        _throughput(items),
        placed,
        len(pods) - placed,
        Checker(pods, found["nodes"], found["namespaces"]).broken_rules(),
        machine(),
    )


def _run(benchmark: Benchmark, workload: Workload, name: str, folder: Path, cluster: Path) -> None:
    chosen = side(name, folder)
    case = folder / "case.yaml"
    write_case(benchmark.upstream, workload, chosen, case)
    environment = os.environ | chosen.environment
    environment |= {
        "PATH": f"{benchmark.etcd}{os.pathsep}{os.environ['PATH']}",
        "PERF_CONFIG": str(case),
        "PERF_TOPIC": workload.topic,
        "PERF_CLUSTER": str(cluster),
        "ETCD_LOGLEVEL": "warn",
        # The API server looks for a file beside its sources, whose paths are trimmed.
        "TEST_SRCDIR": str(benchmark.upstream.parents[4]),
        "TEST_WORKSPACE": ".",
    }
    pattern = "/".join(
        f"^{re.escape(each)}$" for each in ("BenchmarkPerfScheduling", workload.case, workload.name)
    )
    log = folder / "benchmark.log"
    command = [
        str(benchmark.program), "-test.run=^$", f"-test.bench={pattern}", "-test.benchtime=1ns",
        f"-test.timeout={_LIMIT_S}s", "-perf-scheduling-label-filter=", f"-data-items-dir={folder}",
    ]  # fmt: skip
    # Its templates are named from there.
    if run_group(command, log, folder=benchmark.upstream / workload.topic, environment=environment):
        raise RuntimeError(f"{workload}, {name} failed; see {log}\n{tail(log)}")


def _throughput(items: Any) -> dict[str, float]:
    found: list[dict[str, float]] = [
        item["data"] for item in items if item["labels"].get("Metric") == _THROUGHPUT
    ]
    return {each: found[0][each] for each in STATISTICS} if found else {}
