"""Carries out plot: draws latency percentiles and throughput of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from msgspec import Struct

from clusterload.decoding import decode
from clusterload.figures import COLUMNS, Row, Run, read_runs
from clusterload.reports import RATE
from clusterload.schema import Phase, Step
from clusterload.templates import read
from extender.core.command_line import say
from extender.core.errors import ConfigError, UnreadableError

if TYPE_CHECKING:
    import argparse

    from matplotlib.axes import Axes

MEASUREMENTS: Final = (
    "SchedulingThroughput",
    "PodStartupLatency create_to_schedule",
    "PodStartupLatency pod_startup",
    "SchedulingMetrics schedulingLatency",
    "Extender latency",
)
"""What is drawn unless said otherwise; each stands for all that begin so."""
_COLORS = dict(zip(COLUMNS, ("#a3cfd9", "#4f9fb5", "#1f5f78", "#e0a030"), strict=True))
_PANEL_INCHES = (4.2, 2.9)
_MOST_IN_A_ROW = 3


class _Steps(Struct):
    steps: list[Step] = []


def plot(flags: argparse.Namespace) -> None:
    """Draw the runs of the reports into a file."""
    figure = drawn(flags)
    try:
        figure.savefig(flags.output, dpi=150)
    except ValueError as error:  # an ending that it does not know
        raise ConfigError("--output", str(error)) from error
    except OSError as error:
        raise UnreadableError(f"cannot write {flags.output}: {error.strerror}") from error
    say(str(flags.output))


def drawn(flags: argparse.Namespace) -> Figure:
    runs = [run for path in flags.reports for run in read_runs(path)]
    names = _drawn(runs, flags.measurement or MEASUREMENTS)
    if not names:
        raise ConfigError("--measurement", "no report has a figure of it that is not 0")
    match flags.by:
        case "time":
            return _lines(
                runs, names, "time of the run", lambda run: datetime.fromisoformat(run.at)
            )
        case "size":
            return _lines(runs, names, "objects created", lambda run: size(run.config))
        case _:
            return _bars(runs, names)


def size(config: Path) -> int:
    """Return how many objects a test has at most, from its file with the templates filled in."""
    peaks: dict[str, int] = {}
    for step in decode(read(config), str(config), _Steps).steps:
        for phase in step.phases:
            count = phase.replicas_per_namespace * _namespaces(phase)
            for each in phase.object_bundle:
                peaks[each.basename] = max(count, peaks.get(each.basename, 0))
    return sum(peaks.values())


def _namespaces(phase: Phase) -> int:
    if (numbers := phase.namespace_range) is None:
        return len(phase.namespace_list) or 1
    return numbers.max - numbers.min + 1


def _drawn(runs: Sequence[Run], wanted: Sequence[str]) -> list[str]:
    """Return the measurements with a figure to draw, in the order that is wanted."""
    measured = dict.fromkeys(
        name
        for run in runs
        for name, row in run.rows.items()
        if any(row.values.get(figure) for figure in COLUMNS)
    )
    return list(
        dict.fromkeys(name for each in wanted for name in measured if name.startswith(each))
    )


def _bars(runs: Sequence[Run], names: Sequence[str]) -> Figure:
    """Draw a panel for each measurement, with a group of bars for each run."""
    figure, panels = _panels(len(names))
    labels = _labels(runs)
    for name, axes in zip(names, panels, strict=True):
        rows = [run.rows.get(name) for run in runs]
        figures = _figures(rows)
        width = 0.8 / len(figures)
        for index, each in enumerate(figures):
            heights = [row.values.get(each, 0.0) if row else 0.0 for row in rows]
            places = [place - 0.4 + (index + 0.5) * width for place in range(len(runs))]
            axes.bar(places, heights, width, color=_COLORS[each])
        axes.set_xticks(range(len(runs)), labels, rotation=20, ha="right", rotation_mode="anchor")
        _name(axes, name, rows)
    _explain(figure, names, runs)
    return figure


def _lines(
    runs: Sequence[Run], names: Sequence[str], axis: str, place: Callable[[Run], Any]
) -> Figure:
    """Draw the panels of each test, with a line for each figure."""
    tests = list(dict.fromkeys(run.test for run in runs))
    figure, panels = _panels(len(tests) * len(names))
    places = [(place(run), run) for run in runs]
    for (test, name), axes in zip(product(tests, names), panels, strict=True):
        own = [(at, run.rows.get(name)) for at, run in places if run.test == test]
        points = sorted(((at, row) for at, row in own if row), key=lambda point: point[0])
        rows = [row for _, row in points]
        for each in _figures(rows):
            heights = [row.values.get(each, 0.0) for row in rows]
            with rc_context({"date.converter": "concise"}):
                axes.plot([at for at, _ in points], heights, color=_COLORS[each], marker="o")
        axes.set_xlabel(axis, fontsize=9)
        _name(axes, f"{test}: {name}", rows)
    _explain(figure, names, runs)
    return figure


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    across = min(count, _MOST_IN_A_ROW)
    down = -(-count // across)
    wide, high = _PANEL_INCHES
    figure = Figure((wide * across, high * down + 0.4), layout="constrained")
    return figure, [figure.add_subplot(down, across, index + 1) for index in range(count)]


def _name(axes: Axes, name: str, rows: Sequence[Row | None]) -> None:
    unit = next((row.unit for row in rows if row), "")
    better = "more is better" if unit == RATE else "less is better"
    axes.set_title(name, fontsize=10)
    axes.set_ylabel(f"{unit}, {better}", fontsize=9)
    highest = max(row.values.get(each, 0.0) for row in rows if row for each in COLUMNS)
    axes.set_ylim(0, 1.08 * highest or 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _explain(figure: Figure, names: Sequence[str], runs: Sequence[Run]) -> None:
    figures = _figures([run.rows.get(name) for name in names for run in runs])
    handles = [Patch(color=_COLORS[each], label=each) for each in figures]
    figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), frameon=False)


def _figures(rows: Sequence[Row | None]) -> list[str]:
    return [each for each in COLUMNS if any(row and each in row.values for row in rows)]


def _labels(runs: Sequence[Run]) -> list[str]:
    """Name runs by folder, by test, or by both where one does not tell them apart."""
    folders = [run.source.resolve().name for run in runs]
    tests = [run.test for run in runs]
    if len(set(folders)) == len(runs):
        return folders
    if len(set(tests)) == len(runs):
        return tests
    return [f"{folder}: {test}" for folder, test in zip(folders, tests, strict=True)]
