"""What all share who evict pods for their rules, and what of it goes to the next leader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from extender.core.controllers.rates import RateLimiter
from extender.core.ports import Leadership
from extender.features.moving.askers import Askers
from extender.features.moving.limits import Fruitless
from extender.features.moving.moves import Moves
from extender.features.moving.rules.books import Books
from extender.features.moving.written import read_moves, write_moves

MOVES: Final = "affinity-extender.io/moves"
"""The annotation of the Lease that tells the next leader what became of moves."""
ASKERS: Final = "affinity-extender.io/schedulers"
"""The one that tells which schedulers ask, each with the hour in which it did last."""


@dataclass(frozen=True, slots=True)
class EvictionTurns:
    """Who evicts, how many in a minute, and what has become of each."""

    leadership: Leadership
    moves: Moves
    window: RateLimiter
    fruitless: Fruitless

    @classmethod
    def of(
        cls,
        leadership: Leadership,
        books: Books,
        per_minute: int,
        clock: Callable[[], float],
        *,
        dry_run: bool = False,
    ) -> Self:
        """Let nothing have happened yet. What is a dry run takes no turns from what is none."""
        moves = Moves(books, clock, per_minute, dry_run=dry_run)
        return cls(leadership, moves, RateLimiter(per_minute, clock), Fruitless(clock))


class Notes:
    """What replicas tell each other by the Lease that they take turns in."""

    def __init__(self, turns: EvictionTurns, askers: Askers) -> None:
        self._turns = turns
        self._askers = askers

    def learn(self, annotations: Mapping[str, str], *, leads: bool) -> None:
        """Take over what is written; with `leads`, what the last leader has done as well."""
        self._askers.learn(annotations.get(ASKERS, ""))
        written = read_moves(annotations.get(MOVES, "")) if leads else None
        if written is not None:
            if self._turns.window.recent < written.minute:
                self._turns.window.fill(written.minute)
            self._turns.moves.inherit(written)

    def written(self, annotations: Mapping[str, str], *, leads: bool) -> Mapping[str, str]:
        """Return what is to be written; what the leader has done is for the leader alone."""
        self._askers.learn(annotations.get(ASKERS, ""))
        asking = self._askers.written()
        notes = {ASKERS: asking} if asking else {}
        if leads:
            turns = self._turns
            notes[MOVES] = write_moves(turns.moves.written(turns.window.recent))
        return notes
