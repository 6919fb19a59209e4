"""The mirrored resources, and how their objects get into the cluster state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from extender.kube.apart import ApartReader
from extender.kube.frames import Resource
from extender.kube.reflector import Reflector
from extender.wire.objects import NodeReader, read_budget, read_namespace
from extender.wire.quotas import read_quota

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from extender.cluster.state import ClusterState
    from extender.kube.client import ApiClient
    from extender.kube.observers import ReflectorObserver
    from extender.kube.pacing import Timing
    from extender.model.disruption import PodDisruptionBudget
    from extender.model.objects import Namespace, Node, Pod
    from extender.model.quota import ResourceQuota
    from extender.wire.objects import PodReader

NOT_TERMINAL: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""kube-scheduler's selector: a pod that ends is DELETED from our view of the world."""


class PodSink:
    """Pods into the cluster state; one that has ended goes, however we learn of it."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def keys(self) -> AbstractSet[str]:
        """Return namespace/name of all pods."""
        return self._state.pods.keys()

    def uid(self, key: str) -> str:
        """Return the uid of a pod, "" when it has just gone."""
        pod = self._state.pods.get(key)
        return "" if pod is None else pod.uid

    def promised(self) -> AbstractSet[tuple[str, str]]:
        """Return key and uid of the pods that hold reservations and that no watch has shown."""
        return {each for each in self._state.reservations.pods() if self.uid(each[0]) != each[1]}

    def upsert(self, obj: Pod) -> None:
        """Add or change a pod, or take its successor of the same name."""
        self._state.upsert_pod(obj)

    def delete(self, key: str, uid: str) -> None:
        """Forget a pod."""
        self._state.remove_pod(key, uid)


class NodeSink:
    """Nodes into the cluster state, which knows them by name alone."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def keys(self) -> AbstractSet[str]:
        """Return the names of all nodes."""
        return frozenset(self._state.nodes)

    def uid(self, key: str) -> str:
        """Return "": a node of the same name takes the old one's place."""
        del key
        return ""

    def upsert(self, obj: Node) -> None:
        """Add a node or change its labels."""
        self._state.upsert_node(obj)

    def delete(self, key: str, uid: str) -> None:
        """Forget a node; its pods wait for it."""
        del uid
        self._state.remove_node(key)


class NamespaceSink:
    """Namespaces into the cluster state, which knows them by name alone."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def keys(self) -> AbstractSet[str]:
        """Return the names of all namespaces."""
        return self._state.namespaces.keys()

    def uid(self, key: str) -> str:
        """Return "": a namespace of the same name takes the old one's place."""
        del key
        return ""

    def upsert(self, obj: Namespace) -> None:
        """Add a namespace or change its labels."""
        self._state.upsert_namespace(obj)

    def delete(self, key: str, uid: str) -> None:
        """Forget a namespace; pods left in it are in one without labels."""
        del uid
        self._state.remove_namespace(key)


class BudgetSink:
    """Disruption budgets into the cluster state."""

    def __init__(self, state: ClusterState) -> None:
        self._budgets = state.budgets

    def keys(self) -> AbstractSet[str]:
        """Return namespace/name of all budgets."""
        return frozenset(self._budgets)

    def uid(self, key: str) -> str:
        """Return the uid of a budget, "" when it has just gone."""
        budget = self._budgets.get(key)
        return "" if budget is None else budget.uid

    def upsert(self, obj: PodDisruptionBudget) -> None:
        """Add or change a budget, or take its successor of the same name."""
        self._budgets.upsert(obj)

    def delete(self, key: str, uid: str) -> None:
        """Forget a budget."""
        self._budgets.remove(key, uid)


class QuotaSink:
    """Quotas into the cluster state, which keeps those about cross-namespace affinity."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def keys(self) -> AbstractSet[str]:
        """Return namespace/name of the quotas that are kept."""
        return frozenset(self._state.quotas)

    def uid(self, key: str) -> str:
        """Return the uid of a quota, "" when it is not kept."""
        quota = self._state.quotas.get(key)
        return "" if quota is None else quota.uid

    def upsert(self, obj: ResourceQuota) -> None:
        """Add or change a quota, or take its successor of the same name."""
        self._state.upsert_quota(obj)

    def delete(self, key: str, uid: str) -> None:
        """Forget a quota."""
        self._state.remove_quota(key, uid)


def cluster_reflectors(
    client: ApiClient,
    state: ClusterState,
    pod_reader: PodReader,
    *,
    observer: ReflectorObserver | None = None,
    timing: Timing | None = None,
) -> tuple[Reflector[Namespace], Reflector[Node], Reflector[Pod]]:
    """Build what keeps `state` equal to the cluster; `Watchers` runs them."""
    namespaces = Resource("namespaces", "/api/v1/namespaces", read_namespace, {})
    nodes = Resource("nodes", "/api/v1/nodes", NodeReader().read, {})
    apart = ApartReader(pod_reader.read, pod_reader.another().read)
    pods = Resource(
        "pods",
        "/api/v1/pods",
        apart.read,
        {"fieldSelector": NOT_TERMINAL},
        prepare=apart.prepare,
        ease=state.taking_up,
    )
    sink = PodSink(state)
    return (
        Reflector(client, namespaces, NamespaceSink(state), observer=observer, timing=timing),
        Reflector(client, nodes, NodeSink(state), observer=observer, timing=timing),
        Reflector(client, pods, sink, observer=observer, timing=timing, promised=sink.promised),
    )


def budget_reflector(
    client: ApiClient,
    state: ClusterState,
    *,
    observer: ReflectorObserver | None = None,
    timing: Timing | None = None,
) -> Reflector[PodDisruptionBudget]:
    """Build what keeps the disruption budgets of `state` equal to the cluster's."""
    path = "/apis/policy/v1/poddisruptionbudgets"
    budgets = Resource("poddisruptionbudgets", path, read_budget, {})
    return Reflector(client, budgets, BudgetSink(state), observer=observer, timing=timing)


def quota_reflector(
    client: ApiClient,
    state: ClusterState,
    *,
    observer: ReflectorObserver | None = None,
    timing: Timing | None = None,
) -> Reflector[ResourceQuota]:
    """Build what keeps the quotas of `state` equal to the cluster's."""
    quotas = Resource("resourcequotas", "/api/v1/resourcequotas", read_quota, {})
    return Reflector(client, quotas, QuotaSink(state), observer=observer, timing=timing)
