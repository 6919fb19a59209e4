"""Numbers, times and durations, as people read them."""

from __future__ import annotations

import datetime as dt

from extender.web.page.html import Html, element


def duration(seconds: float) -> str:
    """Say a duration in its two largest units: 3 d 4 h, 5 min 6 s."""
    rest = max(0, int(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, size)
        if number or parts or unit == "s":
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def ago(seconds: float) -> str:
    """Say how long ago something was."""
    return f"{duration(seconds)} ago"


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


def rate(number: float, seconds: float) -> str:
    """Say how often something happens a second, or a minute if that is seldom."""
    if not number:
        return "0"
    each = number / max(seconds, 1.0)
    return f"{each:,.1f}/s" if each >= 1.0 else f"{each * 60:,.1f}/min"


def clock_time(at: float) -> Html:
    """Write a moment, given in seconds since the epoch, down to the second."""
    moment = dt.datetime.fromtimestamp(at, dt.UTC)
    return element(
        "time", f"{moment:%Y-%m-%d %H:%M:%S} UTC", datetime=f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    )
