"""Clusters with room, and what a simulation of them is compared with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from affinityctl.commands.simulate.applied import SimulationReader
from affinityctl.commands.simulate.whatif.deletion_order import Lives
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import EVERYTHING, Selector
from extender.core.model.objects import Pod as ModelPod
from tests import strategies
from tests.beside import covering
from tests.builders import Pod, model_namespace, model_node

NOW = datetime(2026, 1, 5, tzinfo=UTC).timestamp()
"""When controllers look at pods."""
Json = Mapping[str, Any]

ROOM = {"cpu": "2", "memory": "4Gi", "pods": "6"}
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


def read(raw: Json) -> ModelPod:
    return SimulationReader().read(json.dumps(raw).encode())


def scheduler_of(
    nodes: Iterable[Json],
    namespaces: Iterable[Json],
    pods: Iterable[Json],
    seed: int = 0,
    annotations: Selector | None = EVERYTHING,
) -> Scheduler:
    state = ClusterState(scope=covering(annotations))
    for raw in nodes:
        state.upsert_node(model_node(raw))
    for raw in namespaces:
        state.upsert_namespace(model_namespace(raw))
    reader = SimulationReader()
    for raw in pods:
        state.upsert_pod(reader.read(json.dumps(raw).encode()))
    return Scheduler(state, random.Random(seed).random, lives=Lives(reader.lives, NOW))


@st.composite
def with_room(draw: st.DrawFn, raw: Json) -> Json:
    """Give a node room, and now and then a taint."""
    room = {**ROOM, "pods": draw(st.sampled_from(["1", "2", "6"]))}
    taints = [TAINT] if draw(strategies.rarely(5)) else []
    return {**raw, "spec": {"taints": taints}, "status": {"allocatable": room}}


@st.composite
def asking(draw: st.DrawFn, raw: Json) -> Json:
    """Have a pod ask for room, and now and then for a port of its node."""
    pod = Pod(raw).requests(cpu=draw(st.sampled_from(["100m", "600m", "1500m"])))
    if draw(strategies.rarely(4)):
        pod = pod.host_port(8080)
    if draw(strategies.rarely(3)):
        pod["spec"]["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return pod
