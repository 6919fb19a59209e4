"""How texts, numbers and times are written on pages: the filters of the templates.

Names come from the cluster, so anybody may have written them. Jinja2 escapes them; here characters
that are not seen, or that turn the text around, are spelled out, and long texts are cut.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Final
from unicodedata import category
from urllib.parse import urlencode

MOST_CHARACTERS: Final = 600
"""Of a text from the cluster; a name has 253, and a selector may have thousands."""

MARKS: Final = frozenset(("Mn", "Me"))
"""Categories of characters that stand on others: hundreds of them would cover the whole page."""
BLANKS: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols that show nothing."""


class Whole(str):
    """A text that is neither cut nor spelled out: an attribute's."""

    __slots__ = ()


def shown(value: object) -> object:
    """Return a text as people can read it; all but texts stays as it is."""
    # What a macro has written is escaped and spelled out already.
    if not isinstance(value, str) or isinstance(value, Whole) or hasattr(value, "__html__"):
        return value
    return spelled(cut(value))


def cut(content: str) -> str:
    """Return a text, or its beginning and its length."""
    if len(content) <= MOST_CHARACTERS:
        return content
    return f"{content[:MOST_CHARACTERS]}… ({len(content):,} characters)"


def is_long(content: str) -> bool:
    """Return whether a text is longer than is shown of one."""
    return len(content) > MOST_CHARACTERS


def spelled(content: str) -> str:
    """Return a text with those characters spelled out that are not seen, or reach beyond it."""
    if content.isascii() and content.isprintable():
        return content
    return "".join(each if _is_plain(each) else _escape(each) for each in content)


def _is_plain(character: str) -> bool:
    return character.isprintable() and category(character) not in MARKS and character not in BLANKS


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004


def address(path: str, query: Mapping[str, str]) -> Whole:
    return Whole(f"{path}?{urlencode(query, errors='replace')}" if query else path)


def number(value: int) -> str:
    """Write a number with commas between thousands."""
    return f"{value:,}"


def duration(seconds: float) -> str:
    """Say a duration in its two largest units: 3 d 4 h, 5 min 6 s."""
    rest = max(0, int(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        many, rest = divmod(rest, size)
        if many or parts or unit == "s":
            parts.append(f"{many} {unit}")
    return " ".join(parts[:2])


def latency(seconds: float | None) -> str:
    """Say how long something takes, with two digits: 850 µs, 1.2 ms, 3.4 s."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return (
                f"{seconds / size:.2g} {unit}"
                if seconds < 100 * size
                else f"{seconds / size:.0f} {unit}"
            )
    return f"{seconds * 1e6:.0f} µs"


def rate(times: float, seconds: float) -> str:
    """Say how often something happens a second, or a minute if that is seldom."""
    if not times:
        return "0"
    each = times / max(seconds, 1.0)
    return f"{each:,.1f}/s" if each >= 1.0 else f"{each * 60:,.1f}/min"


def moment(at: float) -> dt.datetime:
    """Return a moment that is given in seconds since the epoch."""
    return dt.datetime.fromtimestamp(at, dt.UTC)
