"""The cluster that is measured: the same nodes and applications, with more or fewer pods."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from enum import Enum
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ZONES = 3
NAMESPACES = 100
APPS = 500
QUESTIONS = 24
"""Different pods, each with a different sample of nodes, that a series of calls goes round."""


class Rules(Enum):
    """What an application asks for; applications take turns."""

    PREFERRED = "preferred zone and host"
    ANTI = "required apart by host"
    NONE = "no rules"

    @property
    def score(self) -> bool:
        """Tell whether they give nodes a score."""
        return self is Rules.PREFERRED


_RULES = tuple(Rules)


@dataclass(frozen=True, slots=True)
class Question:
    """One pod to place."""

    pod: Mapping[str, Any]
    names: list[str]

    def about(self, names: list[str]) -> dict[str, Any]:
        """Build the arguments of a callback, ExtenderArgs, about some nodes."""
        return {"Pod": self.pod, "Nodes": None, "NodeNames": names}


def node_name(number: int) -> str:
    """Name a node at the length that clouds like."""
    return f"worker-{number:05d}.fleet.internal"


def write_cluster(path: Path, nodes: int, pods: int) -> None:
    """Write a v1 List, one object a line, without holding all of it."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[\n')
        for position, item in enumerate(_items(nodes, pods)):
            file.write(",\n" if position else "")
            file.write(json.dumps(item, separators=(",", ":")))
        file.write("\n]}\n")


def questions(rules: Rules, nodes: int, names: int) -> list[Question]:
    """Build the pods to ask about: one more replica of applications that have the rules."""
    dice = random.Random(f"{rules.value}/{names}")
    apps = [app for app in range(APPS) if _rules_of(app) is rules]
    return [
        Question(_pod(app, f"new-{app}", None), _sample(dice, nodes, names))
        for app in islice(cycle(apps), QUESTIONS)
    ]


def _sample(dice: random.Random, nodes: int, names: int) -> list[str]:
    """Take neighbours from some node on, as the scheduler does with its moving start."""
    start = dice.randrange(nodes)
    return [node_name((start + offset) % nodes) for offset in range(names)]


def _items(nodes: int, pods: int) -> Iterator[dict[str, Any]]:
    for number in range(NAMESPACES):
        yield _object("Namespace", {"name": f"team-{number}", "labels": {"team": f"t{number}"}})
    for number in range(nodes):
        labels = {HOST: node_name(number), ZONE: f"zone-{number % ZONES}"}
        yield _object("Node", {"name": node_name(number), "labels": labels})
    dice = random.Random(nodes)
    # Replicas of an application are on different nodes, as those apart by host have to be.
    starts = [dice.randrange(nodes) for _ in range(APPS)]
    for number in range(pods):
        replica, app = divmod(number, APPS)
        # 7 has no factor in common with the number of nodes, so replicas spread over the zones.
        node = (starts[app] + 7 * replica) % nodes
        yield _pod(app, f"app-{app}-{replica}", node_name(node))


def _rules_of(app: int) -> Rules:
    return _RULES[app % len(_RULES)]


def _pod(app: int, name: str, node: str | None) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": f"team-{app % NAMESPACES}",
        "uid": f"00000000-0000-4000-8000-{name.encode().hex()[-12:]:0>12}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": f"app-{app}", "pod-template-hash": f"{app:010d}", "tier": "backend"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{app}", "uid": str(app)}
        ],
    }
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}
    container = {"name": "main", "image": f"registry.internal/app-{app}:1", "resources": resources}
    spec: dict[str, Any] = {
        "containers": [container],
        "schedulerName": "default-scheduler",
        "serviceAccountName": f"app-{app}",
        "tolerations": [
            {"key": f"node.kubernetes.io/{trouble}", "operator": "Exists", "effect": "NoExecute"}
            for trouble in ("not-ready", "unreachable")
        ],
    }
    affinity = _affinity(app)
    if affinity:
        spec["affinity"] = affinity
    if node is not None:
        spec["nodeName"] = node
    status = {"phase": "Pending" if node is None else "Running"}
    return _object("Pod", metadata) | {"spec": spec, "status": status}


def _affinity(app: int) -> dict[str, Any]:
    def term(key: str) -> dict[str, Any]:
        return {"labelSelector": {"matchLabels": {"app": f"app-{app}"}}, "topologyKey": key}

    match _rules_of(app):
        case Rules.PREFERRED:
            weighted = [
                {"weight": weight, "podAffinityTerm": term(key)}
                for weight, key in ((50, ZONE), (100, HOST))
            ]
            return {
                "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
            }
        case Rules.ANTI:
            return {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(HOST)]}
            }
        case Rules.NONE:
            return {}


def _object(kind: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": dict(metadata)}
