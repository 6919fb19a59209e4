"""How commands write: tables and wrapped lines for people, JSON and YAML for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import yaml

WIDTH: Final = 80
INDENT: Final = "  "

_FAST_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml's, where it is there: thousands of nodes take a tenth of the time."""


def as_json(told: Any) -> str:
    """Write an answer as JSON with a field a line."""
    return msgspec.json.format(msgspec.json.encode(told)).decode()


def as_yaml(told: Any) -> str:
    """Write an answer as YAML."""
    return str(yaml.dump(told, Dumper=_FAST_DUMPER, sort_keys=False)).rstrip("\n")


def columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write lines with a header, each column as wide as its longest cell."""
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def wrapped(text: str, indent: str = "", hanging: int = 2) -> str:
    """Wrap a line at the width of a terminal; what comes after the first line hangs."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
