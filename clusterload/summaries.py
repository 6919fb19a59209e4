"""What a measurement found, in the files and the JSON that clusterloader2 makes of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Summary:
    """One file of the report; underscores separate the parts of its name, so it has none."""

    name: str
    content: Any
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def text(self) -> str:
        """Spell it as Go does: whole floats without a point, a newline at the end."""
        return json.dumps(_go_numbers(self.content), indent=2) + "\n"

    def file_name(self, test: str) -> str:
        """Return <name>_<test>_<time>.json."""
        return f"{self.name}_{test}_{self.at.strftime('%Y-%m-%dT%H:%M:%SZ')}.json"

    def write(self, folder: Path, test: str) -> None:
        """Write the file."""
        (folder / self.file_name(test)).write_text(self.text(), encoding="utf-8")


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the smallest value that so many percent of all reach at most; 0 of nothing."""
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] if ordered else 0.0


def perf_data(
    version: str, items: Sequence[tuple[Mapping[str, float], str, Mapping[str, str]]]
) -> dict[str, Any]:
    """Return the shape that perf-dash reads; an item is its values, their unit and its labels."""
    data_items = [
        # Labels are left out when there are none, as omitempty does.
        {"data": dict(sorted(data.items())), "unit": unit} | ({"labels": labels} if labels else {})
        for data, unit, labels in items
    ]
    return {"version": version, "dataItems": data_items or None}


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
