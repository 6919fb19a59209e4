"""Carries out compare: two runs side by side, and whether the second is worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from affinityctl.terminal.printing import columns
from clusterload.figures import Row, Run, number, read_runs
from clusterload.reports import RATE
from extender.core.command_line import say
from extender.core.errors import ConfigError

if TYPE_CHECKING:
    import argparse

_MEASURED = frozenset((RATE, "ms", "s"))
"""Units in which 0 says that nothing was measured; of RATE, after something was, that it ended."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A figure before and after; None where a run has not measured it."""

    test: str
    """Empty where there is but one."""
    measurement: str
    unit: str
    figure: str
    before: float | None
    after: float | None

    @property
    def ratio(self) -> float | None:
        """How many times as large it is; None where that says nothing."""
        if self.before is None or self.after is None:
            return None
        if self.unit in _MEASURED and not (self.before and self.after):
            return 0.0 if self.unit == RATE and self.before else None
        if self.before == self.after:
            return 1.0
        return self.after / self.before if self.before else float("inf")

    def worse(self, times: float) -> bool:
        """Tell whether a rate fell, or another figure grew, by more than this factor."""
        if self.ratio is None:
            return False
        return self.ratio * times < 1 if self.unit == RATE else self.ratio > times


def compare(flags: argparse.Namespace) -> bool:
    """Show both runs; return whether no figure is worse than --threshold allows."""
    if flags.threshold is not None and not flags.threshold >= 1:
        raise ConfigError("--threshold", f"{flags.threshold:g} is less than 1")
    pairs = [
        each
        for each in compared(read_runs(flags.A), read_runs(flags.B))
        if not flags.measurement or each.measurement.startswith(tuple(flags.measurement))
    ]
    if not pairs:
        raise ConfigError(str(flags.B), f"it has no such measurement in common with {flags.A}")
    worse = [each for each in pairs if flags.threshold and each.worse(flags.threshold)]
    say(_shown(pairs, worse))
    if flags.threshold:
        figures = "1 figure is" if len(worse) == 1 else f"{len(worse)} figures are"
        say(f"\n{figures} more than {flags.threshold:g} times worse")
    return not worse


def compared(before: Sequence[Run], after: Sequence[Run]) -> list[Pair]:
    """Return the figures of the tests that both have; a single test may be called otherwise."""
    if len(before) == len(after) == 1:
        return _pairs("", before[0].rows, after[0].rows)
    others = {each.test: each for each in after}
    return [
        pair
        for each in before
        if each.test in others
        for pair in _pairs(each.test, each.rows, others[each.test].rows)
    ]


def _pairs(test: str, before: Mapping[str, Row], after: Mapping[str, Row]) -> list[Pair]:
    if not before.keys() & after.keys():
        return []
    pairs = []
    for name in {**before, **after}:
        old, new = (rows.get(name) for rows in (before, after))
        rows = [each for each in (old, new) if each]
        for figure in dict.fromkeys(figure for each in rows for figure in each.values):
            values = [each.values.get(figure) if each else None for each in (old, new)]
            if any(values) or rows[0].unit not in _MEASURED:
                pairs.append(Pair(test, name, rows[-1].unit, figure, *values))
    return pairs


def _shown(pairs: Iterable[Pair], worse: Sequence[Pair]) -> str:
    lines = [
        [
            f"{each.test}: {each.measurement}" if each.test else each.measurement,
            each.figure,
            each.unit,
            number(each.before),
            number(each.after),
            "-" if each.ratio is None else f"{each.ratio:.2f}",
            "worse" if each in worse else "",
        ]
        for each in pairs
    ]
    return columns(("measurement", "figure", "unit", "A", "B", "ratio", ""), lines)
