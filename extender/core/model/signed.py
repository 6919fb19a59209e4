"""Signed counts in which an entry that becomes zero goes away."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")


def shift(counts: dict[K, int], key: K, amount: int) -> None:
    """Add an amount, negative to take away, to one entry."""
    total = counts.get(key, 0) + amount
    if total:
        counts[key] = total
    else:
        counts.pop(key, None)
