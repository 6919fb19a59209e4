"""What a move has to make good: one more that is ready than there are without the pod that went."""

from __future__ import annotations

from itertools import product

import pytest

from extender.features.moving.moves import PROVEN_SECONDS, End, Move, Moves
from tests.builders import HOST, Pod, model_pod, node, pod, state_of
from tests.clock import Clock
from tests.features.moving.booked import books_over


def replica(name: str, on: str, *, ready: bool) -> Pod:
    made = pod(name).owned_by("ReplicaSet/web").on(on)
    return made.ready() if ready else made


@pytest.mark.parametrize(("ready", "others"), [*product((False, True), range(3))])
def test_a_move_has_landed_once_one_more_is_ready_than_without_the_pod_that_went(
    others: int, *, ready: bool
) -> None:
    """So the successor of a pod that was not ready has to be: it is not made good by the others."""
    there = [replica(f"other{number}", "a", ready=number < others) for number in range(2)]
    gone = replica("gone", "a", ready=ready)
    state = state_of([node(name, {HOST: name}) for name in "ab"], [], [*there, gone])
    clock, ends = Clock(1_000.0), list[End]()
    moves = Moves(books_over(state), clock, 10)

    def ended(_: Move, end: End) -> None:
        ends.append(end)

    moved = model_pod(gone)
    assert moved.controller is not None
    assert moves.begin(moved, "b", ended=ended) is not None
    moves.settle(moved.controller, kept=True)
    state.remove_pod(moved.key, moved.uid)
    state.upsert_pod(model_pod(replica("next", "b", ready=False)))
    for _ in range(3):
        clock.now += PROVEN_SECONDS
        moves.look()
    assert ends == []
    state.upsert_pod(model_pod(replica("next", "b", ready=True)))
    for _ in range(2):
        moves.look()
        clock.now += PROVEN_SECONDS
    moves.look()
    assert ends == [End.LANDED]
