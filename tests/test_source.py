"""The state is audited while the program runs."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from extender.metrics import Metrics
from extender.source import keep_auditing
from tests.builders import node, pod, selector, state_of, term

WAIT = 10.0


async def test_a_wrong_counter_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    loner = pod("a").anti_affinity(term("zone", selector(app="web"))).on("n")
    state = state_of([node("n", {"zone": "z"})], [], [loner])
    (carried,) = state.carried
    carried.owners.counts.clear()
    registry = CollectorRegistry()
    auditing = asyncio.create_task(keep_auditing(state, Metrics(registry, "test"), pause=0))
    async with asyncio.timeout(WAIT):
        while not registry.get_sample_value("affinity_extender_consistency_mismatches_total"):
            await asyncio.sleep(0)
    auditing.cancel()
    assert "counters differ from a recount: zone of " in caplog.text
