"""Drifted pods are told while the program runs: in the log, and as a number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from extender.cluster.audits.drift import DriftWatch
from extender.cluster.state import ClusterState
from extender.controllers.drift import keep_watching_drift
from extender.controllers.violations import MOST_LINES
from extender.metrics import Metrics
from tests.builders import ZONE, Json, model_pod, node, pod, requirement, selector, state_of, term
from tests.ringing import AwaitedGauge

WAIT = 10.0

NODES = [node("a1", {ZONE: "a"}), node("a2", {ZONE: "a"})]


@asynccontextmanager
async def watching_drift(
    state: ClusterState, unready: str | None = None
) -> AsyncIterator[AwaitedGauge]:
    """Watch without pauses."""
    metrics = Metrics()
    gauge = AwaitedGauge(metrics.drifted_pods)
    watch = DriftWatch(state)
    task = asyncio.create_task(
        keep_watching_drift(watch, metrics, lambda: unready, step_pause=0, round_pause=0.01)
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
        await gauge.shows(0)
        for name in ("w1", "w2"):
            state.upsert_pod(model_pod(tracked(name, "2")))
        await gauge.shows(2)
        state.upsert_pod(model_pod(tracked("w3", None)))
        await gauge.shows(3)
        for name in ("w1", "w2", "w3"):
            state.remove_pod(f"default/{name}", f"default-{name}")
        await gauge.shows(0)

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
        await gauge.shows(kinds)
    assert len(caplog.messages) == MOST_LINES + 1
    assert caplog.messages[-1] == "and 3 more kinds of pods like these"


async def test_no_drift_is_looked_for_before_everything_is_known() -> None:
    state = state_of(NODES, [], [tracked("w", "2")])
    async with watching_drift(state, unready="pods not synced yet") as gauge:
        await gauge.shows(0)
