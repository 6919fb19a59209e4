"""The slow truth: every counter again from scratch, to compare the live ones with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from extender.cluster.carried import Role
from extender.cluster.counted import PodSelectors
from extender.cluster.state import ClusterState
from extender.model.labels import NO_LABELS
from extender.model.objects import Pod
from extender.model.pod_affinity import Affinity, Term

TableName: TypeAlias = tuple[Term, Role] | tuple[PodSelectors, str]
Tables: TypeAlias = dict[TableName, dict[str, int]]
"""Per table the non-zero counts by the domain's label value."""


def live(state: ClusterState) -> Tables:
    """Return the counters as they stand."""
    tables: Tables = {}
    for carried in state.carried:
        tables[carried.term, carried.role] = carried.owners.by_value()
    for counted in state.counted:
        tables[counted.selectors, counted.table.topology.key] = counted.table.by_value()
    return tables


def recount(state: ClusterState) -> Tables:
    """Return the counters as the pods, nodes and namespaces say; O(pods x tables)."""
    placed = [pod for pod in state.pods.values() if pod.node is not None]
    tables: dict[TableName, Counter[str]] = {}
    for pod in placed:
        for term, role, weight in _carried_by(pod.pod_class.affinity):
            table = tables.setdefault((term, role), Counter())
            _count(state, table, pod, term.topology_key, weight)
    for counted in state.counted:
        key = counted.table.topology.key
        table = tables.setdefault((counted.selectors, key), Counter())
        for pod in placed:
            if _matches(state, counted.selectors, pod):
                _count(state, table, pod, key, 1)
    return {
        name: {value: count for value, count in table.items() if count}
        for name, table in tables.items()
    }


def mismatches(state: ClusterState) -> list[TableName]:
    """Return the tables whose live counters differ from the recount; none in a sound state."""
    counted, truth = live(state), recount(state)
    return [name for name in {**counted, **truth} if counted.get(name) != truth.get(name)]


def _count(state: ClusterState, table: Counter[str], pod: Pod, key: str, amount: int) -> None:
    value = state.nodes.labels(pod.node or "").get(key)
    if value is not None:
        table[value] += amount


def _matches(state: ClusterState, selectors: PodSelectors, pod: Pod) -> bool:
    pod_class = pod.pod_class
    namespace_labels = state.namespaces.get(pod.namespace, NO_LABELS)
    return all(
        pods.matches(pod.namespace, namespace_labels, pod_class.labels) for pods in selectors
    )


def _carried_by(affinity: Affinity) -> Iterable[tuple[Term, Role, int]]:
    yield from ((term, Role.REQUIRED, 1) for term in affinity.required)
    yield from ((term, Role.REQUIRED_ANTI, 1) for term in affinity.required_anti)
    yield from ((w.term, Role.PREFERRED, w.weight) for w in affinity.preferred)
