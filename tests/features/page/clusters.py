"""Clusters to show: one of hostile names, and one of 5,000 nodes."""

from __future__ import annotations

import time

from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.cluster.state import ClusterState
from extender.core.controllers.history import EVICTION, History
from extender.core.metrics import Metrics
from extender.core.metrics.table import USUAL_CODES
from extender.core.model.objects import Node
from extender.core.model.verdict import Reason
from extender.features.page.activity import RESULTS
from extender.features.page.status import ResourceStatus
from tests.builders import (
    HOST,
    ZONE,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.features.every import objects
from tests.web.hostile import HOSTILE, SCRIPT
from tests.web.showing import Seen, shown


def of_hostile_names() -> Seen:
    """Show a cluster in which everybody who may name anything has done his worst."""
    pods = []
    for number, name in enumerate(HOSTILE):
        apart = term(ZONE, selector(**{name: name}), namespaces=[name, "other"])
        named = pod(f"{name}{number}", name).labels(**{name: name}).anti_affinity(apart)
        pods += [named.on(name), pod(f"b{name}", name).labels(**{name: name}).on(name)]
        pods.append(pod(f"waits{name}", name).labels(**{name: name}).anti_affinity(apart))
    limits = [
        {**each, "metadata": {**each["metadata"], "name": name, "namespace": name}}
        for name in HOSTILE
        for each in objects()
    ]
    state = state_of([], [], pods, limits)
    for place, name in enumerate(HOSTILE):
        # Where nodes are read, these names are refused.
        state.upsert_node(Node(name, {HOST: name, ZONE: f"{place}{name}", name: name}))
    seen = _of(state, {name: [f"waits{name}"] for name in HOSTILE}, SCRIPT)
    for result, name in zip(RESULTS, HOSTILE * 10, strict=False):
        seen.history.note(EVICTION, result, f"{name}/{name}", name, name * 2)
    return seen


def of_many_nodes(number: int = 5_000, waiting: int = 250) -> Seen:
    """Show a large cluster, most of whose pages have many parts."""
    nodes = [node(f"node-{i}", {HOST: f"node-{i}", ZONE: f"zone-{i % 10}"}) for i in range(number)]
    pods = []
    for each in range(0, number, 5):
        app, team = f"app-{each % 500}", f"team-{each % 500 % 40}"
        tier = "db" if each % 25 == 0 else "web"
        made = pod(f"{app}-{each}", team).labels(app=app, tier=tier)
        key = HOST if each % 3 else ZONE
        placed = made.anti_affinity(term(key, selector(app=app)))
        pods.append(placed.on(f"node-{each + each // 25 % 5}"))
    pods += [
        pod(f"waits-{i}", "team-1")
        .labels(app="app-1")
        .anti_affinity(term(ZONE, selector(tier="db"), namespaceSelector={}))
        for i in range(waiting)
    ]
    seen = _of(state_of(nodes, [], pods), {"team-1": [f"waits-{i}" for i in range(waiting)]})
    for each in range(2 * waiting):
        seen.history.note("hint", "set", f"team-1/waits-{each}", f"node-{each}")
    return seen


def _of(
    state: ClusterState, waiting: dict[str, list[str]], source: str = "https://10.0.0.1:6443"
) -> Seen:
    now, metrics, refused = time.time(), Metrics(), RefusedPods(state)
    for namespace, names in waiting.items():
        for name in names:
            found = state.pods[f"{namespace}/{name}"]
            refused.refused(found, ((Reason.ANTI_AFFINITY, ["a"] * 5_000),))
    for verb in ("filter", "prioritize", "bind", "preempt"):
        metrics.requests.begin((verb,), USUAL_CODES)
        for place in range(200):
            code = "200" if place % 50 else "499"
            metrics.requests.observe(0.0004 * (place % 7 + 1), verb, code)
    resources = ("namespaces", "nodes", "pods", "resourcequotas")
    status = {
        "source": source,
        "resources": tuple(
            ResourceStatus(name, synced=name != "pods", objects=5_000, last_event=now - 3)
            for name in resources
        ),
        "calls": {"filter": now - 2, "prioritize": now - 2, "bind": now - 60, "preempt": None},
    }
    return shown(
        state,
        metrics,
        status=lambda: status,
        refused=refused,
        history=History(),
    )
