"""What the leader writes beside its Lease about moved pods, for the next one.

Ages and rests are in seconds as of the moment of writing: clocks of two hosts need not agree. A
later reader takes everything for more recent than it is, never for older.
"""

from __future__ import annotations

from typing import Final

import msgspec

from extender.core.errors import ObjectError
from extender.core.wire.decoding import decode

MOST_BYTES: Final = 1 << 17
"""The API server takes 256 KiB of annotations in all."""


class WrittenController(msgspec.Struct, array_like=True, frozen=True):
    namespace: str
    uid: str
    misses: int
    missed: float
    """How long ago the last miss was."""
    rests: float
    """For how long it rests yet."""
    owed: int
    """How many of its pods have to be ready before another one is moved; 0 for no matter."""
    forgiven: float
    """In how many seconds that is forgotten."""
    landed: list[tuple[str, str, float]] = []
    """Name and uid of successors, and for how long it is watched yet whether each is kept."""
    open: bool = False
    """Whether what it is owed is a move whose end is not known yet."""


class WrittenMoves(msgspec.Struct, frozen=True):
    minute: int = 0
    """Evictions in the last minute."""
    hour: dict[str, tuple[int, float]] = {}
    """By namespace, moves for preferred rules in the last hour, and how long ago the last was;
    about the oldest come first."""
    failed: list[tuple[str, float, bool]] = []
    """The namespaces of moves that failed in a row, how long ago, and whether no other namespace
    has had one since that went well; about the oldest come first."""
    controllers: list[WrittenController] = []
    """Those that lack a pod come first, then those that were moved last."""
    trials: tuple[float, int] = 3600.0, 0
    """How long ago the last pod went, an hour at most; how many went while most had to wait."""


_MOVES: Final = msgspec.json.Decoder(WrittenMoves)


def write_moves(moves: WrittenMoves) -> str:
    """Write it down, without the oldest half of the longest part while it would be too long."""
    text = msgspec.json.encode(moves)
    while len(text) > MOST_BYTES:
        halves = {
            "hour": dict([*moves.hour.items()][(len(moves.hour) + 1) // 2 :]),
            "failed": moves.failed[(len(moves.failed) + 1) // 2 :],
            "controllers": moves.controllers[: len(moves.controllers) // 2],
        }
        longest = max(halves, key=lambda part: len(msgspec.json.encode(getattr(moves, part))))
        moves = msgspec.structs.replace(moves, **{longest: halves[longest]})
        text = msgspec.json.encode(moves)
    return text.decode()


def read_moves(text: str) -> WrittenMoves | None:
    """Read what was written; None if it cannot be read."""
    try:
        return decode(_MOVES, text.encode(), "moves") if len(text) <= MOST_BYTES else None
    except ObjectError:
        return None
