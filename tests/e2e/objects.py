"""Builders of the raw Kubernetes objects that the scenarios are made of."""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

NAME_LABEL = "e2e/name"
"""On every pod we create, with its name: a selector that means this pod and no other."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node(name: str, zone: str | None = None, pods: int = 110, **labels: str) -> JSON:
    """Return a ready node so large that no resource ever decides."""
    topology = {HOSTNAME: name} | ({ZONE: zone} if zone else {})
    room = {"cpu": "1000", "memory": "4000Gi", "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": topology | labels},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "NoKubelet"}],
        },
    }


def namespace(name: str, **labels: str) -> JSON:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def pod_spec(**affinity: Any) -> JSON:
    """Return the spec of a pod that runs nothing; arguments as in ``pod``."""
    spec: JSON = {"containers": [{"name": "main", "image": "none.invalid/none"}]}
    rules = {
        "podAffinity": _rules(affinity.get("near", []), affinity.get("prefer_near", [])),
        "podAntiAffinity": _rules(affinity.get("apart", []), affinity.get("prefer_apart", [])),
    }
    present = {name: rule for name, rule in rules.items() if rule}
    return spec | ({"affinity": present} if present else {})


def pod(
    name: str,
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    on: str | None = None,
    **affinity: Any,
) -> JSON:
    """Return a pod, placed already when ``on`` names a node.

    ``near`` and ``apart`` are required terms, ``prefer_near`` and ``prefer_apart`` map weights
    to preferred ones: ``prefer_near=[(100, term(...))]``.
    """
    spec = pod_spec(**affinity) | ({"nodeName": on} if on else {})
    every = {NAME_LABEL: name} | (labels or {})
    metadata = {"name": name, "namespace": namespace, "labels": every}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def term(topology_key: str, selector: JSON | None = None, /, **more: Any) -> JSON:
    """Return an affinity term; a selector of plain labels is short for matchLabels."""
    if selector is not None and not selector.keys() & {"matchLabels", "matchExpressions"}:
        selector = {"matchLabels": selector} if selector else {}
    chosen = {} if selector is None else {"labelSelector": selector}
    return {"topologyKey": topology_key} | chosen | more


def _rules(required: list[JSON], preferred: list[tuple[int, JSON]]) -> JSON:
    weighted = [{"weight": weight, "podAffinityTerm": each} for weight, each in preferred]
    return ({_REQUIRED: required} if required else {}) | (
        {_PREFERRED: weighted} if weighted else {}
    )
