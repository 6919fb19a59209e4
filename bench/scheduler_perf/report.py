"""The report of upstream's benchmark."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from bench.scheduler_perf.running import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.scheduler_perf.running import Outcome

_HEAD = """\
Upstream's own benchmark (`scheduler_perf`), its workloads unchanged, in pods per second. A side's
placements were judged afterwards by the rules of the documentation (*broken*). *Threshold* is what
upstream asks of the average, on a machine with 6 cores. The sides of a workload ran one after the
other; the workloads on several days, and not all on one machine. Compare the lines of one table.
"""


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """Write a table for each workload; the runs of one side stand in the order of the turns."""
    lines = [_HEAD]
    for (workload, machine), runs in groupby(
        outcomes, key=lambda each: (each.workload, each.machine)
    ):
        lines += [f"## {workload}", "", f"On {machine}.", ""]
        lines += [f"| | {' | '.join(STATISTICS)} | threshold | placed | waiting | broken |"]
        lines += ["| --- |" + " ---: |" * (len(STATISTICS) + 4)]
        lines += [_row(outcome) for outcome in runs]
        lines += [""]
    return "\n".join(lines)


def _row(outcome: Outcome) -> str:
    rates = outcome.pods_per_second
    cells = [f"{rates[each]:.0f}" if rates else "under a second" for each in STATISTICS]
    cells.append("" if outcome.threshold is None else f"{outcome.threshold:.0f}")
    cells += [str(outcome.placed), str(outcome.waiting), str(len(outcome.broken))]
    return f"| {outcome.side} | {' | '.join(cells)} |"
