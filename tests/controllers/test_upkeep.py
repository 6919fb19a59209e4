"""What goes on in the state while the program runs: reservations expire, the rest is tidied up."""

from __future__ import annotations

import asyncio

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.controllers.upkeep import EXPIRED_LOG_BURST, keep_expiring
from tests.builders import model_pod, pod


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
