"""Why a pod has to go for another one, for people to read."""

from __future__ import annotations

from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.verbs.plugins import Plugins

MOST_KEYS = 3
"""Topology keys named, at most."""


def ground_of(state: ClusterState, pod: Pod, victim: Pod, plugins: Plugins) -> str:
    """Say which rule a victim of a preemptor is in the way of, if any.

    For whoever may read the victim's namespace: the preemptor's name is told in its own alone.
    """
    known = pod.pod_class.namespace == victim.pod_class.namespace
    name = pod.key if known else "a pod of another namespace"
    own = state.class_of(pod)
    repelled: set[str] = set()
    repels: set[str] = set()
    for plugin in plugins:
        company = plugin.company(state, own, victim.pod_class)
        if company is not None:
            repelled |= company.repelled
            repels |= company.repels
    if repelled:
        return f"the required pod anti-affinity of {name} by {_named(repelled)} excludes it"
    if repels:
        return f"its required pod anti-affinity by {_named(repels)} excludes {name}"
    return f"{name} takes its room"


def _named(keys: set[str]) -> str:
    first = sorted(keys)[:MOST_KEYS]
    more = len(keys) - len(first)
    return " and ".join(first) + (f" and {more} more" if more else "")
