"""The clusters that are measured: the same nodes and applications, with more or fewer pods."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeAlias

AFFINITY_ANNOTATION = "affinity-extender.io/affinity"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ZONES = 3
NAMESPACES = 100
APPS = 500
QUESTIONS = 24
"""Different pods, each with a different sample of nodes, that a series of calls goes round."""

Json: TypeAlias = dict[str, Any]


class Rules(Enum):
    CHARTS = "preferred apart by host, weight 1 or 100"
    PREFERRED = "preferred zone and host"
    ANTI = "required apart by host"
    ANTI_ACROSS = "required apart by host, namespaces by selector"
    TOGETHER = "required together by zone"
    LIMIT = "maxMatchingPods by host"
    NONE = "no rules"

    @property
    def score(self) -> bool:
        """Return whether they give nodes a score."""
        return self in {Rules.CHARTS, Rules.PREFERRED, Rules.TOGETHER}


MIXED = (Rules.PREFERRED, Rules.ANTI, Rules.NONE)
"""The usual cluster, where applications take turns."""
WITH_LIMITS = (*MIXED, Rules.LIMIT)

CHART_WEIGHTS = (1, 1, 100)
"""Applications take turns in these, in the shares of public charts (tests/charts)."""


@dataclass(frozen=True, slots=True)
class Question:
    pod: Mapping[str, Any]
    names: list[str]

    def about(self, names: list[str]) -> dict[str, Any]:
        """Build the arguments of a callback, ExtenderArgs, about some nodes."""
        return {"Pod": self.pod, "Nodes": None, "NodeNames": names}


def node_name(number: int) -> str:
    """Name a node at the length that clouds like."""
    return f"worker-{number:05d}.fleet.internal"


def write_cluster(path: Path, nodes: int, pods: int) -> None:
    """Write such a cluster, with limits, as a v1 List."""
    write_list(path, cluster_items(nodes, pods, WITH_LIMITS))


def write_list(path: Path, items: Iterable[Mapping[str, Any]]) -> None:
    """Write a v1 List, one object a line, without holding all of it."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[\n')
        for position, item in enumerate(items):
            file.write(",\n" if position else "")
            file.write(json.dumps(item, separators=(",", ":")))
        file.write("\n]}\n")


def questions(
    rules: Rules, nodes: int, names: int, turns: Sequence[Rules] = MIXED
) -> list[Question]:
    """Build the pods to ask about: one more replica of applications that have the rules."""
    dice = random.Random(str(names))
    apps = [app for app in range(APPS) if turns[app % len(turns)] is rules]
    return [
        Question(app_pod(app, f"new-{number}", None, rules), sample(dice, nodes, names))
        for number, app in enumerate(islice(cycle(apps), QUESTIONS))
    ]


def sample(dice: random.Random, nodes: int, names: int) -> list[str]:
    """Take neighbours from some node on, as the scheduler does with its moving start."""
    start = dice.randrange(nodes)
    return [node_name((start + offset) % nodes) for offset in range(names)]


def node_items(nodes: int) -> Iterator[Json]:
    """Yield nodes that take turns in three zones."""
    for number in range(nodes):
        labels = {HOST: node_name(number), ZONE: f"zone-{number % ZONES}"}
        yield api_object("Node", {"name": node_name(number), "labels": labels})


def cluster_items(nodes: int, pods: int, turns: Sequence[Rules]) -> Iterator[Json]:
    """Yield the objects of a cluster whose applications take turns in the rules given."""
    for number in range(NAMESPACES):
        labels = {"team": f"t{number}", "kind": "tenant"}
        yield api_object("Namespace", {"name": f"team-{number}", "labels": labels})
    yield from node_items(nodes)
    for app, name, node, rules in placed_pods(nodes, pods, turns):
        yield app_pod(app, name, node, rules)


def placed_pods(
    nodes: int, pods: int, turns: Sequence[Rules]
) -> Iterator[tuple[int, str, str, Rules]]:
    """Yield application, name, node and rules of each pod of such a cluster."""
    dice = random.Random(nodes)
    # Replicas of an application are on different nodes, as those apart by host have to be; one of
    # each kind begins on the same node, so that questions about them get answers of one length.
    starts = [dice.randrange(nodes) for _ in range(APPS)]
    for number in range(pods):
        replica, app = divmod(number, APPS)
        rules = turns[app % len(turns)]
        node = _place(starts[app // len(turns)], replica, nodes, together=rules is Rules.TOGETHER)
        yield app, f"app-{app}-{replica}", node_name(node), rules


def _place(start: int, replica: int, nodes: int, *, together: bool) -> int:
    """Choose a node for a replica; the strides have no factor in common with 5,000 or its third."""
    if together:
        return ZONES * ((start + 11 * replica) % (nodes // ZONES)) + start % ZONES
    return (start + 7 * replica) % nodes


def app_pod(app: int, name: str, node: str | None, rules: Rules) -> Json:
    """Build a replica of an application, of the size that pods have in clusters."""
    labels = {"app": f"app-{app}", "pod-template-hash": f"{app:010d}", "tier": "backend"}
    made = pod(name, f"team-{app % NAMESPACES}", labels, _affinity(app, rules), node)
    if rules is Rules.LIMIT:
        # As many as anti-affinity allows, so the answers are as long.
        one = _term(app, HOST, maxMatchingPods=1)
        text = json.dumps(affinity("podAntiAffinity", required=[one]))
        made["metadata"]["annotations"] = {AFFINITY_ANNOTATION: text}
    return made


def pod(
    name: str, namespace: str, labels: Mapping[str, str], affinity: Json, node: str | None
) -> Json:
    """Build a pod with the fields that controllers and admission fill in."""
    app = labels["app"]
    digits = name.encode().hex().rjust(32, "0")
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": dict(labels),
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"uid-{app}"}
        ],
    }
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}
    container = {"name": "main", "image": f"registry.internal/{app}:1", "resources": resources}
    spec: Json = {
        "containers": [container],
        "schedulerName": "default-scheduler",
        "serviceAccountName": app,
        "tolerations": [
            {"key": f"node.kubernetes.io/{trouble}", "operator": "Exists", "effect": "NoExecute"}
            for trouble in ("not-ready", "unreachable")
        ],
    }
    if affinity:
        spec["affinity"] = affinity
    if node is not None:
        spec["nodeName"] = node
    status = {"phase": "Pending" if node is None else "Running"}
    return api_object("Pod", metadata) | {"spec": spec, "status": status}


def _term(app: int, key: str, **fields: Any) -> Json:
    selector = {"matchLabels": {"app": f"app-{app}"}}
    return {"labelSelector": selector, "topologyKey": key, **fields}


def _affinity(app: int, rules: Rules) -> Json:
    term = partial(_term, app)
    match rules:
        case Rules.CHARTS:
            weight = CHART_WEIGHTS[app % len(CHART_WEIGHTS)]
            return affinity("podAntiAffinity", preferred=[(weight, term(HOST))])
        case Rules.PREFERRED:
            return affinity("podAntiAffinity", preferred=[(50, term(ZONE)), (100, term(HOST))])
        case Rules.ANTI:
            return affinity("podAntiAffinity", required=[term(HOST)])
        case Rules.ANTI_ACROSS:
            tenants = {"matchLabels": {"kind": "tenant"}}
            across = term(HOST, namespaceSelector=tenants)
            return affinity("podAntiAffinity", required=[across])
        case Rules.TOGETHER:
            return affinity("podAffinity", required=[term(ZONE)])
        case Rules.LIMIT | Rules.NONE:
            return {}


def affinity(
    side: str, required: Sequence[Json] = (), preferred: Sequence[tuple[int, Json]] = ()
) -> Json:
    """Build an affinity with terms on one side."""
    rules: Json = {}
    if required:
        rules["requiredDuringSchedulingIgnoredDuringExecution"] = list(required)
    if preferred:
        rules["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "podAffinityTerm": term} for weight, term in preferred
        ]
    return {side: rules}


def api_object(kind: str, metadata: Mapping[str, Any]) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": dict(metadata)}
