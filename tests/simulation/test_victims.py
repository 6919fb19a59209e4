"""What the judge of preemptions takes for two sets of victims of one preemptor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pytest

from simulation.apiserver.store import Json, Store
from simulation.invariants.broken import BrokenError
from simulation.invariants.preemptions import Preemptions

EXTENDER = "extender-1"
Change = Callable[["Cluster"], None]


class Judge:
    """Knows of no rule, and how late extenders may be."""

    placed: Mapping[str, object] = {}

    def __init__(self, cluster: Cluster) -> None:
        self.broken: list[BrokenError] = []
        self._cluster = cluster

    def known_since(self, resource: str = "pods") -> float:
        return self._cluster.now - (2.0 if resource == "nodes" else 0.0)

    def why_not(self, pod: Json, node: str, gone: Iterable[str], by: str) -> str | None:
        del pod, node, gone, by
        return None

    def lacks_quota(self, pod: Json) -> bool:
        del pod
        return False


class Cluster:
    """Two nodes with a less important pod each, and a preemptor that asks for fast disks."""

    def __init__(self) -> None:
        self.now = 100.0
        self.store = Store()
        self.judge = Judge(self)
        Preemptions(self.store, lambda: self.now, self.judge)
        for name in ("a", "b"):
            labels = {"disk": "fast", "zone": "z"}
            node = {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": {}}
            self.store.create("nodes", node, "users")
            self.create(f"on-{name}", 0, nodeName=name)
        self.create("important", 50, nodeSelector={"disk": "fast"})
        self.now += 60.0

    def create(self, name: str, priority: int, **spec: object) -> None:
        metadata = {"namespace": "default", "name": name, "uid": name}
        pod = {"metadata": metadata, "spec": {"priority": priority, **spec}, "status": {}}
        self.store.create("pods", pod, "users")

    def node(self, name: str, *, spec: Json | None = None, **labels: str) -> None:
        """Change a node."""

        def changed(node: Json) -> Json:
            metadata = node["metadata"]
            return {
                **node,
                "metadata": {**metadata, "labels": {**metadata["labels"], **labels}},
                "spec": node["spec"] if spec is None else spec,
            }

        self.store.update("nodes", name, changed, "users")

    def preempt(self, victim: str) -> None:
        """Mark a pod for the preemptor and have it deleted; it takes long to end."""
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        message = "by: preempting to accommodate a higher priority pod (uid important)"
        status = {"conditions": [{**mark, "message": message}]}
        key = f"default/{victim}"
        self.store.update("pods", key, lambda pod: {**pod, "status": status}, EXTENDER)
        self.store.update("pods", key, _deleting, EXTENDER)

    @property
    def broken(self) -> list[str]:
        return [each.invariant for each in self.judge.broken]


def _deleting(pod: Json) -> Json:
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}


def cordon(cluster: Cluster) -> None:
    cluster.node("a", spec={"unschedulable": True})


def uncordon(cluster: Cluster) -> None:
    cluster.node("a", spec={})


def taint(cluster: Cluster) -> None:
    cluster.node("a", spec={"taints": [{"key": "gone", "effect": "NoSchedule"}]})


def remove(cluster: Cluster) -> None:
    cluster.store.remove("nodes", "a", "users")


def relabel(cluster: Cluster) -> None:
    cluster.node("a", disk="slow")


def move(cluster: Cluster) -> None:
    cluster.node("a", zone="y")


def wait(cluster: Cluster) -> None:
    cluster.now += 10.0


@pytest.mark.parametrize(
    ("before", "meanwhile", "two"),
    [
        pytest.param((), (), True, id="nothing"),
        pytest.param((), (move,), True, id="its zone changes"),
        pytest.param((cordon, wait), (uncordon,), False, id="it was closed when they began"),
        pytest.param((), (cordon,), False, id="closed"),
        pytest.param((), (taint,), False, id="tainted"),
        pytest.param((), (remove,), False, id="gone"),
        pytest.param((), (relabel,), False, id="no longer as the pod asks for"),
        pytest.param((), (cordon, wait, uncordon, wait), False, id="closed for a while"),
        pytest.param((cordon, uncordon, wait), (), True, id="closed long before"),
        pytest.param((cordon, uncordon, wait), (move,), True, id="and its zone changes"),
        pytest.param((cordon, uncordon), (), False, id="closed a moment before"),
    ],
)
def test_others_go_while_victims_leave_a_node_only_if_it_is_lost(
    before: Iterable[Change], meanwhile: Iterable[Change], *, two: bool
) -> None:
    cluster = Cluster()
    for change in before:
        change(cluster)
    cluster.preempt("on-a")
    for change in (*meanwhile, wait):
        change(cluster)
    cluster.preempt("on-b")
    assert cluster.broken == ["two sets of victims"] * two
