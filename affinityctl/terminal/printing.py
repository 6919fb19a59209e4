"""How commands write: parts, tables and wrapped lines for people, JSON and YAML for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
import yaml

from extender.core.errors import printable
from extender.core.plain_yaml import FastDumper

WIDTH: Final = 80
INDENT: Final = "  "


def printed(output: str, told: Callable[[], Any], text: Callable[[], str]) -> str:
    """Write an answer in a format: builtin values and dataclasses for programs, or text."""
    match output:
        case "json":
            return as_json(told())
        case "yaml":
            builtin = msgspec.to_builtins(told())
            return str(yaml.dump(builtin, Dumper=FastDumper, sort_keys=False)).rstrip("\n")
        case _:
            return text()


def as_json(told: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(told)).decode()


def section(title: str, lines: Iterable[str]) -> str:
    return "\n".join((wrapped(title), *lines))


def more(listed: Sequence[object], most: int) -> list[str]:
    """Say how many things a table leaves out, if it does."""
    left = len(listed) - most
    return [f"and {left} more; -o json has all"] if left > 0 else []


def columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write lines with a header, each column as wide as its longest cell."""
    lines = [[printable(cell) for cell in row] for row in (header, *rows)]
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
