"""What the event FailedScheduling says, from what is said of each node."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def messages(nodes: Collection[Iterable[str]]) -> tuple[str, ...]:
    """Return how the event may begin where all nodes are refused, each for some reasons.

    Of what is wrong before any node is looked at, it does not say how many refuse the pod for it.
    """
    counts = Counter(reason for reasons in nodes for reason in reasons)
    several = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    told = (several, *counts) if len(counts) == 1 else (several,)
    return tuple(f"0/{len(nodes)} nodes are available: {each}. " for each in told)
