"""The files that a run leaves behind, as clusterloader2 writes them: figures, and junit.xml."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

JUNIT_FILE = "junit.xml"
_SUITE = "ClusterLoaderV2"

PERCENTILES = (50, 90, 99)
GENERATED = "generatedConfig_"
"""How the file begins that has a test with its templates filled in."""
RATE = "pods/s"
"""The unit of what is better the higher it is."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The bound of a figure in a report."""

    figure: str
    bound: float
    label: str = ""
    """Of which row; without it of all."""
    at_least: bool = False

    def broken(self, value: float) -> bool:
        return value < self.bound if self.at_least else value > self.bound

    def __str__(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a measurement, in a file whose name has its parts separated by underscores."""

    name: str
    content: Any
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    limits: Sequence[Limit] = ()
    """Those that fail the test when they are broken."""

    def text(self) -> str:
        """Return the JSON as Go writes it: whole floats without a point, a newline at the end."""
        return json.dumps(_go_numbers(self.content), indent=2) + "\n"

    def file_name(self, test: str) -> str:
        return f"{self.name}_{test}_{self.at.strftime('%Y-%m-%dT%H:%M:%SZ')}.json"

    def write(self, folder: Path, test: str) -> None:
        (folder / self.file_name(test)).write_text(self.text(), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Case:
    """A case of junit.xml: a test, a step of one, or a measurement of a step."""

    name: str
    seconds: float
    errors: Sequence[str] = ()


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the smallest value that `percent` of all values do not exceed, or 0 without values."""
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] if ordered else 0.0


def perf_data(
    version: str, items: Sequence[tuple[Mapping[str, float], str, Mapping[str, str]]]
) -> dict[str, Any]:
    """Return the JSON that perf-dash reads; an item is its values, their unit and its labels."""
    data_items = [
        # Labels are left out when there are none, as omitempty does.
        {"data": dict(sorted(data.items())), "unit": unit} | ({"labels": labels} if labels else {})
        for data, unit, labels in items
    ]
    return {"version": version, "dataItems": data_items or None}


def write_junit(folder: Path, cases: Sequence[Case], seconds: float) -> None:
    suite = ET.Element(
        "testsuite",
        name=_SUITE,
        # clusterloader2 always says 0 here; readers count the cases.
        tests=str(len(cases)),
        failures=str(sum(bool(case.errors) for case in cases)),
        errors="0",
        time=f"{math.trunc(seconds * 1000) / 1000:g}",
    )
    for case in cases:
        element = ET.SubElement(
            suite, "testcase", name=case.name, classname=_SUITE, time=f"{case.seconds:.9g}"
        )
        if case.errors:
            failure = ET.SubElement(element, "failure", type="Failure")
            failure.text = _printable("\n".join(case.errors))
    ET.indent(suite, "    ")
    text = ET.tostring(suite, encoding="unicode")
    (folder / JUNIT_FILE).write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', encoding="utf-8"
    )


def _go_numbers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _go_numbers(each) for key, each in value.items()}
        case list():
            return [_go_numbers(each) for each in value]
        case _:
            return value


def _printable(text: str) -> str:
    # XML has no way to spell other control characters, and servers send what they like.
    return "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for each in text
    )
