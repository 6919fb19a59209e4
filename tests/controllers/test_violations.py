"""Broken rules are told while the program runs: in the log, and as a number."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry

from extender.cluster.audits.drift import DriftWatch
from extender.cluster.state import ClusterState
from extender.controllers.violations import (
    MOST_LINES,
    describe,
    keep_patrolling,
    keep_watching_drift,
)
from extender.metrics import Metrics
from tests.builders import Json, model_pod, node, pod, requirement, selector, state_of, term

ZONE = "topology.kubernetes.io/zone"
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

    def set_drifted(self, pods: int) -> None:
        """Note the number, and wake who waits for it."""
        super().set_drifted(pods)
        self._noted.set()

    async def shows_drifted(self, pods: int) -> None:
        """Return once so many pods are noted as drifted."""
        async with asyncio.timeout(WAIT):
            while self.registry.get_sample_value("affinity_extender_drifted_pods") != pods:
                await self._noted.wait()
                self._noted.clear()

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

    which = "(pods with app in (web) in namespaces default)"
    begun = f"is broken: default/guard must not share {ZONE}=a with default/plain {which}"
    ended = f"is met again in {ZONE}=a: it was broken for default/guard {which}"
    assert caplog.messages == [f"required anti-affinity {end}" for end in (begun, ended)]


async def test_a_pod_without_company_is_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    state = state_of(NODES, [], [NEAR_DB])
    async with patrolling(state) as gauge:
        await gauge.shows("affinity", 1)
        await gauge.shows("antiAffinity", 0)
    which = "(pods with app in (db) in namespaces default)"
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


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(
            term(ZONE, selector(app="web")), "pods with app in (web) in namespaces own", id="plain"
        ),
        pytest.param(
            term(
                ZONE,
                selector(
                    requirement("app", "NotIn", "b", "a"),
                    requirement("old", "DoesNotExist"),
                    requirement("tier", "Exists"),
                ),
                namespaces=["y", "x"],
            ),
            "pods with app notin (a,b),!old,tier in namespaces x, y",
            id="every operator",
        ),
        pytest.param(
            term(ZONE, selector(), namespaceSelector=selector(team="red")),
            "pods with any labels in namespaces with team in (red)",
            id="namespaces by their labels",
        ),
        pytest.param(
            term(ZONE, selector(), namespaces=["x"], namespaceSelector=selector()),
            "pods with any labels in namespaces x and namespaces with any labels",
            id="namespaces by both",
        ),
        pytest.param(term(ZONE), "pods with nothing in namespaces own", id="no selector"),
    ],
)
def test_a_term_is_described(raw: Json, expected: str) -> None:
    (found,) = model_pod(pod("p", "own").anti_affinity(raw)).pod_class.affinity.required_anti
    assert describe(found.pods) == expected


@asynccontextmanager
async def watching_drift(state: ClusterState, unready: str | None = None) -> AsyncIterator[Gauge]:
    """Watch without pauses."""
    gauge = Gauge()
    watch = DriftWatch(state)
    task = asyncio.create_task(
        keep_watching_drift(watch, gauge, lambda: unready, step_pause=0, round_pause=0.01)
    )
    try:
        yield gauge
    finally:
        task.cancel()


def tracked(name: str, version: str | None) -> Json:
    """Build a pod that was created with version 1."""
    stored = selector(requirement("version", "In", "1"), app="web")
    labelled = pod(name).labels({"version": version} if version else {}).on("a1")
    return labelled.anti_affinity(term(ZONE, stored, matchLabelKeys=["version"]))


async def test_labels_that_rules_do_not_follow_are_told(caplog: pytest.LogCaptureFixture) -> None:
    state = state_of(NODES, [], [tracked("w1", "1"), tracked("w2", "1"), tracked("w3", "1")])
    async with watching_drift(state) as gauge:
        await gauge.shows_drifted(0)
        for name in ("w1", "w2"):
            state.upsert_pod(model_pod(tracked(name, "2")))
        await gauge.shows_drifted(2)
        state.upsert_pod(model_pod(tracked("w3", None)))
        await gauge.shows_drifted(3)
        for name in ("w1", "w2", "w3"):
            state.remove_pod(f"default/{name}", f"default-{name}")
        await gauge.shows_drifted(0)

    told = "labels were edited that matchLabelKeys or mismatchLabelKeys name: default"
    kept = "its rules stay as they were when it was created"
    assert caplog.messages == [
        f"{told}/w1 (and 1 more alike), version from 1 to 2; {kept}",
        f"{told}/w3, version from 1 to nothing; {kept}",
    ]


async def test_only_so_many_kinds_of_drift_are_told(caplog: pytest.LogCaptureFixture) -> None:
    kinds = MOST_LINES + 3
    state = state_of(NODES, [], [tracked(f"w{n}", f"edited-{n}") for n in range(kinds)])
    async with watching_drift(state) as gauge:
        await gauge.shows_drifted(kinds)
    assert len(caplog.messages) == MOST_LINES + 1
    assert caplog.messages[-1] == "and 3 more kinds of pods like these"


async def test_no_drift_is_looked_for_before_everything_is_known() -> None:
    state = state_of(NODES, [], [tracked("w", "2")])
    async with watching_drift(state, unready="pods not synced yet") as gauge:
        await gauge.shows_drifted(0)
