"""The figures of reports as rows: what a run shows in the end, and what is compared and drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from affinityctl.terminal.printing import columns
from clusterload.reports import GENERATED, RATE, Limit
from clusterload.templates import read
from extender.core.errors import ConfigError

if TYPE_CHECKING:
    from clusterload.reports import Summary

COLUMNS = ("p50", "p90", "p99", "max")
_UNITS = {"SchedulingThroughput": RATE, "SchedulingMetrics": "ns"}
"""Of reports that name none."""
_FILE = re.compile(r"(.+)_(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")
_PARTS = re.compile(r"(?:Stateless|Stateful)(?=PodStartupLatency)")


class _Item(msgspec.Struct):
    data: dict[str, float]
    unit: str = ""
    labels: dict[str, str] | None = None


class _PerfData(msgspec.Struct, rename="camel"):
    data_items: list[_Item] | None


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    label: str
    """What tells the rows of a report apart: a transition, an extension point, a verb."""
    unit: str
    values: Mapping[str, float]
    """By p50, p90, p99, max, or what a query or a timer is called, in small letters."""

    @property
    def measurement(self) -> str:
        return f"{self.title} {self.label}".rstrip()


@dataclass(frozen=True, slots=True)
class Run:
    """The reports of one test in one folder; of each measurement the newest."""

    test: str
    at: str
    source: Path
    config: Path
    """The test with its templates filled in, which need not be there."""
    rows: Mapping[str, Row]


def rows(name: str, content: Any) -> list[Row]:
    """Return the figures of a report; a ValidationError of msgspec says what is wrong with it."""
    title = _title(name)
    match content:
        case {"dataItems": _}:
            items = msgspec.convert(content, _PerfData).data_items or ()
            return [
                _row(title, " ".join((each.labels or {}).values()), each.unit, each.data)
                for each in items
            ]
        case dict():
            unit = _UNITS.get(title, "")
            return [
                _row(title, label, unit, msgspec.convert(leaf, dict[str, float]))
                for label, leaf in _leaves("", content)
            ]
        case _:
            return []  # the names of pods that failed


def table(summaries: Iterable[Summary]) -> str:
    """Return what was measured, as a table: figures, limits, and whether they were kept.

    Rows without any figure but 0 are left out, and so are the parts of the pods' startup.
    """
    lines = []
    for summary in sorted(summaries, key=lambda each: _title(each.name)):
        if _PARTS.match(summary.name):
            continue
        for row in rows(summary.name, summary.content):
            limits = [each for each in summary.limits if each.label in {"", row.label}]
            if limits or any(row.values.values()):
                lines.append(_line(row, limits))
    return columns(("measurement", "unit", *COLUMNS, "other", "limit", ""), lines) if lines else ""


def number(value: float | None) -> str:
    """Spell a figure with three digits at least."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def read_runs(path: Path) -> list[Run]:
    """Return the runs of a folder of reports, or what one file of it has."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    folder = path if path.is_dir() else path.parent
    tests = [
        each.stem.removeprefix(GENERATED) for each in sorted(folder.glob(f"{GENERATED}*.yaml"))
    ]
    found: dict[str, dict[str, tuple[str, list[Row]]]] = {}
    for file in files:
        match = _FILE.fullmatch(file.stem)
        if match is None:
            continue
        name, at = match.groups()
        # A test and its identifier are separated as the other parts are, so ask for whole names.
        ours = [each for each in tests if name.endswith(f"_{each}")]
        test = max(ours, key=len, default=name.rpartition("_")[2])
        measurement = name.removesuffix(f"_{test}")
        newest = found.setdefault(test, {})
        if measurement not in newest or at > newest[measurement][0]:
            newest[measurement] = at, _read(file, measurement)
    if not found:
        raise ConfigError(str(path), "there is no report of a measurement")
    return [
        Run(
            test,
            max(at for at, _ in newest.values()),
            path,
            folder / f"{GENERATED}{test}.yaml",
            {
                row.measurement: row
                for row in _distinct(row for _, of in newest.values() for row in of)
            },
        )
        for test, newest in found.items()
    ]


def _read(file: Path, name: str) -> list[Row]:
    try:
        return rows(name, msgspec.json.decode(read(file)))
    except msgspec.MsgspecError as error:
        raise ConfigError(str(file), f"not the report of a measurement: {error}") from error


def _distinct(found: Iterable[Row]) -> Iterator[Row]:
    """Leave out the parts of the pods' startup that are as the whole is, or of no pod."""
    every = list(found)
    whole = {row.measurement: row.values for row in every}
    for row in every:
        name, parts = _PARTS.subn("", row.measurement)
        if not parts or (any(row.values.values()) and whole.get(name) != row.values):
            yield row


def _title(name: str) -> str:
    """Leave out what a name says twice, and the method of a query."""
    method, _, identifier = name.partition("_")
    title = method if identifier and method.endswith(identifier) else name
    return title.removeprefix("GenericPrometheusQuery ")


def _leaves(label: str, content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    inner = {key: each for key, each in content.items() if isinstance(each, dict)}
    for key, each in inner.items():
        yield from _leaves(key, each)
    if not inner:
        yield label, content


def _row(title: str, label: str, unit: str, data: Mapping[str, float]) -> Row:
    per, unit = (1e6, "ms") if unit == "ns" else (1.0, unit)
    return Row(title, label, unit, {_figure(name): value / per for name, value in data.items()})


def _figure(name: str) -> str:
    return name.lower().replace("perc", "p")


def _line(row: Row, limits: Sequence[Limit]) -> list[str]:
    other = [f"{name} {number(of)}" for name, of in row.values.items() if name not in COLUMNS]
    judged = {_figure(each.figure): each for each in limits}
    broken = [name for name in judged.keys() & row.values if judged[name].broken(row.values[name])]
    return [
        row.measurement,
        row.unit,
        *(number(row.values[name]) if name in row.values else "" for name in COLUMNS),
        ", ".join(other),
        _spelled(judged),
        ("FAILED" if broken else "passed") if limits else "",
    ]


def _spelled(limits: Mapping[str, Limit]) -> str:
    """Spell limits out, the figures with the same limit together."""
    alike: dict[str, list[str]] = {}
    for name, each in limits.items():
        alike.setdefault(str(each), []).append(name)
    return "; ".join(f"{', '.join(names)} {bound}" for bound, names in alike.items())
