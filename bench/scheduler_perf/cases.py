"""Upstream's test cases: which of them run, and at which size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

    from bench.scheduler_perf.sides import Side

LARGEST, MEDIUM, SMALLEST = "largest", "500", "smallest"
SIZES = (LARGEST, MEDIUM, SMALLEST)
_BASIC = "SchedulingBasic"
_ONLY = {"affinity": None, "misc": (_BASIC,)}
"""By folder, the test cases that run; None: all of them."""
_LARGE_ENOUGH = {_BASIC: "5000Nodes_10000Pods"}
"""Where the largest has 50,000 pods without a rule: they say no more, and take an hour."""
_FILE = "performance-config.yaml"


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload of one test case."""

    topic: str
    """The folder of upstream's that it is in."""
    case: str
    name: str
    threshold: float | None
    """Pods per second that upstream asks for, on its own machine of 6 cores."""

    def __str__(self) -> str:
        return f"{self.case}/{self.name}"


def workloads(upstream: Path, size: str) -> list[Workload]:
    found = []
    for topic, only in _ONLY.items():
        for case in _cases(upstream, topic):
            if only is None or case["name"] in only:
                chosen = _sized(case, size)
                named = chosen["name"], chosen.get("threshold")
                found.append(Workload(topic, case["name"], *named))
    return found


def write_case(upstream: Path, workload: Workload, side: Side, path: Path) -> None:
    """Write a test case as upstream has it, with the scheduler that it is run with.

    Its threshold goes: it holds for another machine, and the benchmark would fail.
    """
    (case,) = (each for each in _cases(upstream, workload.topic) if each["name"] == workload.case)
    case["workloads"] = [each for each in case["workloads"] if each["name"] == workload.name]
    for each in case["workloads"]:
        each.pop("threshold", None)
    case["featureGates"] = case.get("featureGates", {}) | side.gates
    if side.scheduler_config:
        case["schedulerConfigPath"] = str(side.scheduler_config)
    path.write_text(yaml.safe_dump([case], sort_keys=False))


def _cases(upstream: Path, topic: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((upstream / topic / _FILE).read_text())
    return found


def _sized(case: dict[str, Any], size: str) -> dict[str, Any]:
    workloads: list[dict[str, Any]] = case["workloads"]
    if size == LARGEST:
        enough = [each for each in workloads if each["name"] == _LARGE_ENOUGH.get(case["name"])]
        return (enough or [each for each in workloads if "performance" in each.get("labels", ())])[
            -1
        ]
    of_size = [each for each in workloads if each["name"].startswith("500Nodes")]
    return of_size[0] if size == MEDIUM and of_size else workloads[0]
