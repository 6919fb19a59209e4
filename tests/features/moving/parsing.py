"""What the feature reads of others, for those who give it what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from extender.features.moving.askers import Askers
from extender.features.moving.turns import ASKERS, MOVES, EvictionTurns, Notes
from tests.builders import empty_state
from tests.clock import Clock
from tests.features.moving.booked import books_over
from tests.features.moving.evicting import EVERYWHERE
from tests.leading import Leader

if TYPE_CHECKING:
    from collections.abc import Callable


def read_notes(raw: bytes) -> None:
    """Have a new leader take over what is written in a Lease, act on it, and write its own."""
    text, clock = raw.decode(errors="replace"), Clock()
    turns = EvictionTurns.of(Leader(), books_over(empty_state(), EVERYWHERE), 10, clock)
    notes = Notes(turns, Askers(clock))
    notes.learn({ASKERS: text, MOVES: text}, leads=True)
    for clock.now in (0.0, 10.0, 100_000.0):
        turns.moves.look()
        written = notes.written({}, leads=True)
        notes.learn(written, leads=True)


PARSERS: Final[dict[str, tuple[Callable[[bytes], object], list[Any]]]] = {
    "notes in a Lease": (
        read_notes,
        [
            {"default-scheduler": 5, "other": 0},
            {
                "minute": 3,
                "hour": {"a": [2, 5.0], "b": [1, 3000.0]},
                "failed": [["a", 5.0, False], ["b", 1.0, True]],
                "controllers": [["a", "u", 1, 2.0, 3.0, 4, 5.0, [["p", "v", 5.0]]]],
                "trials": [5.0, 2],
            },
        ],
    )
}
