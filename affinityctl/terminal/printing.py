"""How commands write: parts, tables and wrapped lines for people, JSON and YAML for programs."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from extender.core.command_line import harmless, say
from extender.core.errors import printable
from extender.core.plain_yaml import FastDumper

WIDTH: Final = 80
"""Of a line, where there is no terminal."""
WIDEST: Final = 120
"""Of a line of prose on a terminal: longer ones are hard to read."""
INDENT: Final = "  "
_MARKS: Final = (
    r"(?m)^ *(?P<head>[A-Z][A-Z, ]*(?: {3,}[A-Z][A-Z, ]*)+)$",
    r"(?P<bad>fits? on no node|does not fit|gets stuck|finds no node)",
    r"(?m)(?P<bad>^ +ERROR (?=[a-z]))",
    r"(?m)(?P<warning>^ +WARNING (?=[a-z])|^Warning:)",
    r"(?m)(?P<aside>^ *(?:Note|Nearest|NOTE)\b:?)",
    r"(?P<good>fits on \d[\d,]* of \d[\d,]* nodes?)",
)
"""What is coloured in a text."""
_STYLES: Final = {
    "head": "bold",
    "bad": "bold red",
    "warning": "yellow",
    "aside": "cyan",
    "good": "green",
}


_NUMBER: Final = re.compile(r"\[\d+\]\Z")
"""Of a pod that a template would make: namespace/kind/name[index]."""


class Named(NamedTuple):
    """An object as kubectl names it."""

    kind: str
    namespace: str
    name: str


def named_pod(key: str) -> Named:
    """Name a pod, or for one that is not made yet what would make it."""
    namespace, _, name = key.partition("/")
    kind, slash, of = name.partition("/")
    return Named(kind, namespace, _NUMBER.sub("", of)) if slash else Named("pod", namespace, name)


def named_lines(things: Iterable[Named]) -> str:
    """Write each once as KIND/NAME -n NAMESPACE.

    A line is what `xargs -L1 kubectl get` takes, whatever the namespace of its context: the blanks
    of a hostile name are quoted.
    """
    lines = (
        shlex.quote(printable(f"{each.kind}/{each.name}"))
        + (f" -n {shlex.quote(printable(each.namespace))}" if each.namespace else "")
        for each in things
    )
    return "\n".join(dict.fromkeys(lines))


def printed(
    output: str,
    told: Callable[[], Any],
    text: Callable[[], str],
    names: Callable[[], str],
) -> str:
    """Write an answer in a format: builtin values and dataclasses for programs, or text."""
    match output:
        case "name":
            return names()
        case "json":
            return as_json(told())
        case "yaml":
            builtin = msgspec.to_builtins(told())
            return str(yaml.dump(builtin, Dumper=FastDumper, sort_keys=False)).rstrip("\n")
        case _:
            return text()


def as_json(told: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(told)).decode()


def show(text: str, output: str = "text") -> None:
    """Write an answer; on a terminal with colours, unless NO_COLOR is set."""
    if output not in {"text", "wide"} or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        say(text)
        return
    from rich.console import Console  # noqa: PLC0415 - 50 ms
    from rich.text import Text  # noqa: PLC0415
    from rich.theme import Theme  # noqa: PLC0415

    painted = Text(harmless(text))
    for each in _MARKS:
        painted.highlight_regex(each, style_prefix="")
    Console(theme=Theme(_STYLES), soft_wrap=True, highlight=False).print(painted)


def width() -> int:
    """Return how long a line may be."""
    if not sys.stdout.isatty():
        return WIDTH
    return max(WIDTH // 2, min(WIDEST, shutil.get_terminal_size((WIDTH, 24)).columns))


def section(title: str, lines: Iterable[str]) -> str:
    return "\n".join((wrapped(title), *lines))


def more(listed: Sequence[object], most: int) -> list[str]:
    """Say how many things a table leaves out, if it does."""
    left = len(listed) - most
    return [f"and {left} more; -o json has all"] if left > 0 else []


def columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write lines with a header, each column as wide as its longest cell.

    On a terminal, cells are broken where the table would be wider than that.
    """
    if sys.stdout.isatty():
        return _fitted(header, rows)
    lines = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _fitted(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    from rich.console import Console  # noqa: PLC0415 - 50 ms
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="")
    for name in header:
        table.add_column(Text(printable(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    written = io.StringIO()
    size = shutil.get_terminal_size((WIDTH, 24)).columns - len(INDENT)
    Console(file=written, width=size, color_system=None).print(table)
    return "\n".join(map(str.rstrip, written.getvalue().splitlines()))


def wrapped(text: str, indent: str = "", hanging: int = 2) -> str:
    """Wrap a line at the width of a terminal; what comes after the first line hangs."""
    return textwrap.fill(
        text,
        width(),
        initial_indent=indent,
        subsequent_indent=indent + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
