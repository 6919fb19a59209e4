"""What `bench.hostile` measured, as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from bench.hostile_pods import CLASSES, NODES, NOMINATED
from bench.tables import table

TARGET_MS = 100.0

Found = Mapping[str, Mapping[str, float]]
"""The longest turn in milliseconds, by what the hostile pod contains and by activity."""


class Run(TypedDict):
    revision: str
    """Of the program, as Git names it."""
    pods: list[str]
    """Whose numbers are reported."""


Runs = Sequence[Run]


def merged(before: Runs, after: Run) -> list[Run]:
    """Return the runs after one more: what it measured again is no part of the others."""
    kept = [
        Run(revision=run["revision"], pods=[e for e in run["pods"] if e not in after["pods"]])
        for run in before
    ]
    return [run for run in (*kept, after) if run["pods"]]


def report(found: Found, runs: Runs, pods: int) -> str:
    activities = dict.fromkeys(each for spent in found.values() for each in spent)
    lines = [
        (each, *(f"{spent[each]:.0f}" if each in spent else "" for spent in found.values()))
        for each in activities
    ]
    above = [
        f"{each} of {name}"
        for name, spent in found.items()
        for each, longest in spent.items()
        if longest > TARGET_MS
    ]
    parts = [
        (
            f"{pods:,} pods of {CLASSES:,} classes on {NODES:,} nodes, {NOMINATED} nominated "
            "pods; longest turn of the event loop in ms of processor time, "
            f"target ≤ {TARGET_MS:g}: "
            f"{'**not met** by ' + '; '.join(above) if above else 'met'}."
        ),
        table(("while", *found), lines),
    ]
    if len(runs) > 1:
        parts.insert(1, _joined(runs))
    return "\n\n".join(parts)


def _joined(runs: Runs) -> str:
    sizes = [len(run["pods"]) for run in runs]
    fewest, most = min(sizes), max(sizes)
    each = f"{most}" if fewest == most else f"{fewest} to {most}"
    lines = [f"Joined from {len(runs)} runs, {each} of these pods in each."]
    revisions = dict.fromkeys(run["revision"] for run in runs)
    for revision in revisions if len(revisions) > 1 else ():
        names = [name for run in runs if run["revision"] == revision for name in run["pods"]]
        lines.append(f"- Measured with {revision}: {'; '.join(names)}.")
    return "\n".join(lines)
