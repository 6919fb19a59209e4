"""Tasks that wait until the watch has shown something of a pod."""

from __future__ import annotations

import asyncio

from extender.core.cluster.state import ClusterState
from extender.core.controllers.pod_events import PodEvents
from tests.builders import model_pod, pod

PATIENCE_S = 5.0
"""Only a failure takes as long."""


async def test_who_waits_hears_of_the_event_and_of_no_other_pod() -> None:
    state = ClusterState()
    asked = 0

    def placed() -> bool:
        nonlocal asked
        asked += 1
        return "default/p" in state.pods

    events = PodEvents(state)
    waiting = asyncio.create_task(events.until(placed, ["default-p", "default-q"], PATIENCE_S))
    await asyncio.sleep(0)
    state.upsert_pod(model_pod(pod("stranger")))
    await asyncio.sleep(0)
    assert asked == 1
    state.upsert_pod(model_pod(pod("q")))
    await asyncio.sleep(0)
    assert asked == 2
    state.upsert_pod(model_pod(pod("p")))
    assert await waiting
    assert not events._waiting


async def test_who_waits_in_vain_is_told_so_in_time() -> None:
    events = PodEvents(ClusterState())
    assert not await events.until(lambda: False, ["p"], 0.001)
    assert not events._waiting


async def test_what_holds_already_takes_no_time() -> None:
    events = PodEvents(ClusterState())
    assert await events.until(lambda: True, ["p"], 0.0)


async def test_several_wait_for_the_end_of_a_pod() -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(pod("p")))
    events = PodEvents(state)
    tasks = [
        asyncio.create_task(events.until(lambda: not state.pods, ["default-p"], PATIENCE_S))
        for _ in range(3)
    ]
    await asyncio.sleep(0)
    assert len(events._waiting) == 1
    state.remove_pod("default/p", "default-p")
    for _ in range(3):
        await asyncio.sleep(0)
    assert [task.done() and task.result() for task in tasks] == [True] * 3
