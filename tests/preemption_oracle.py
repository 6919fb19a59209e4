"""Preemption the slow and obvious way: kube-scheduler's dry run, step by step, on Kubernetes JSON.

Every step asks the oracle of inter-pod affinity about the whole cluster anew. Of the scheduler's
other plugins only requests of cpu, the number of pods and host ports are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf

from tests import oracle
from tests.oracle import Cluster, Json, field, identity, key_of, labels, name_of, namespace_of

UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate: the victims by uid, the most important first."""

    victims: Sequence[str]
    violations: int
    rank: tuple[float, ...]


def candidates(cluster: Cluster, budgets: Sequence[Json], pod: Json) -> dict[str, Found]:
    """Return what DryRunPreemption finds on every node that is worth a try."""
    found = {}
    for node in map(name_of, cluster.nodes):
        if _why_not(cluster, pod, node) == UNSCHEDULABLE:
            victims = _select_victims(cluster, budgets, pod, node)
            if victims is not None:
                found[node] = victims
    return found


def _why_not(cluster: Cluster, pod: Json, node: str) -> str | None:
    """Run the filters: NodePorts, NodeResourcesFit, InterPodAffinity, in each of two passes."""
    beside = [
        other
        for other in cluster.pods
        if oracle.is_nominated(other, node)
        and oracle.priority(other) >= oracle.priority(pod)
        and identity(other) != identity(pod)
    ]
    there = [*_on(cluster, pod, node), *beside]
    if any(
        _is_same_port(port, used) for port in _ports(pod) for each in there for used in _ports(each)
    ):
        return UNSCHEDULABLE
    if not _has_room(cluster, pod, node, there):
        return UNSCHEDULABLE
    refusal = oracle.refusals(cluster, pod, [node]).get(node)
    return None if refusal is None else refusal.code


def _select_victims(
    cluster: Cluster, budgets: Sequence[Json], pod: Json, node: str
) -> Found | None:
    potential = sorted(
        (
            other
            for other in _on(cluster, pod, node)
            if oracle.priority(other) < oracle.priority(pod)
        ),
        key=_importance,
    )
    if not potential:
        return None
    left = _without(cluster, potential)
    if _why_not(left, pod, node) is not None:
        return None
    protected = _violating(potential, budgets)
    victims = []
    violations = 0
    first = [other for other in potential if identity(other) in protected]
    for other in [*first, *(each for each in potential if identity(each) not in protected)]:
        again = replace(left, pods=[*left.pods, other])
        if _why_not(again, pod, node) is None:
            left = again
        else:
            victims.append(other)
            violations += identity(other) in protected
    victims.sort(key=_importance)
    return _found(victims, violations) if victims else None


def _found(victims: Sequence[Json], violations: int) -> Found:
    top = oracle.priority(victims[0])
    rank = (
        violations,
        top,
        sum(oracle.priority(each) + (1 << 31) for each in victims),
        len(victims),
        -min(_start(each) for each in victims if oracle.priority(each) == top),
    )
    return Found([identity(each) for each in victims], violations, rank)


def _without(cluster: Cluster, gone: Iterable[Json]) -> Cluster:
    uids = {identity(each) for each in gone}
    return replace(cluster, pods=[each for each in cluster.pods if identity(each) not in uids])


def _importance(pod: Json) -> tuple[int, float, str]:
    return -oracle.priority(pod), _start(pod), key_of(pod)


def _start(pod: Json) -> float:
    started = field(pod, "status", {}).get("startTime")
    return inf if started is None else datetime.fromisoformat(started).timestamp()


def _violating(pods: Sequence[Json], budgets: Sequence[Json]) -> set[str]:
    """Return the pods beyond a budget, as in FilterVictimsWithPDBViolation of 1.37."""
    allowed = [each["status"]["disruptionsAllowed"] for each in budgets]
    violating = set()
    for pod in pods:
        for number, budget in enumerate(budgets):
            selector: Mapping[str, object] = budget["spec"].get("selector") or {}
            if (
                namespace_of(budget) == namespace_of(pod)
                and selector
                and labels(pod)
                and oracle.selector_matches(selector, labels(pod))
            ):
                allowed[number] -= 1
                if allowed[number] < 0:
                    violating.add(identity(pod))
                    break
    return violating


def _on(cluster: Cluster, pod: Json, node: str) -> list[Json]:
    """Return the pods on a node, without the one that is to go there."""
    return [
        other
        for other in cluster.pods
        if other["spec"].get("nodeName") == node
        and not oracle.is_finished(other)
        and identity(other) != identity(pod)
    ]


def _ports(pod: Json) -> list[Json]:
    containers = pod["spec"]["containers"]
    return [port for each in containers for port in each.get("ports", ()) if port.get("hostPort")]


def _is_same_port(one: Json, other: Json) -> bool:
    addresses = {one.get("hostIP", ""), other.get("hostIP", "")}
    return all(one[name] == other[name] for name in ("hostPort", "protocol")) and (
        "" in addresses or len(addresses) == 1
    )


def _has_room(cluster: Cluster, pod: Json, node: str, there: Sequence[Json]) -> bool:
    (allocatable,) = (
        each["status"]["allocatable"] for each in cluster.nodes if name_of(each) == node
    )
    everybody = [pod, *there]
    if len(everybody) > int(allocatable["pods"]):
        return False
    return not _cpu(pod) or sum(map(_cpu, everybody)) <= int(allocatable["cpu"])


def _cpu(pod: Json) -> int:
    """Return the whole cpus that a pod requests."""
    containers = pod["spec"]["containers"]
    return sum(
        int(each.get("resources", {}).get("requests", {}).get("cpu", 0)) for each in containers
    )
