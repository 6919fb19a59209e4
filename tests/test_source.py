"""The state is audited while the program runs."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from extender.metrics import Metrics
from extender.source import keep_auditing
from tests.builders import node, pod, selector, state_of, term

WAIT = 10.0


class Alarm(Metrics):
    """Tells when a mismatch was counted."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry(), "test")
        self.rung = asyncio.Event()

    def count_mismatches(self, number: int) -> None:
        """Count, and ring."""
        super().count_mismatches(number)
        self.rung.set()


async def test_a_wrong_counter_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    loner = pod("a").anti_affinity(term("zone", selector(app="web"))).on("n")
    state = state_of([node("n", {"zone": "z"})], [], [loner])
    (carried,) = state.carried
    carried.owners.counts.clear()
    alarm = Alarm()
    auditing = asyncio.create_task(keep_auditing(state, alarm, pause=0))
    async with asyncio.timeout(WAIT):
        await alarm.rung.wait()
    auditing.cancel()
    assert "counters differ from a recount: zone of " in caplog.text
