"""How many placed pods sit worse than they have to by preferred rules, and what would cure it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.verbs.nominating import Chooser
from extender.core.verbs.plugins import Plugins
from extender.features.moving.rules.improving import Improvement, best_improvement, improvements

MOST_MOVES: Final = 2_000
"""Moves that are carried out to count them: minutes with 5,000 nodes."""


@dataclass(frozen=True, slots=True)
class Placements:
    worse: int
    """Pods that another node, which would take them now, suits better."""
    moves: Sequence[Improvement]
    """One after the other, until no pod gains by another."""
    complete: bool = True
    """False where there are more than MOST_MOVES."""


def placements(state: ClusterState, plugins: Plugins, margin: int = 1) -> Placements:
    """Move pods, in this picture of the cluster, until all sit as well as they can."""
    chooser = Chooser(state, plugins)
    worse = sum(len(_alike(state, each)) for each in _found(state, chooser, margin))
    moves: list[Improvement] = []
    moved = True
    while moved:
        moved = False
        for placed in list(state.placed_classes):
            while (best := _best(state, chooser, placed, margin)) is not None:
                if len(moves) == MOST_MOVES:
                    return Placements(worse, moves, complete=False)
                state.upsert_pod(structs.replace(best.pod, node=best.target))
                moves.append(best)
                moved = True
    return Placements(worse, moves)


def _found(state: ClusterState, chooser: Chooser, margin: int) -> Iterator[Improvement]:
    for placed in list(state.placed_classes):
        for found in improvements(state, chooser, placed, margin):
            if found is not None:
                yield found


def _best(
    state: ClusterState, chooser: Chooser, placed: PlacedClass, margin: int
) -> Improvement | None:
    *_, best = best_improvement(state, chooser, placed, margin)
    return best


def _alike(state: ClusterState, found: Improvement) -> list[Pod]:
    """Return the pods that sit as badly as one of them, on its node."""
    pod = found.pod
    return [
        each
        for each in state.pods_on(pod.node or "")
        if each.pod_class is pod.pod_class and each.node_selection == pod.node_selection
    ]
