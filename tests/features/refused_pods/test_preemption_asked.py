"""What preempt answers for the candidates of the scheduler."""

from __future__ import annotations

import pytest

from extender.core.verbs.preempting import rank
from extender.features.refused_pods.preemption import CYCLE_SECONDS
from tests.builders import model_pod
from tests.features.refused_pods.preempting import ON_A, ON_B, ROCKY, A, B, PreemptionRig
from tests.important_pods import HIGH, MIDDLE, db, important, plain, server


async def test_what_filter_has_just_said_counts_when_no_candidate_helps() -> None:
    full = server("full", pods="1")
    rig = PreemptionRig([full, A], db("rock", "full", HIGH), ON_A, important())
    rig.refuse("important", "a")
    rig.controller.unhelped(model_pod(important()))
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


FILLER = plain("filler", "full", MIDDLE)
FULL = server("full", pods="1")
NAMED = rank([model_pod(FILLER)], 0)
"""How bad it is to evict the filler, whom the scheduler has named."""


async def has_better_ones(rig: PreemptionRig) -> bool:
    """Ask as preempt does, with the filler as the scheduler's victim."""
    return await rig.controller.has_better_ones(model_pod(important()), NAMED)


@pytest.mark.parametrize(
    ("seconds", "counts"), [(CYCLE_SECONDS - 0.01, True), (CYCLE_SECONDS, False)]
)
async def test_what_filter_said_counts_in_the_same_cycle_alone(
    seconds: float, *, counts: bool
) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, important())
    rig.refuse()
    rig.now += seconds
    assert await has_better_ones(rig) is counts


async def test_a_better_victim_where_only_we_refuse() -> None:
    rig = PreemptionRig([FULL, A], FILLER, ON_A, important())
    rig.refuse("important", "a")
    assert await has_better_ones(rig)
    rig.controller.unhelped(model_pod(important()))
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


async def test_a_comparison_takes_no_node_of_a_ranking() -> None:
    rig = PreemptionRig([FULL, A, B], FILLER, ON_A, ON_B, important())
    rig.refuse("important", "a", "b")
    for _ in range(2):
        assert await has_better_ones(rig)
    rig.controller.unhelped(model_pod(important()))
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


async def test_a_victim_for_room_whom_the_scheduler_has_not_named_is_none_of_ours() -> None:
    """Another rule of the scheduler's may keep the pod from that node."""
    fuller = server("fuller", pods="1")
    rig = PreemptionRig(
        [FULL, fuller, A], FILLER, plain("cheap", "fuller"), db("rock", "a", HIGH), important()
    )
    rig.refuse("important", "a")
    assert not await has_better_ones(rig)


async def test_where_only_we_refuse_comes_before_where_room_is_missing() -> None:
    fuller = server("fuller", pods="1")
    on_a = db("on-a", "a", MIDDLE)
    rig = PreemptionRig([fuller, A], plain("cheap", "fuller"), on_a, important())
    rig.refuse("important", "a")
    await rig.pass_time()
    assert rig.evicted() == ["on-a"]


async def test_a_pod_of_a_group_is_evicted_for_nobody() -> None:
    solo, gang = db("solo", "b", MIDDLE), db("gang", "a").in_group("gang")
    rig = PreemptionRig([A, B], solo, gang, important())
    rig.refuse()
    await rig.pass_time()
    assert rig.evicted() == ["solo"]


async def test_a_pod_that_no_candidate_helps_is_looked_after_everywhere() -> None:
    rocks = [db(f"on-{name}", name, HIGH) for name in ROCKY]
    nodes = [FULL, *map(server, ROCKY)]
    rig = PreemptionRig(nodes, *rocks, plain("x", "full"), important())
    rig.controller.unhelped(model_pod(important()))
    await rig.pass_time()
    assert rig.evicted() == ["x"]
