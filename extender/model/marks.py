"""What the condition DisruptionTarget of a victim says, and for whom it goes."""

from __future__ import annotations

from typing import Final

_BEFORE: Final = " (uid "
_AFTER: Final = ")"


def mark_message(scheduler: str, preemptor: str) -> str:
    """Return the scheduler's own words, and the uid of the preemptor."""
    words = f"{scheduler}: preempting to accommodate a higher priority pod"
    return f"{words}{_BEFORE}{preemptor}{_AFTER}"


def preemptor_in(message: str) -> str | None:
    """Return the uid of the preemptor; None in the words of a scheduler, which do not tell."""
    _, found, rest = message.rpartition(_BEFORE)
    return rest.removesuffix(_AFTER) if found and rest.endswith(_AFTER) else None
