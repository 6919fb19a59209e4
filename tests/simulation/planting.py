"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug, and the invariants of which one has to break."""

    plant: Callable[[pytest.MonkeyPatch], None]
    breaks: Collection[str]
    preempting: bool = False
    """Whether only runs that are about preemption are to find it."""
