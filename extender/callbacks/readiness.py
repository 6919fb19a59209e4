"""Whether the cluster is known well enough to answer about it."""

from __future__ import annotations

from extender.errors import ExtenderError
from extender.ports import Check


class NotReadyError(ExtenderError):
    """The cluster is not known yet, so any verdict would be a guess."""


def check_ready(unready: Check) -> None:
    """Raise NotReadyError unless everything that a verdict needs is known."""
    reason = unready()
    if reason is not None:
        raise NotReadyError(f"the extender is not ready: {reason}")
