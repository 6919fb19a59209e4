"""The feature over a state that a test has put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from extender.cluster.audits.violations import Violation, patrol
from extender.cluster.state import ClusterState
from extender.controllers.eviction.repair_mover import Prospect
from extender.features.violations.part import Patrol
from extender.verbs.evicting import Outcome
from extender.verbs.repair import Improvement
from tests.web.hostile import SCRIPT
from tests.web.showing import Seen
from tests.wired import context_over


def part_over(
    state: ClusterState,
    unready: str | None = None,
    found: Iterable[Violation] | None = None,
    **changed: Any,
) -> Patrol:
    """Return the part once it has looked at all pods, or found this."""
    part = Patrol(context_over(state, unready, **changed))
    for step in patrol(state, 100_000) if found is None else [found]:
        list(part.found.watch.take(step))
    return part


def shown(seen: Seen, why: str = SCRIPT) -> Patrol:
    """Return the part with all that its page may show."""
    return part_over(seen.state, turns=seen.turns, repair=moves(seen.state, (why, "")))


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
