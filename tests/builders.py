"""Kubernetes objects in one line each, as the JSON that the API would show.

A built pod *is* its JSON, so that it goes wherever an API object goes; each method returns a
changed copy and leaves the original as it was.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from extender.core.cluster.state import ClusterState
from extender.core.config.features import defaults, features
from extender.core.model.disruption import mark_message
from extender.core.model.objects import Namespace, Node
from extender.core.model.objects import Pod as ModelPod
from extender.core.resources import book, of_features
from extender.core.wire.affinity import EVERY_GATE_ON, Gates
from extender.core.wire.objects import NodeReader, PodReader, ReadFacet, read_namespace
from tests.beside import COVERS_ALL, RULES

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


Json = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Pod(dict[str, Any]):
    """A v1 Pod."""

    def _changed(self, *path: str) -> tuple[Pod, dict[str, Any]]:
        """Copy the pod; return it and the object at a path, made when it is missing."""
        changed = Pod(copy.deepcopy(dict(self)))
        at: dict[str, Any] = changed
        for name in path:
            at = at.setdefault(name, {})
        return changed, at

    def uid(self, uid: str | None) -> Pod:
        """Give it another uid; None takes it away, as in a manifest."""
        changed, metadata = self._changed("metadata")
        if uid is None:
            metadata.pop("uid", None)
        else:
            metadata["uid"] = uid
        return changed

    def stored_at(self, version: str) -> Pod:
        """Give it the version by which an API server knows it."""
        changed, metadata = self._changed("metadata")
        metadata["resourceVersion"] = version
        return changed

    def labels(self, found: Mapping[str, str] | None = None, /, **more: str) -> Pod:
        changed, there = self._changed("metadata", "labels")
        there.update(found or {}, **more)
        return changed

    def annotated(self, key: str, value: str) -> Pod:
        changed, there = self._changed("metadata", "annotations")
        there[key] = value
        return changed

    def on(self, node_name: str) -> Pod:
        changed, spec = self._changed("spec")
        spec["nodeName"] = node_name
        started = self["status"].get("startTime")
        changed["status"] = {"phase": "Running"} | ({"startTime": started} if started else {})
        return changed

    def phase(self, phase: str) -> Pod:
        changed, status = self._changed("status")
        status["phase"] = phase
        return changed

    def priority(self, priority: int) -> Pod:
        """Set the number that admission takes from its priority class."""
        changed, spec = self._changed("spec")
        spec["priority"] = priority
        return changed

    def never_preempts(self) -> Pod:
        """Have nobody evicted for it."""
        changed, spec = self._changed("spec")
        spec["preemptionPolicy"] = "Never"
        return changed

    def priority_class(self, name: str) -> Pod:
        changed, spec = self._changed("spec")
        spec["priorityClassName"] = name
        return changed

    def deadline(self, seconds: int) -> Pod:
        """Let it run for so long."""
        changed, spec = self._changed("spec")
        spec["activeDeadlineSeconds"] = seconds
        return changed

    def requests(self, **amounts: str) -> Pod:
        """Give it one more container, with these requests."""
        changed, spec = self._changed("spec")
        spec.setdefault("containers", []).append({"resources": {"requests": amounts}})
        return changed

    def host_port(self, number: int, address: str = "", protocol: str = "TCP") -> Pod:
        """Give it one more container, with a port of its node."""
        changed, spec = self._changed("spec")
        port = {"containerPort": 80, "hostPort": number, "protocol": protocol}
        ports = [port | ({"hostIP": address} if address else {})]
        spec.setdefault("containers", []).append({"ports": ports})
        return changed

    def nominated(self, node_name: str) -> Pod:
        changed, status = self._changed("status")
        status["nominatedNodeName"] = node_name
        return changed

    def started(self, when: str) -> Pod:
        """Let its kubelet have taken it up at a time, as RFC 3339 has it."""
        changed, status = self._changed("status")
        status["startTime"] = when
        return changed

    def created(self, when: str) -> Pod:
        """Let it have been created at a time, as RFC 3339 has it."""
        changed, metadata = self._changed("metadata")
        metadata["creationTimestamp"] = when
        return changed

    def in_group(self, name: str) -> Pod:
        changed, spec = self._changed("spec")
        spec["schedulingGroup"] = {"podGroupName": name}
        return changed

    def owned_by(self, owner: str) -> Pod:
        """Say which controller made it: ReplicaSet/web-5d."""
        changed, metadata = self._changed("metadata")
        metadata["ownerReferences"] = [owner_reference(owner)]
        return changed

    def restarts(self, policy: str) -> Pod:
        changed, inner = self._changed("spec")
        inner["restartPolicy"] = policy
        return changed

    def ready(self, *, yes: bool = True) -> Pod:
        """Return the pod as its kubelet has it once it is ready, or is not any more."""
        changed, inner = self._changed("status")
        inner["conditions"] = [
            {"type": "ContainersReady", "status": "True"},
            {"type": "Ready", "status": "True" if yes else "False"},
        ]
        return changed

    def being_deleted(self) -> Pod:
        """Start its graceful deletion."""
        changed, metadata = self._changed("metadata")
        metadata.update(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=30)
        return changed

    def preempted(self, of: str | None = None, status: str = "True") -> Pod:
        """Start its deletion for a more important pod: by us with its uid, or by a scheduler."""
        changed, found = self.being_deleted()._changed("status")
        target = {"type": "DisruptionTarget", "status": status, "reason": "PreemptionByScheduler"}
        words = "default-scheduler: preempting to accommodate a higher priority pod"
        target["message"] = words if of is None else mark_message("default-scheduler", of)
        found["conditions"] = [*found.get("conditions", ()), target]
        return changed

    def affinity(self, *terms: Json) -> Pod:
        """Require pods nearby."""
        return self._with_terms("podAffinity", _REQUIRED, terms)

    def anti_affinity(self, *terms: Json) -> Pod:
        """Require pods to be elsewhere."""
        return self._with_terms("podAntiAffinity", _REQUIRED, terms)

    def prefers(self, weight: int, *terms: Json) -> Pod:
        """Prefer pods nearby, each term with the same weight."""
        return self._with_terms("podAffinity", _PREFERRED, _weighted(weight, terms))

    def avoids(self, weight: int, *terms: Json) -> Pod:
        """Prefer pods to be elsewhere, each term with the same weight."""
        return self._with_terms("podAntiAffinity", _PREFERRED, _weighted(weight, terms))

    def selects(self, **labels: str) -> Pod:
        """Add to its node selector."""
        changed, there = self._changed("spec", "nodeSelector")
        there.update(labels)
        return changed

    def requires_nodes(self, *terms: Json) -> Pod:
        """Require nodes that one of the terms matches."""
        changed, there = self._changed("spec", "affinity", "nodeAffinity", _REQUIRED)
        there.setdefault("nodeSelectorTerms", []).extend(terms)
        return changed

    def prefers_nodes(self, weight: int, *terms: Json | None) -> Pod:
        """Prefer nodes, each term with the same weight."""
        changed, there = self._changed("spec", "affinity", "nodeAffinity")
        weighted = ({"weight": weight, "preference": each and dict(each)} for each in terms)
        there.setdefault(_PREFERRED, []).extend(weighted)
        return changed

    def _with_terms(self, side: str, strength: str, terms: tuple[Json, ...]) -> Pod:
        changed, there = self._changed("spec", "affinity", side)
        there.setdefault(strength, []).extend(terms)
        return changed


def pod(name: str, namespace_name: str = "default") -> Pod:
    """Build a pending pod whose uid follows from its name."""
    return Pod(
        apiVersion="v1",
        kind="Pod",
        metadata={"name": name, "namespace": namespace_name, "uid": f"{namespace_name}-{name}"},
        spec={"containers": [{"name": "main", "image": "pause"}]},
        status={"phase": "Pending"},
    )


def workload(
    kind: str, name: str, template: Json | None = None, *, owner: str = "", **spec: Any
) -> dict[str, Any]:
    """Build a Deployment, Job and so on whose template is a pod; `owner` is like Deployment/web."""
    template = template or pod("of-template")
    metadata: dict[str, Any] = {"name": name}
    if owner:
        metadata["ownerReferences"] = [owner_reference(owner)]
    place = template["metadata"].get("namespace")
    if place:
        metadata["namespace"] = place
    kept = {"labels": template["metadata"].get("labels", {})}
    if annotations := template["metadata"].get("annotations"):
        kept["annotations"] = annotations
    inner = {"metadata": kept, "spec": template["spec"]}
    if kind in {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"}:
        spec.setdefault("selector", {"matchLabels": kept["labels"]})
    if kind.endswith("Job"):
        inner["spec"] = {"restartPolicy": "Never", **inner["spec"]}
    if kind == "CronJob":
        job = {name: spec.pop(name) for name in ("parallelism", "completions") if name in spec}
        spec["jobTemplate"] = {"spec": {"template": inner, **job}}
    else:
        spec["template"] = inner
    group = "batch/v1" if kind.endswith("Job") else "apps/v1"
    version = "v1" if kind == "ReplicationController" else group
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def owner_reference(owner: str) -> dict[str, Any]:
    """Build a reference to a controller such as ReplicaSet/web-5d."""
    kind, _, name = owner.partition("/")
    return {"kind": kind, "name": name, "controller": True}


def node(
    name: str,
    labels: Mapping[str, str] | None = None,
    room: Mapping[str, str] | None = None,
    taints: Iterable[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Build a node with exactly these labels: none are added. Without room, no pod has any."""
    metadata = {"name": name, "uid": f"node-{name}", "labels": dict(labels or {})}
    spec = {"taints": list(taints)} if taints else {}
    status = {} if room is None else {"allocatable": dict(room)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def namespace(name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Build a namespace with exactly these labels: none are added."""
    metadata = {"name": name, "uid": f"namespace-{name}", "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {}, "status": {}}


def budget(
    name: str, selector: Json | None, allowed: int, *, disrupted: Iterable[str] = ()
) -> dict[str, Any]:
    """Build a PodDisruptionBudget of namespace default with its status."""
    status = {"disruptionsAllowed": allowed}
    granted = dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default", "uid": f"budget-{name}"},
        "spec": {"maxUnavailable": 1} | ({} if selector is None else {"selector": selector}),
        "status": status | ({"disruptedPods": granted} if granted else {}),
    }


def quota(
    name: str,
    hard: Json,
    *expressions: Json,
    namespace_name: str = "default",
    scopes: Iterable[str] = (),
) -> dict[str, Any]:
    """Build a ResourceQuota with expressions of a scopeSelector, and scopes the older way."""
    spec: dict[str, Any] = {"hard": dict(hard)}
    if scopes:
        spec["scopes"] = list(scopes)
    if expressions:
        spec["scopeSelector"] = {"matchExpressions": list(expressions)}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace_name, "uid": f"quota-{name}"},
        "spec": spec,
    }


def crossing(**fields: Any) -> dict[str, Any]:
    """Build the expression for the scope of cross-namespace affinity."""
    return {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists", **fields}


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    """Build one expression of a selector."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def selector(*requirements: Json, **labels: str) -> dict[str, Any]:
    """Build a LabelSelector; with nothing given, the one that matches everything."""
    built: dict[str, Any] = {}
    if labels:
        built["matchLabels"] = labels
    if requirements:
        built["matchExpressions"] = list(requirements)
    return built


def term(topology_key: str, label_selector: Json | None = None, **fields: Any) -> dict[str, Any]:
    """Build a PodAffinityTerm; other fields are given by their API names."""
    built: dict[str, Any] = {"topologyKey": topology_key, **fields}
    if label_selector is not None:
        built["labelSelector"] = label_selector
    return built


def node_term(*requirements: Json, **names: str) -> dict[str, Any]:
    """Build a NodeSelectorTerm; In="a" or NotIn="a" are about a node's name."""
    built: dict[str, Any] = {}
    if requirements:
        built["matchExpressions"] = list(requirements)
    if names:
        built["matchFields"] = [
            requirement("metadata.name", operator, name) for operator, name in names.items()
        ]
    return built


def _weighted(weight: int, terms: tuple[Json, ...]) -> tuple[Json, ...]:
    return tuple({"weight": weight, "podAffinityTerm": dict(each)} for each in terms)


def model_pod(raw: Json, gates: Gates = EVERY_GATE_ON) -> ModelPod:
    """Read a pod as the extender does, with its owner and all that may be asked of its rules."""
    reader = PodReader(
        gates=gates, facets=every_facet(), rules=RULES, node_selection=True, owners=True
    )
    return reader.read(json.dumps(raw).encode())


def model_node(raw: Json) -> Node:
    return NodeReader().read(json.dumps(raw).encode())


def model_namespace(raw: Json) -> Namespace:
    return read_namespace(json.dumps(raw).encode())


def every_facet() -> tuple[ReadFacet, ...]:
    """Return what all features read of pods."""
    return tuple(facet for each in features() for facet in each.facets)


def put(state: ClusterState, raw: Json) -> None:
    """Put what is mirrored for a feature into a state."""
    (row,) = (each for each in of_features() if each.kind == raw["kind"])
    row.storing(state, PodReader())(json.dumps(raw).encode())


def empty_state(**fields: Any) -> ClusterState:
    """Return a state in which every feature books what is mirrored for it."""
    state = ClusterState(**fields)
    book(defaults(), state, features())
    return state


def state_of(
    nodes: Iterable[Json],
    namespaces: Iterable[Json],
    pods: Iterable[Json],
    quotas: Iterable[Json] = (),
    *,
    gates: Gates = EVERY_GATE_ON,
    empty_selects_all: bool = False,
) -> ClusterState:
    """Build the live picture of a cluster, in the order that the objects come in."""
    state = empty_state(scope=COVERS_ALL, empty_selects_all=empty_selects_all)
    for raw in nodes:
        state.upsert_node(model_node(raw))
    for raw in namespaces:
        state.upsert_namespace(model_namespace(raw))
    for raw in pods:
        state.upsert_pod(model_pod(raw, gates))
    for raw in quotas:
        put(state, raw)
    return state
