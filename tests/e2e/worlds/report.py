"""What became of many worlds, as a page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.machine import machine
from tests.e2e.worlds.comparing import Class, Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PARTS = ("evicted", "blocked", "preempted", "waiting")


def tally(worlds: Iterable[Found]) -> Counter[str]:
    """Count what happened in worlds, for a comparison of nothing to be seen."""
    counts: Counter[str] = Counter()
    for each in worlds:
        counts["explained"] += each.explained
        if each.outcome is not None:
            counts["stuck"] += each.outcome.stuck
            for part in PARTS:
                counts[part] += getattr(each.outcome, part).total()
    return counts


def page(worlds: Sequence[Found]) -> str:
    """Return the report; differences without a class are in it with their seeds."""
    counts, seeds = tally(worlds), [each.world.seed for each in worlds]
    unexplained = [each for each in worlds if each.differences]
    kinds = sorted({each.world.change["kind"] for each in worlds})
    reasons = sum((each.reasons for each in worlds), Counter[str]())
    said = (
        f"{len(worlds)} clusters, seeds {min(seeds)} to {max(seeds)}; with a difference that "
        f"nothing explains: {len(unexplained)}.\n\n"
        f"{counts['explained']:,} times `explain` said why a pod waits, and was compared with "
        "what the scheduler's condition counts, reason by reason.\n"
        f"By the changes {counts['evicted']:,} pods were evicted, {counts['blocked']:,} were kept "
        f"by budgets and {counts['preempted']:,} preempted, {counts['stuck']:,} updates got "
        f"stuck, and {counts['waiting']:,} pods waited in the end."
    )
    lines = [
        f"Measured on {machine()}.",
        "",
        said,
        "",
        "| what the simulation and the cluster came to | worlds |",
        "| --- | ---: |",
        *(f"| {each.value} | {sum(w.by is each for w in worlds)} |" for each in Class),
        "",
        f"| change | worlds | {' | '.join(each.name.lower() for each in Class)} |",
        f"| --- |{' ---: |' * (len(Class) + 1)}",
    ]
    for kind in kinds:
        of = [each for each in worlds if each.world.change["kind"] == kind]
        by = (str(sum(each.by is one for each in of)) for one in Class)
        lines.append(f"| {kind} | {len(of)} | {' | '.join(by)} |")
    lines += ["", "| reason of the scheduler | nodes |", "| --- | ---: |"]
    lines += [f"| {reason} | {number:,} |" for reason, number in reasons.most_common()]
    if unexplained:
        lines += ["", "Unexplained:", ""]
        lines += [f"- {w.world.seed}: {each}" for w in unexplained for each in w.differences]
    return "\n".join(lines) + "\n"
