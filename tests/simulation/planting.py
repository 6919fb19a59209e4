"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import pytest

from simulation.plan import Plan, make_plan


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug, and the invariants of which one has to break."""

    plant: Callable[[pytest.MonkeyPatch], None]
    breaks: Collection[str]
    runs: Callable[[Plan], object] = lambda _: True
    """Tells of a run whether it is one of those that are to find it."""
    plan: Callable[[int], Plan] = make_plan
    """Makes a run from a seed, where those that are drawn seldom come to what it takes."""
