"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import pytest

from simulation.plan import Setup


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug, and the invariants of which one has to break."""

    plant: Callable[[pytest.MonkeyPatch], None]
    breaks: Collection[str]
    preempting: bool = False
    """Whether only runs that are about preemption are to find it."""
    evicting: bool = False
    """Whether only runs that are about rules during execution are to find it."""

    def may_find(self, setup: Setup) -> bool:
        """Return whether a run with such a setup is one of those that are to find it."""
        return setup.preempting >= self.preempting and bool(setup.evicting) >= self.evicting
