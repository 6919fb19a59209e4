"""What the program gets where its counters are audited."""

from __future__ import annotations

import asyncio

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.config.document import decode, effective
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts
from extender.core.source import Source, StillPicture
from extender.core.warm_up import WarmUp
from extender.features.audit.part import Auditing, keep_auditing
from tests.builders import node, pod, selector, state_of, term
from tests.features.audit.example import OFF
from tests.ringing import ring

WAIT = 10.0
HEADER = {"apiVersion": "affinity-extender.io/v1", "kind": "AffinityExtenderConfiguration"}
METRIC = "affinity_extender_consistency_mismatches_total"


def wrong_state() -> ClusterState:
    """Build a state with a counter that is wrong."""
    loner = pod("a").anti_affinity(term("zone", selector(app="web"))).on("n")
    state = state_of([node("n", {"zone": "z"})], [], [loner])
    (existing_term,) = state.existing_terms
    existing_term.owners.counts.clear()
    return state


async def test_a_round_goes_on_after_what_is_wrong(caplog: pytest.LogCaptureFixture) -> None:
    row, state = Auditing.metrics(Metrics().make), wrong_state()
    state._node_resources.use("n", (("cpu", 100),), 1)
    auditing = asyncio.create_task(keep_auditing(state, row, pause=0))
    for _ in range(20):
        await asyncio.sleep(0)
    auditing.cancel()
    assert "recount: room on n" in caplog.text
    assert "recount: zone of " in caplog.text


async def test_a_wrong_counter_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    row = Auditing.metrics(Metrics().make)
    rung = ring(row)
    auditing = asyncio.create_task(keep_auditing(wrong_state(), row, pause=0))
    async with asyncio.timeout(WAIT):
        await rung.wait()
    auditing.cancel()
    assert "counters differ from a recount: zone of " in caplog.text


@pytest.mark.parametrize("on", [True, False])
async def test_it_is_on_unless_it_is_switched_off(*, on: bool) -> None:
    config = decode({**HEADER, **({} if on else OFF)})
    assert effective(config)["audit"] == {"enabled": on}
    state, metrics = ClusterState(), Metrics()
    source = Source("files", StillPicture({}, {}))
    warm_up, history = WarmUp(state, metrics), History()
    parts = build_parts(Context(config, source, state, metrics, lambda: None, warm_up, history))
    tasks = [task for part in parts for task in part.tasks()]
    for _, task in tasks:
        task.close()
    assert ["audit" in [name for name, _ in tasks], METRIC in metrics_of(metrics)] == [on, on]


def metrics_of(metrics: Metrics) -> set[str]:
    return {each.name for each in metrics.families}
