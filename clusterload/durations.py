"""Durations as Go spells them: 1h2m3.5s."""

from __future__ import annotations

import re

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_UNITS |= {"m": 60 * 10**9, "h": 3600 * 10**9}
_NUMBER = r"\d+(?:\.\d*)?|\.\d+"
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_PART = re.compile(f"({_NUMBER})({_UNIT})")
_WHOLE = re.compile(f"([+-]?)(0|(?:(?:{_NUMBER})(?:{_UNIT}))+)")

SECOND = 10**9
"""Nanoseconds."""


class Duration:
    EXPECTED = "a duration, such as 1m30s"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __str__(self) -> str:
        return format_duration(self.seconds)


def parse_duration(text: str) -> float:
    """Return seconds; a ValueError says what is wrong."""
    match = _WHOLE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration, such as 1m30s")
    sign, parts = match.groups()
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(parts)) / SECOND
    return -seconds if sign == "-" else seconds


def format_duration(seconds: float) -> str:
    """Spell seconds as Go's Duration.String does."""
    nanoseconds = round(abs(seconds) * SECOND)
    sign = "-" if seconds < 0 else ""
    if not nanoseconds:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if nanoseconds < size * 1000:
            return f"{sign}{_decimal(nanoseconds, size)}{unit}"
    hours, rest = divmod(nanoseconds, _UNITS["h"])
    minutes, rest = divmod(rest, _UNITS["m"])
    text = f"{_decimal(rest, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    fraction = f"{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
