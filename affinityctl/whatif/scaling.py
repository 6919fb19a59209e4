"""Which pods a scale-down leaves, and which it would with the costs that the extender gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from extender.cluster.ledgers.replicas import Replica, replica_of
from extender.cluster.state import ClusterState
from extender.model.keys import Key
from extender.model.labels import ZONE
from extender.model.objects import Controller, Pod
from extender.verbs.scale_down import corrections, topologies

Spread: TypeAlias = Mapping[str, Mapping[str, int]]
"""By topology key, the number of pods in each domain that has, or had, some."""


@dataclass(frozen=True, slots=True)
class ScaledDown:
    """What is left of a workload that has fewer pods by now."""

    left: Spread
    with_costs: Spread
    """What would be left if the extender had given costs to its pods."""
    would_go: Sequence[Key]
    """The pods that would go then."""


def given_costs(state: ClusterState, pods: Iterable[Pod]) -> dict[Key, int]:
    """Return what pods would cost if the extender gave costs, where that is another cost."""
    replicas: dict[Controller, list[Replica]] = {}
    for pod in pods:
        replica = None if pod.node is None else replica_of(pod, pod.node)
        if replica is not None and pod.controller is not None:
            replicas.setdefault(pod.controller, []).append(replica)
    found = (corrections(state, each) for each in replicas.values())
    return {each.pod.key: each.cost for changes in found for each in changes}


def scaled_down(
    state: ClusterState, pods: Sequence[Pod], gone: Sequence[Pod], would_go: Sequence[Pod]
) -> ScaledDown:
    """Compare what is left of pods, some of which are gone, with what would be left of them."""
    placed = [pod for pod in pods if pod.node is not None]
    keys = topologies(state, state.in_force(pods[0]).pod_class) or [ZONE]

    def left(without: Sequence[Pod]) -> Spread:
        names = {pod.key for pod in without}
        return {key: _spread(state, placed, names, key) for key in keys}

    return ScaledDown(left(gone), left(would_go), [pod.key for pod in would_go])


def _spread(
    state: ClusterState, pods: Iterable[Pod], without: set[Key], key: str
) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for pod in pods:
        domain = state.nodes.labels(pod.node or "").get(key)
        if domain is not None:
            counts[domain] += pod.key not in without
    return dict(sorted(counts.items()))
