"""What the feature shows of a state that a test has put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from extender.features.moving.known import Known
from extender.features.moving.repair_mover import Prospect
from extender.features.moving.rules.evicting import Outcome
from extender.features.moving.rules.improving import Improvement
from tests.web.hostile import SCRIPT

if TYPE_CHECKING:
    from extender.core.cluster.state import ClusterState


@dataclass(frozen=True, slots=True)
class Moves:
    """What is to be moved, as a RepairController has it."""

    prospects: Sequence[tuple[Improvement, Prospect]]


def moves(state: ClusterState, whys: Sequence[str] = ("",)) -> Any:
    """Return moves of all pods that have a node, each to the node of the next one."""
    placed = [each for each in state.pods.values() if each.node is not None]
    found = []
    for number, (each, target) in enumerate(zip(placed, placed[1:] + placed[:1], strict=True)):
        known = Prospect(0.0, outcome=Outcome.UNCONFIRMED, why=whys[number % len(whys)])
        move = Improvement(each, target.node or "", number % 1000, number % 2000)
        found.append((move, known))
    return Moves(found)


def findings(state: ClusterState) -> Known:
    """Return all that may be shown."""
    return Known(state, None, moves(state, (SCRIPT, "")))
