"""What all share who move pods."""

from __future__ import annotations

from dataclasses import dataclass

from extender.features.moving.ports import PodMover
from extender.features.moving.rows import Rows
from extender.features.moving.rules.books import Books


@dataclass(frozen=True, slots=True)
class Shared:
    """What is booked and counted, and how pods are evicted."""

    books: Books
    rows: Rows
    port: PodMover
