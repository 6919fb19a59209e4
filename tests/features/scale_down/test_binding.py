"""A bind says which pods a scale-down should take first."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.model.objects import Pod as ModelPod
from extender.core.ports import Hook
from extender.core.source import StillPicture
from extender.core.verbs.interaction import interact
from extender.features.binding.binds import Binds, NoApiServer
from extender.features.binding.outcome import BindOutcome, Bound
from extender.features.binding.part import Placing
from extender.features.scale_down.cost import COST
from extender.features.scale_down.rules import with_cost
from tests.answering import requests_of
from tests.builders import ZONE, Pod, model_node, node, pod, selector, term
from tests.features.binding.test_binds import binding
from tests.features.scale_down.ranked import READER, ranked_state, replica_mismatches, replicas_in
from tests.verbs.judging import AFFINITY

WEB = selector(app="web")


class CostlyBinder(NoApiServer):
    """Binds pods as it is told, and remembers what they cost."""

    def __init__(self, *outcomes: BindOutcome) -> None:
        self.outcomes = [*outcomes]
        self.costs: list[int | None] = []

    async def bind(self, pod: ModelPod, node: str, within: float) -> Bound:
        """End a bind, after others had a turn."""
        del node, within
        self.costs.append(None if (cost := pod.facet(COST)) is None else cost.value)
        await asyncio.sleep(0)
        return Bound(self.outcomes.pop(0) if self.outcomes else BindOutcome.BOUND)


class Ranking(Hook):
    """Gives ranks as the program does."""

    def __init__(self, state: ClusterState) -> None:
        self._replicas = replicas_in(state)

    def placing(self, pod: ModelPod, node: str) -> ModelPod:
        return with_cost(self._replicas, pod, node)


def replica(name: str) -> Pod:
    """Build a pod that prefers to be apart from its like."""
    return pod(name).labels(app="web").owned_by("ReplicaSet/web").avoids(1, term(ZONE, WEB))


def read(raw: Pod) -> ModelPod:
    """Read a pod as the extender does where it gives costs."""
    return READER.read(json.dumps(raw).encode())


def rig(binder: CostlyBinder, *pods: Pod, enabled: bool = True) -> tuple[ClusterState, Binds]:
    """Build what answers binds."""
    state = ranked_state() if enabled else ClusterState()
    for zone in "ab":
        state.upsert_node(model_node(node(zone, {ZONE: zone})))
    for raw in pods:
        state.upsert_pod(read(raw))
    in_flight = InFlightPods(partial(interact, state), hold=1.0)
    metrics, hooks = Metrics(), [Ranking(state)] if enabled else []
    requests = requests_of(state, metrics, unready=lambda: None, hooks=hooks)
    row = Placing.metrics(metrics.make)
    return state, Binds(
        requests, AFFINITY, binder, in_flight, row, picture=StillPicture({}, {}), clock=lambda: 0.0
    )


async def bind(binds: Binds, raw: Pod, name: str) -> Any:
    """Bind a pod; return the error."""
    return json.loads(await binds.answer(json.dumps(binding(raw, name)).encode()))["Error"]


PODS = [replica(f"p{number}") for number in range(4)]


async def test_binds_that_run_side_by_side_get_different_ranks() -> None:
    state, binds = rig(binder := CostlyBinder(), *PODS)
    places = zip(PODS, "aaba", strict=True)
    assert await asyncio.gather(*(bind(binds, *each) for each in places)) == [""] * 4
    assert binder.costs == [-1000, -2000, -1000, -3000]
    assert replica_mismatches(state) == []


async def test_a_rank_is_free_again_when_its_bind_was_refused() -> None:
    state, binds = rig(binder := CostlyBinder(BindOutcome.REFUSED), *PODS)
    for each in PODS[:2]:
        await bind(binds, each, "a")
    assert binder.costs == [-1000, -1000]
    assert replica_mismatches(state) == []


async def test_a_pod_that_is_bound_again_keeps_its_rank() -> None:
    _, binds = rig(binder := CostlyBinder(BindOutcome.INDETERMINATE), *PODS)
    for each in (PODS[0], PODS[1], PODS[0]):
        await bind(binds, each, "a")
    assert binder.costs == [-1000, -2000, -1000]


async def test_nothing_is_said_of_costs_where_nobody_asks() -> None:
    _, binds = rig(binder := CostlyBinder(), *PODS, enabled=False)
    await bind(binds, PODS[0], "a")
    assert binder.costs == [None]
