"""What is booked of pods and their rules, beside a state of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extender.features.moving.rows import Rows
from extender.features.moving.rules.books import Books
from extender.features.moving.rules.execution import Execution
from extender.features.moving.shared import Shared

if TYPE_CHECKING:
    from extender.core.cluster.state import ClusterState
    from extender.core.metrics import Metrics
    from extender.features.moving.ports import PodMover


def books_over(state: ClusterState, execution: Execution | None = None) -> Books:
    """Have ledgers book with a state."""
    books = Books.of(state, Execution() if execution is None else execution)
    for each in books.ledgers:
        state.book_with(each)
    return books


def shared_over(
    state: ClusterState, execution: Execution, metrics: Metrics, port: PodMover
) -> Shared:
    """Return what controllers share."""
    return Shared(books_over(state, execution), Rows.made(metrics.make), port)
