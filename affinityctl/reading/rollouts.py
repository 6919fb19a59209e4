"""How many pods a workload has, how it replaces them, and how many a budget wants healthy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

MOST_DIGITS: Final = 10
"""Of a number of pods: Go holds it in 32 bits."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """How many pods a workload has, and how it replaces them."""

    replicas: int | None = None
    """None for one on each node, or for what is a single pod."""
    surge: int = 0
    unavailable: int = 1
    """Old pods that may be gone before new ones are ready."""
    rolling: bool = False
    partition: int = 0
    """Of a StatefulSet: how many of its first pods keep their version."""
    start: int = 0
    """Of a StatefulSet: the ordinal of its first pod."""
    in_order: bool = True
    """Of a StatefulSet: no pod comes or goes before those of lower ordinals are ready."""


ONE_POD: Final = Rollout(replicas=1)
AS_BY_DEFAULT: Final = Rollout()
"""What nothing is known of."""


def share(given: int | str | None, of: int, default: str, *, up: bool) -> int:
    """Return maxSurge or maxUnavailable, a number or a share of the replicas, in pods."""
    value = default if given is None else str(given)
    percent = value.removesuffix("%")
    if not (percent.isascii() and percent.isdecimal()) or len(percent) > MOST_DIGITS:
        return 0
    number = int(percent)
    if percent == value:
        return number
    exact = number * of / 100
    return math.ceil(exact) if up else math.floor(exact)


def desired_healthy(
    min_available: int | str | None, max_unavailable: int | str | None, expected: int
) -> int:
    """Return how many of the expected pods a budget wants healthy, as the disruption controller."""
    if max_unavailable is not None:
        return max(0, expected - share(max_unavailable, expected, "", up=True))
    return share(min_available, expected, "0", up=True)
