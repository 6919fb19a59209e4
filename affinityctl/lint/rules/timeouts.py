"""How long the scheduler waits for the extender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.scheduler_file import seconds
from affinityctl.lint.setup import Setup

_DEFAULT: Final = 5.0
"""Of the scheduler, also where the file says 0."""
_SHORTEST: Final = 5.0
"""The extender answers a bind within 4 s."""
_LONGEST: Final = 15.0


def _timeouts(setup: Setup) -> Iterator[tuple[str, str, float]]:
    for ours in setup.ours():
        text = ours.entry.http_timeout
        wait = None if text is None else seconds(text)
        if text is not None and wait is not None:
            yield ours.at("httpTimeout"), text, wait or _DEFAULT


def _short(setup: Setup) -> Iterator[Spot]:
    for path, text, wait in _timeouts(setup):
        if wait < _SHORTEST:
            yield Spot(path, f"{text} is less than {_SHORTEST:.0f}s")


def _long(setup: Setup) -> Iterator[Spot]:
    for path, text, wait in _timeouts(setup):
        if wait > _LONGEST:
            yield Spot(path, f"{text} is more than {_LONGEST:.0f}s")


RULES: Final = (
    Rule(
        "timeout-too-short",
        Level.WARNING,
        "The scheduler gives up on the extender too early.",
        "The extender answers a bind within 4 s. With a shorter httpTimeout the scheduler takes "
        "binds for failed that are then carried out, and a busy moment fails whole pods.",
        "Set httpTimeout: 5s.",
        _short,
    ),
    Rule(
        "timeout-too-long",
        Level.WARNING,
        "The scheduler waits very long for the extender.",
        "It places one pod at a time and waits for each answer: one extender that hangs stops all "
        "scheduling for as long as httpTimeout, for every pod.",
        "Set httpTimeout: 5s.",
        _long,
    ),
)
