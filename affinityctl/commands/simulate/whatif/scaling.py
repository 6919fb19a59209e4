"""Which pods are left of a workload with fewer, and which with the costs that features give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.labels import ZONE
from extender.core.model.objects import Pod
from extender.diagnosis.verbs.topologies import topologies

Spread: TypeAlias = Mapping[str, Mapping[str, int]]
"""By topology key, the number of pods in each domain that has, or had, some."""


class CostGiver(NamedTuple):
    field: str
    """Of the configuration, which switches it on."""
    given_costs: Callable[[ClusterState, Sequence[Pod]], Mapping[Key, int]]
    """Returns what pods would cost, where that is another cost than they have."""


@dataclass(frozen=True, slots=True)
class ScaledDown:
    """What is left of a workload that has fewer pods by now."""

    left: Spread
    with_costs: Spread
    """What would be left if the extender had given costs to its pods."""
    would_go: Sequence[Key]
    """The pods that would go then."""
    given_by: str
    """The field of the configuration by which the extender gives costs."""


def scaled_down(
    state: ClusterState,
    pods: Sequence[Pod],
    gone: Sequence[Pod],
    would_go: Sequence[Pod],
    given_by: str,
) -> ScaledDown:
    """Compare what is left of pods, some of which are gone, with what would be left of them."""
    placed = [pod for pod in pods if pod.node is not None]
    keys = topologies(state, state.in_force(pods[0]).pod_class) or [ZONE]

    def left(without: Sequence[Pod]) -> Spread:
        names = {pod.key for pod in without}
        return {key: _spread(state, placed, names, key) for key in keys}

    return ScaledDown(left(gone), left(would_go), [pod.key for pod in would_go], given_by)


def _spread(
    state: ClusterState, pods: Iterable[Pod], without: set[Key], key: str
) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for pod in pods:
        domain = state.nodes.labels(pod.node or "").get(key)
        if domain is not None:
            counts[domain] += pod.key not in without
    return dict(sorted(counts.items()))
