"""What became of gangs, by release and by who decides: bench/results/pod-groups.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Final

from bench.tables import table
from tests.deploy.places import ROOT

RAW: Final = ROOT / "bench/results/pod-groups.json"
PAGE: Final = RAW.with_suffix(".md")

Found = dict[str, dict[str, list[tuple[float | None, float]]]]
"""By scenario and column: seconds until all was settled, and for how long gangs were in part at
most, of each run; None of the first: that no pod was bound, as is right."""

_HEAD = (
    "# Pod groups\n\n"
    "Seconds until the last pod was bound: median of {n} runs (range), on a shared machine with two"
    " cores. Beside it, for how long\nthe one gang was bound in part that was so for longest: its "
    "Bindings are requests of their own, in-tree as well. No rule was\nbroken in any run. "
    '`pytest tests/e2e/groups -m "" --record --repeats {n}` writes this page, with `--kubernetes`\n'
    "that of another scheduler.\n\n"
)


def merge(found: Found) -> None:
    """Write the columns that were measured, and keep the others."""
    known: Found = json.loads(RAW.read_text()) if RAW.exists() else {}
    for scenario, measured in found.items():
        known.setdefault(scenario, {}).update(measured)
    RAW.write_text(json.dumps(known, indent=1) + "\n")
    columns = sorted({column for each in known.values() for column in each})
    rows = [[name, *(_cell(each, column) for column in columns)] for name, each in known.items()]
    n = min(len(runs) for each in known.values() for runs in each.values())
    PAGE.write_text(_HEAD.format(n=n) + table(["", *columns], rows) + "\n")


def _cell(measured: Mapping[str, list[tuple[float | None, float]]], column: str) -> str:
    runs = measured.get(column)
    if not runs:
        return ""
    seconds = [each for each, _ in runs if each is not None]
    if not seconds:
        return "waits as a whole"
    longest = max(each for _, each in runs)
    low, high = min(seconds), max(seconds)
    return f"{median(seconds):.1f} ({low:.1f}-{high:.1f}), {longest:.2f} in part"
