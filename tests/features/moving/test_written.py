"""What the leader writes beside its Lease has to fit there, however much there is."""

from __future__ import annotations

from random import Random

import pytest

from extender.features.moving.written import (
    MOST_BYTES,
    WrittenController,
    WrittenMoves,
    read_moves,
    write_moves,
)


def many(number: int, kind: str) -> WrittenMoves:
    """Return notes about a number of namespaces or controllers, and about few others."""
    names = [f"{kind}-{each}".ljust(63, "x") for each in range(number)]
    hour, failed = dict.fromkeys(names, (1, 0.5)), [(each, 0.5, True) for each in names]
    past = [WrittenController(each, each, 1, 0.5, 0.5, 1, 0.5) for each in names]
    return WrittenMoves(
        3,
        hour if kind == "hour" else {"one": (1, 0.5)},
        failed if kind == "failed" else [("one", 0.5, True)],
        past if kind == "controllers" else [WrittenController("one", "one", 1, 0.5, 0.5, 1, 0.5)],
    )


@pytest.mark.parametrize("kind", ["hour", "failed", "controllers"])
def test_of_too_many_the_latest_are_written_and_all_of_the_others(kind: str) -> None:
    moves = many(5_000, kind)
    text = write_moves(moves)
    assert MOST_BYTES / 2 - 200 <= len(text) <= MOST_BYTES
    found = read_moves(text)
    assert found is not None
    for other in {"hour", "failed", "controllers"} - {kind}:
        assert getattr(found, other) == getattr(moves, other)
    if kind == "controllers":
        assert found.controllers == moves.controllers[: len(found.controllers)]
    else:
        kept = [*getattr(found, kind)]
        assert kept == [*getattr(moves, kind)][-len(kept) :]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_written_can_be_read(seed: int) -> None:
    chance = Random(seed)
    parts = {
        kind: many(chance.randrange(3_000), kind) for kind in ("hour", "failed", "controllers")
    }
    moves = WrittenMoves(1, *(getattr(each, kind) for kind, each in parts.items()))
    text = write_moves(moves)
    assert len(text) <= MOST_BYTES
    assert read_moves(text) is not None
