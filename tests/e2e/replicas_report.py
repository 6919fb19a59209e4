"""The report on the runs of test_replicas.py that were made with `--record`."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bench.machine import machine
from bench.tables import table
from tests.deploy.places import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    import pytest

_REPORT = ROOT / "bench" / "results" / "replicas.md"
_HEAD = ("row", "runs", "passed", "binds", "longest wait, s")


@asynccontextmanager
async def recorded(request: pytest.FixtureRequest) -> AsyncIterator[list[float]]:
    """Add a run to the report, passed or not; give the list for how long each pod waited."""
    waits: list[float] = []
    if not request.config.getoption("--record"):
        yield waits
        return
    row: str = request.node.callspec.id
    try:
        yield waits
    except Exception:
        _add(row, waits, passed=False)
        raise
    _add(row, waits, passed=True)


def _add(row: str, waits: Collection[float], *, passed: bool) -> None:
    numbers = _REPORT.with_suffix(".json")
    rows = json.loads(numbers.read_text()) if numbers.exists() else {}
    runs, good, binds, longest = rows.get(row, (0, 0, 0, 0.0))
    rows[row] = (runs + 1, good + passed, binds + len(waits), max(longest, *waits, 0.0))
    numbers.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    told = [(name, *(f"{each:,.0f}" for each in rows[name])) for name in sorted(rows)]
    _REPORT.write_text(
        "# Replicas of which one is killed, frozen, cut off or replaced\n\n"
        f"`make replicas` on {machine()}. A row names the mode, how many replicas there are, and "
        "what happens to the one that evicts. It passes if no rule is broken, no bind is lost, no "
        "pod is evicted twice, and every pod gets its place. A wait is from the creation of a pod "
        "to its bind.\n\n"
        f"{table(_HEAD, told)}\n"
    )
