"""The reports on runs of replicas that were made with `--record`."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.machine import machine
from bench.tables import table
from tests.deploy.places import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    import pytest

_HEAD = ("row", "runs", "passed", "binds", "longest wait, s")


@dataclass(frozen=True, slots=True)
class Report:
    """What is beside the table, and the target of make that adds to it."""

    target: str
    title: str
    says: str


@asynccontextmanager
async def recorded(request: pytest.FixtureRequest, report: Report) -> AsyncIterator[list[float]]:
    """Add a run to the report, passed or not; give the list for how long each pod waited."""
    waits: list[float] = []
    if not request.config.getoption("--record"):
        yield waits
        return
    row, other = request.node.callspec.id, request.config.getoption("--older")
    row = f"{row}, {other}" if other else row
    try:
        yield waits
    except Exception:
        _add(report, row, waits, passed=False)
        raise
    _add(report, row, waits, passed=True)


def _add(report: Report, row: str, waits: Collection[float], *, passed: bool) -> None:
    written = ROOT / "bench" / "results" / f"{report.target}.md"
    numbers = written.with_suffix(".json")
    rows = json.loads(numbers.read_text()) if numbers.exists() else {}
    runs, good, binds, longest = rows.get(row, (0, 0, 0, 0.0))
    rows[row] = (runs + 1, good + passed, binds + len(waits), max(longest, *waits, 0.0))
    numbers.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    told = [(name, *(f"{each:,.0f}" for each in rows[name])) for name in sorted(rows)]
    written.write_text(
        f"# {report.title}\n\n"
        f"`make {report.target}` on {machine()}. {report.says} A wait is from the creation of a "
        "pod to its bind.\n\n"
        f"{table(_HEAD, told)}\n"
    )
