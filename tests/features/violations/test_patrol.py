"""Broken rules are told while the program runs: in the log, and as a number."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.ports import Check
from extender.diagnosis.verbs.violations import Watch
from extender.features.violations.part import Patrol
from extender.features.violations.patrol import MOST_LINES, keep_patrolling
from tests.builders import ZONE, model_pod, node, pod, selector, state_of, term
from tests.ringing import AwaitedGauge

PLUGIN = "InterPodAffinity"
WAIT = 10.0

NODES = [node("a1", {ZONE: "a"}), node("a2", {ZONE: "a"})]
GUARD = pod("guard").anti_affinity(term(ZONE, selector(app="web"))).on("a1")
PLAIN = pod("plain").labels(app="web").on("a2")
NEAR_DB = pod("api").affinity(term(ZONE, selector(app="db"))).on("a1")


@asynccontextmanager
async def patrolling(
    state: ClusterState, unready: Check = lambda: None
) -> AsyncIterator[AwaitedGauge]:
    """Patrol without pauses."""
    row = Patrol.metrics(Metrics().make)
    gauge, watch = AwaitedGauge(row), Watch(state)
    patrol = keep_patrolling(
        *(state, row, PLUGIN, unready), watch=watch, step_pause=0, round_pause=0
    )
    task = asyncio.create_task(patrol)
    try:
        yield gauge
    finally:
        task.cancel()


async def logged(caplog: pytest.LogCaptureFixture, lines: int) -> None:
    """Return once the round is over that has so many lines."""
    async with asyncio.timeout(WAIT):
        while len(caplog.messages) < lines:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_a_violation_is_told_when_it_begins_and_when_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "extender.features.violations.patrol")
    state = state_of(NODES, [], [GUARD])
    async with patrolling(state) as gauge:
        await gauge.shows(0, PLUGIN, "antiAffinity")
        assert caplog.messages == []

        state.upsert_pod(model_pod(PLAIN))
        await gauge.shows(1, PLUGIN, "antiAffinity")
        state.remove_pod("default/plain", "default-plain")
        await gauge.shows(0, PLUGIN, "antiAffinity")

    which = "(pods with app in (web) in namespace default)"
    begun = f"is broken: default/guard must not share {ZONE}=a with default/plain {which}"
    ended = f"is met again in {ZONE}=a: it was broken for default/guard {which}"
    assert caplog.messages == [f"required anti-affinity {end}" for end in (begun, ended)]


async def test_a_pod_without_company_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    state = state_of(NODES, [], [NEAR_DB])
    async with patrolling(state) as gauge:
        await gauge.shows(1, PLUGIN, "affinity")
        await gauge.shows(0, PLUGIN, "antiAffinity")
        await logged(caplog, 1)
    which = "(pods with app in (db) in namespace default)"
    begun = f"is broken: default/api has no matching pod in {ZONE}=a {which}"
    assert caplog.messages == [f"required affinity {begun}"]


async def test_a_cluster_that_is_not_known_yet_is_not_judged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = 0

    def unready() -> str:
        nonlocal asked
        asked += 1
        return "pods not synced yet"

    async with asyncio.timeout(WAIT), patrolling(state_of(NODES, [], [NEAR_DB]), unready) as gauge:
        while asked < 5:  # noqa: ASYNC110 - rounds, each of which asks
            await asyncio.sleep(0)
        await gauge.shows(0, PLUGIN, "affinity")
    assert caplog.messages == []


async def test_what_is_known_stays_so_while_the_cluster_is_not() -> None:
    state, why, asked = state_of(NODES, [], [NEAR_DB]), "", 0

    def unready() -> str | None:
        nonlocal asked
        asked += 1
        return why or None

    async with asyncio.timeout(WAIT), patrolling(state, unready) as gauge:
        await gauge.shows(1, PLUGIN, "affinity")
        why, asked = "pods not synced yet", 0
        state.remove_pod("default/api", "default-api")
        while asked < 5:  # noqa: ASYNC110 - rounds, each of which asks
            await asyncio.sleep(0)
        await gauge.shows(1, PLUGIN, "affinity")
        why = ""
        await gauge.shows(0, PLUGIN, "affinity")


async def test_a_rule_that_is_broken_in_many_domains_takes_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nodes = [node(f"n{n}", {ZONE: f"z{n}"}) for n in range(30)]
    apart = term(ZONE, selector(app="web"))
    webs = [
        pod(f"{replica}-{n}").labels(app="web").anti_affinity(apart).on(f"n{n}")
        for n in range(30)
        for replica in ("one", "two")
    ]
    async with patrolling(state_of(nodes, [], webs)) as gauge:
        await gauge.shows(30, PLUGIN, "antiAffinity")
        await logged(caplog, 1)
    (line,) = caplog.messages
    assert line.endswith("(pods with app in (web) in namespace default), and so in 29 more domains")


async def test_a_flood_is_cut_short(caplog: pytest.LogCaptureFixture) -> None:
    number = MOST_LINES + 3
    guards = [
        pod(f"guard-{n}").anti_affinity(term(ZONE, selector(app="web"), namespaces=[f"n{n}"]))
        for n in range(number)
    ]
    webs = [pod("plain", f"n{n}").labels(app="web").on("a2") for n in range(number)]
    state = state_of(NODES, [], [*(guard.on("a1") for guard in guards), *webs])
    async with patrolling(state) as gauge:
        await gauge.shows(number, PLUGIN, "antiAffinity")
        await logged(caplog, MOST_LINES + 1)
    assert len(caplog.messages) == MOST_LINES + 1
    assert caplog.messages[-1] == "and 3 more rules; /page/violations has all"
