"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypedDict


class Rules(TypedDict):
    kind: str
    carriers: int
    matched: int
    complete: bool


class ToldModel(TypedDict):
    machine: str
    nodes: int


Move = TypedDict("Move", {"pod": str, "from": str | None, "to": str})


class ToldPlacements(TypedDict):
    podsThatSitWorse: int
    moves: Sequence[Move]
    complete: bool


class Trap(TypedDict):
    rule: str
    level: str
    object: str
    path: str
    message: str


class ToldShare(TypedDict):
    least: float
    median: float
    most: float


class Advised(TypedDict):
    nodes: int
    pods: int
    podsWithRules: int
    rateWithoutRules: Mapping[str, ToldShare]
    rules: Sequence[Rules]
    millisecondsPerPod: Mapping[str, float]
    podsPerSecond: Mapping[str, float | None]
    model: ToldModel
    mode: str
    why: str
    risk: str | None
    placements: ToldPlacements | None
    traps: Sequence[Trap]


ANSWERS: Final = (Advised,)
