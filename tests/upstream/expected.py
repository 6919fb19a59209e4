"""What fails beside the extender on purpose: docs/modes.md says why, for those who use it."""

from __future__ import annotations

EXPECTED: dict[tuple[str, str], str] = {}
"""The reason, in one sentence, by mode and test; one that holds others stands for all of them."""


def reason(mode: str, test: str) -> str | None:
    """Return why a test may fail in a mode."""
    parts = test.split("/")
    names = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((EXPECTED[mode, name] for name in names if (mode, name) in EXPECTED), None)
