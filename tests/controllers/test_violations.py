"""Broken rules are told while the program runs: in the log, and as a number."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry

from extender.cluster.state import ClusterState
from extender.controllers.violations import (
    MOST_LINES,
    keep_patrolling,
)
from extender.metrics import Metrics
from tests.builders import ZONE, model_pod, node, pod, selector, state_of, term

PLUGIN = "InterPodAffinity"
WAIT = 10.0

NODES = [node("a1", {ZONE: "a"}), node("a2", {ZONE: "a"})]
GUARD = pod("guard").anti_affinity(term(ZONE, selector(app="web"))).on("a1")
PLAIN = pod("plain").labels(app="web").on("a2")
NEAR_DB = pod("api").affinity(term(ZONE, selector(app="db"))).on("a1")


class Gauge(Metrics):
    """Tells how many broken rules have been noted."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        super().__init__(self.registry, "test")
        self._noted = asyncio.Event()

    def set_violations(self, plugin: str, rule: str, number: int) -> None:
        """Note the number, and wake who waits for it."""
        super().set_violations(plugin, rule, number)
        self._noted.set()

    async def shows(self, rule: str, number: int) -> None:
        """Return once so many rules of a kind are noted as broken."""
        labels = {"plugin": PLUGIN, "rule": rule}
        async with asyncio.timeout(WAIT):
            while self.registry.get_sample_value("affinity_extender_violations", labels) != number:
                await self._noted.wait()
                self._noted.clear()


@asynccontextmanager
async def patrolling(state: ClusterState, unready: str | None = None) -> AsyncIterator[Gauge]:
    """Patrol without pauses."""
    gauge = Gauge()
    task = asyncio.create_task(
        keep_patrolling(state, gauge, PLUGIN, lambda: unready, step_pause=0, round_pause=0)
    )
    try:
        yield gauge
    finally:
        task.cancel()


async def test_a_violation_is_told_when_it_begins_and_when_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "extender.controllers.violations")
    state = state_of(NODES, [], [GUARD])
    async with patrolling(state) as gauge:
        await gauge.shows("antiAffinity", 0)
        assert caplog.messages == []

        state.upsert_pod(model_pod(PLAIN))
        await gauge.shows("antiAffinity", 1)
        state.remove_pod("default/plain", "default-plain")
        await gauge.shows("antiAffinity", 0)

    which = "(pods with app in (web) in namespace default)"
    begun = f"is broken: default/guard must not share {ZONE}=a with default/plain {which}"
    ended = f"is met again in {ZONE}=a: it was broken for default/guard {which}"
    assert caplog.messages == [f"required anti-affinity {end}" for end in (begun, ended)]


async def test_a_pod_without_company_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    state = state_of(NODES, [], [NEAR_DB])
    async with patrolling(state) as gauge:
        await gauge.shows("affinity", 1)
        await gauge.shows("antiAffinity", 0)
    which = "(pods with app in (db) in namespace default)"
    begun = f"is broken: default/api has no matching pod in {ZONE}=a {which}"
    assert caplog.messages == [f"required affinity {begun}"]


async def test_a_cluster_that_is_not_known_yet_is_not_judged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with patrolling(state_of(NODES, [], [NEAR_DB]), "pods not synced yet") as gauge:
        await gauge.shows("affinity", 0)
    assert caplog.messages == []


async def test_a_flood_is_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    number = MOST_LINES + 3
    guards = [
        pod(f"guard-{n}").anti_affinity(term(ZONE, selector(app="web"), namespaces=[f"n{n}"]))
        for n in range(number)
    ]
    webs = [pod("plain", f"n{n}").labels(app="web").on("a2") for n in range(number)]
    state = state_of(NODES, [], [*(guard.on("a1") for guard in guards), *webs])
    async with patrolling(state) as gauge:
        await gauge.shows("antiAffinity", number)
    assert len(caplog.messages) == MOST_LINES + 1
    assert caplog.messages[-1] == "and 3 more like these"
