"""What goes on in the state while the program runs: it is audited, and reservations expire."""

from __future__ import annotations

import asyncio

import pytest

from extender.cluster.state import ClusterState
from extender.controllers.upkeep import (
    EXPIRED_LOG_BURST,
    keep_auditing,
    keep_expiring,
    keep_up_to_date,
)
from extender.metrics import Metrics
from tests.builders import model_pod, node, pod, selector, state_of, term
from tests.hostile import hostile
from tests.ringing import ring

WAIT = 10.0


async def test_a_wrong_counter_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    loner = pod("a").anti_affinity(term("zone", selector(app="web"))).on("n")
    state = state_of([node("n", {"zone": "z"})], [], [loner])
    (existing_term,) = state.existing_terms
    existing_term.owners.counts.clear()
    metrics = Metrics()
    rung = ring(metrics.mismatches)
    auditing = asyncio.create_task(keep_auditing(state, metrics, pause=0))
    async with asyncio.timeout(WAIT):
        await rung.wait()
    auditing.cancel()
    assert "counters differ from a recount: zone of " in caplog.text


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
