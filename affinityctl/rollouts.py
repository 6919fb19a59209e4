"""How many pods a workload has, and how it replaces them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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
    """Of a StatefulSet: pods of lower ordinals keep their version."""


ONE_POD: Final = Rollout(replicas=1)
