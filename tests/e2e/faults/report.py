"""The report on all runs so far, and the numbers that it is made of."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench.machine import machine

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.e2e.faults.campaign import Result

_README = "../../tests/e2e/faults/README.md"
_COUNTS = ("binds", "contested binds", "preemptions", "victims", "evictions")


def add(result: Result, report: Path) -> None:
    """Add a run to the numbers beside a report, and write the report anew."""
    numbers = report.with_suffix(".json")
    runs: list[dict[str, Any]] = json.loads(numbers.read_text()) if numbers.exists() else []
    runs.append(asdict(result) | {"stuck": result.stuck})
    numbers.write_text(json.dumps(runs, indent=1) + "\n")
    report.write_text(written(runs))


def written(runs: list[dict[str, Any]]) -> str:
    """Return the report on some runs."""
    heads = ("seed", "seconds", "faults", *_COUNTS, "rules broken", "pods stuck", "longest wait, s")
    rows = [_row(each["seed"], each) for each in runs]
    total = {
        "seconds": sum(each["seconds"] for each in runs),
        "counts": _sum(each["counts"] for each in runs),
        "injected": _sum(each["injected"] for each in runs),
        "wrong": [one for each in runs for one in each["wrong"]],
        "stuck": sum(each["stuck"] for each in runs),
        "waited": max(each["waited"] for each in runs),
    }
    hit = _sum(each["hit"] for each in runs)
    faults = [
        (name, count, f"{hit[name]:,}" if name in hit else "")
        for name, count in sorted(total["injected"].items())
    ]
    lines = [
        "# Faults on a real control plane",
        "",
        f"`make faults` on {machine()}, in `replace`. [How it is judged]({_README}).",
        "",
        *_table(heads, [*rows, _row("**all**", total)]),
        "",
        "## What was injected",
        "",
        *_table(("fault", "times", "connections, requests or pieces hit"), faults),
    ]
    wrong = total["wrong"]
    if wrong:
        lines += ["", "## What was wrong", "", *(f"- {rule}: {what}" for rule, what in wrong)]
    return "\n".join(lines) + "\n"


def _row(name: object, run: dict[str, Any]) -> tuple[object, ...]:
    counts = run["counts"]
    return (
        name,
        f"{run['seconds']:,.0f}",
        f"{sum(run['injected'].values()):,}",
        *(f"{counts.get(each, 0):,}" for each in _COUNTS),
        len(run["wrong"]) - run["stuck"],
        run["stuck"],
        f"{run['waited']:.0f}",
    )


def _sum(counts: Iterable[dict[str, int]]) -> Counter[str]:
    total = Counter[str]()
    for each in counts:
        total.update(each)
    return total


def _table(heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |"]
    lines.append("| --- |" + " ---: |" * (len(heads) - 1))
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]
