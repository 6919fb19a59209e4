"""The nodes and pods of the scenarios."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, pod, term
from tests.e2e.objects import node as roomy_node

DB, WEB, CREW = {"app": "db"}, {"app": "web"}, {"app": "crew"}
GROUPS: Final = "groups"
GROUPS_API: Final = "scheduling.k8s.io/v1beta1"
LOW, MIDDLE, HIGH = 10, 20, 1000
RED: Final = {"namespaceSelector": {"matchLabels": {"team": "red"}}}


def node(name: str, zone: str = "z", cpu: int = 4) -> JSON:
    built = roomy_node(name, zone)
    room = {**built["status"]["allocatable"], "cpu": str(cpu)}
    return built | {"status": built["status"] | {"capacity": room, "allocatable": room}}


def sized(built: JSON, milli: int, priority: int = 0) -> JSON:
    """Return a pod that needs processors, with a priority."""
    resources = {"requests": {"cpu": f"{milli}m"}}
    containers = [{**each, "resources": resources} for each in built["spec"]["containers"]]
    return built | {"spec": built["spec"] | {"containers": containers, "priority": priority}}


def web(name: str, **more: Any) -> JSON:
    """Return a pod that excludes its like by host."""
    return pod(name, labels=WEB, apart=[term(HOSTNAME, WEB)], **more)


def loner(name: str) -> JSON:
    """Return a pod that wants no database on its host."""
    return pod(name, apart=[term(HOSTNAME, DB)])


def crew(name: str) -> JSON:
    """Return a pod that must share a zone with its like."""
    return pod(name, labels=CREW, near=[term(ZONE, CREW)])


def db(name: str, on: str) -> JSON:
    """Return a database that has a place."""
    return pod(name, labels=DB, on=on)


def group(name: str = "group", least: int | None = None, **spec: Any) -> JSON:
    """Return a pod group: a gang if it needs at least so many members."""
    policy: JSON = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    return {
        "apiVersion": GROUPS_API,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def member(built: JSON, of: str = "group") -> JSON:
    """Return a pod as a member of a group, in the profile for these."""
    joined = {"schedulingGroup": {"podGroupName": of}, "schedulerName": GROUPS}
    return built | {"spec": {**built["spec"], **joined}}


PREEMPTION: Final = (
    *(node("n1", cpu=1), node("n2", cpu=1)),
    sized(pod("victim", on="n1"), 800, LOW),
    sized(pod("dearer", on="n2"), 800, MIDDLE),
)
SHOP: Final = (
    *(node("n1"), node("n2"), namespace("shop", team="red")),
    *(pod(f"db-{n}", "shop", labels=DB, on=n) for n in ("n1", "n2")),
)
