"""What goes on in the state while the program runs: reservations expire, the rest is tidied up."""

from __future__ import annotations

import asyncio

import pytest

from extender.cluster.state import ClusterState
from extender.controllers.upkeep import EXPIRED_LOG_BURST, keep_expiring, keep_up_to_date
from tests.builders import model_pod, node, pod, state_of
from tests.hostile import hostile


async def test_hundreds_of_expired_reservations_are_a_few_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = ClusterState()
    for number in range(300):
        state.reserve(model_pod(pod(f"lost-{number}")), "a", deadline=0.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await keep_expiring(state, clock=lambda: 1.0)
    assert len(state.reservations) == 0
    assert len(caplog.records) == EXPIRED_LOG_BURST
    assert caplog.messages[0] == (
        "reservation of default/lost-0 on a expired: the watch never showed the pod there"
    )


async def test_what_large_pods_leave_behind_goes_without_further_events() -> None:
    state = state_of([node("n1", {})], [], [hostile(3000).on("n1")])
    (large,) = state.existing_terms.large
    state.remove_pod("ns0/hostile", "ns0-hostile")
    assert large.terms, "they are let go of little by little"
    tidying = asyncio.create_task(keep_up_to_date(state, pause=0, rest=0))
    for _ in range(100):
        await asyncio.sleep(0)
    tidying.cancel()
    assert not large.terms
