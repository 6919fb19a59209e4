"""Who asks for writes."""

from __future__ import annotations


def is_extender(by: str) -> bool:
    return process_of(by).endswith("extender")


def process_of(by: str) -> str:
    """Return which process it was, whichever of its lives."""
    return by.rpartition("-")[0]
