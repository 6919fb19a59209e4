"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypedDict

from affinityctl.commands.leftovers.finding import Where


class Left(TypedDict):
    kind: str
    namespace: str | None
    name: str
    place: Where
    key: str
    value: str
    writtenBy: Literal["program", "user"]
    removed: bool


class Leftovers(TypedDict):
    left: Sequence[Left]
    count: int


ANSWERS: Final = (Leftovers,)
