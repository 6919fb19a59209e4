"""Pods of all sorts, as users write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
HOST: Final = "kubernetes.io/hostname"
RACK: Final = "rack"
"""A topology key that a third of the nodes lack."""
MODEL: Final = "model"
"""A label of most nodes for node affinity, that is no number on each of them."""
MODELS: Final = ("1", "2", "3", "007", "9223372036854775807", "9223372036854775808", "v4", "")
"""Its values, among them the largest number of 64 bits and the next one; "" for none."""
REVISION: Final = "revision"
TENANT: Final = "tenant"
VOLUME: Final = "simulated/zone-of-its-volume"
"""Stands for a volume that can be reached from one zone alone: the extender knows nothing of it."""
GROUPS: Final = "groups"
"""The profile of pods that are members of pod groups."""
LIMITED: Final = "limited"
"""A namespace with a quota, once one was set."""
NAMESPACES: Final = {"default": "blue", "other": "green", LIMITED: "green"}
"""Namespaces, each with the value of its label `team`."""
API_OF: Final = {
    "Job": "batch/v1",
    "ReplicationController": "v1",
    "CloneSet": "apps.kruise.io/v1alpha1",
}
"""Of controllers that are in no `apps/v1`, by kind."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


_ONE_TERM: Final = (
    '{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"a"}}%s}'
)
_ANTI: Final = '{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[%s]}}'
BROKEN: Final = (
    "{",
    '{"podAntiAfinity":{}}',
    "null",
    '{"podAntiAffinity":{},"podAntiAffinity":{}}',
    _ANTI % '{"topologyKey":"","labelSelector":{}}',
    _ANTI % _ONE_TERM % ',"maxMatchingPods":"10%"',
    _ANTI % _ONE_TERM % ',"maxMatchingPods":-1',
    _ANTI % _ONE_TERM % ',"unknown":1',
)
"""No JSON, unknown and repeated fields, null, what no API server takes, limits that are none."""
BROKEN_FIELDS: Final = (
    "",
    "podAntiAfinity",
    "",
    "podAntiAffinity",
    "topologyKey",
    "maxMatchingPods",
    "maxMatchingPods",
    "unknown",
)
"""What is wrong with each, "" for the whole."""


def node(name: str, zone: str, cpu: int, number: int = 0) -> Json:
    """Build a node; by its number it has more labels or fewer, and a hostname of its own."""
    labels = {ZONE: zone, HOST: f"{name}.example" if number % 5 == 4 else name}
    if number % 3:
        labels[RACK] = f"r{number % 2}"
    if model := MODELS[number % len(MODELS)]:
        labels[MODEL] = model
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": {"cpu": str(cpu), "pods": "110"}},
    }


def namespace(name: str, team: str) -> Json:
    return {"metadata": {"name": name, "labels": {"team": team}}, "spec": {}, "status": {}}


def budget(app: str, allowed: int) -> Json:
    return {
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def quota(
    name: str, hard: Mapping[str, str], scopes: Iterable[str] = ("CrossNamespacePodAffinity",)
) -> Json:
    """Build a quota on the pods that are in all of some scopes."""
    selects = [{"scopeName": each, "operator": "Exists"} for each in scopes]
    return {
        "metadata": {"name": name, "namespace": LIMITED},
        "spec": {"hard": dict(hard), "scopeSelector": {"matchExpressions": selects}},
    }


def pod_group(name: str, least: int | None, topology: str = "") -> Json:
    """Build a gang that needs some members at least, or a group that is none."""
    policy: Json = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    constraints = {"topology": [{"key": topology}]}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulingPolicy": policy,
            **({"schedulingConstraints": constraints} if topology else {}),
        },
        "status": {},
    }


def template(sort: str, app: str, other: str, priority: int = 0) -> Json:
    """Build what the pods of a workload are made of; `other` is an app that its rules may name.

    `apart` is the topology key by which they exclude each other.
    """
    labels = {"app": app}
    if sort.startswith(("rivals", "avoided", "crew")):
        labels["group"] = other
    if sort.startswith("of a tenant"):
        labels[TENANT] = f"tenant{sum(app.encode()) % 3}"
    apart = ZONE if sort.endswith("by zone") else HOST if sort.endswith("by host") else ""
    made = {"labels": labels, "affinity": {}, "priority": priority, "apart": apart}
    if sort.startswith("at most"):
        # It has to be said in an annotation.
        own, others = ({"matchLabels": {"app": each}} for each in (app, other))
        two, three = _term(apart, own, maxMatchingPods=2), _term(apart, others, maxMatchingPods=3)
        rules = json.dumps(_anti(two, three))
        return made | {"annotations": {"affinity-extender.io/affinity": rules}, "apart": ""}
    return made | {"affinity": _affinity(sort, app, other, apart)}


def _affinity(sort: str, app: str, other: str, apart: str) -> Json:
    own, others = {"matchLabels": {"app": app}}, {"matchLabels": {"app": other}}
    if sort.startswith(("rivals", "avoiding", "shunning")):
        also = [_term(apart, own)] if sort.startswith("shunning") else []
        group: Json = {"labelSelector": {"matchLabels": {"group": other}}}
        if sort.startswith("rivals") and sum(other.encode()) % 3 == 0:
            # Their own group, said in another way.
            any_group = {"matchExpressions": [_expression("group", "Exists")]}
            group = {"labelSelector": any_group, "matchLabelKeys": ["group"]}
        return _anti({"topologyKey": apart, **group}, *also)
    if sort.startswith("crew"):
        return _towards(_term(ZONE, own)) | _anti(_term(apart, {"matchLabels": {"group": other}}))
    if sort == "hostile":
        return _hostile(app)
    wish = {"weight": 10, "podAffinityTerm": _term(ZONE, own)}
    tenants = _expression(TENANT, "Exists")
    some_tenants = [_expression(TENANT, "NotIn", "tenant0"), tenants]
    alike = [
        _expression("app", "NotIn", app),
        _expression("app", "In", app, other),
        _expression(TENANT, "DoesNotExist"),
    ]
    teams = {"matchLabels": {"team": "green"}}
    sorts: Mapping[str, Json] = {
        "apart by host": _anti(_term(HOST, own)),
        "apart by zone": _anti(_term(ZONE, own)),
        "avoided by host": _anti(_term(HOST, own)),
        "avoided by zone": _anti(_term(ZONE, own)),
        "together": _towards(_term(ZONE, own)),
        "together, over two keys": _towards(_term(ZONE, own), _term(RACK, own)),
        "revision apart by host": _anti(_term(HOST, own, matchLabelKeys=[REVISION])),
        "revision together": _towards(_term(ZONE, own, matchLabelKeys=[REVISION])),
        "of a tenant apart by host": _anti(
            _term(HOST, {"matchExpressions": [tenants]}, mismatchLabelKeys=[TENANT])
        ),
        "of a tenant, away from two": _anti(
            _term(HOST, {"matchExpressions": some_tenants}, mismatchLabelKeys=[TENANT])
        ),
        "near another": _towards(_term(ZONE, others)),
        "away from another": _anti(_term(HOST, others)),
        "away from a team": _anti(_term(HOST, others, namespaceSelector=teams)),
        "away from whatever is like another": _anti(
            _term(HOST, {"matchExpressions": alike}, namespaces=["other"], namespaceSelector={})
        ),
        "spread if possible": {"podAntiAffinity": {_PREFERRED: [wish]}},
    }
    return sorts.get(sort, {})


SORTS: Final = (
    "apart by host",
    "apart by host",
    "apart by zone",
    "at most two by host",
    "at most two by zone",
    "together",
    "near another",
    "away from another",
    "away from a team",
    "away from whatever is like another",
    "together, over two keys",
    "revision apart by host",
    "revision together",
    "of a tenant apart by host",
    "of a tenant, away from two",
    "spread if possible",
    "plain",
    "hostile",
)


def pod(name: str, space: str, made_of: Json, *, owner: str, scheduler: str, milli: int) -> Json:
    """Build a pod that waits."""
    annotations: Json = made_of.get("annotations", {})
    if zone := made_of.get("volume_zone"):
        annotations = {**annotations, VOLUME: zone}
    kind = made_of.get("kind", "ReplicaSet")
    about = {"apiVersion": API_OF.get(kind, "apps/v1"), "uid": f"uid-of-{owner}"}
    owners = [{"kind": kind, "name": owner, "controller": True, **about}]
    claim = {"claimName": made_of.get("claim")}
    return {
        "metadata": {
            "name": name,
            "namespace": space,
            "labels": dict(made_of["labels"]),
            **({"annotations": annotations} if annotations else {}),
            **({"ownerReferences": owners} if kind else {}),
        },
        "spec": {
            "schedulerName": scheduler,
            "priority": made_of["priority"],
            "terminationGracePeriodSeconds": made_of.get("grace", 3),
            **({"preemptionPolicy": "Never"} if made_of.get("patient") else {}),
            "containers": [
                {
                    "name": "main",
                    "resources": {"requests": {"cpu": f"{milli}m"}},
                    **({"ports": [_on_host(made_of["port"])]} if made_of.get("port") else {}),
                },
            ],
            **({"affinity": made_of["affinity"]} if made_of["affinity"] else {}),
            **({"schedulingGroup": _in_group(made_of)} if made_of.get("pod_group") else {}),
            **(
                {"volumes": [{"name": "data", "persistentVolumeClaim": claim}]}
                if made_of.get("claim")
                else {}
            ),
        },
        "status": {"phase": "Pending"},
    }


def any_template(chance: Random, app: str, apps: list[str]) -> Json:
    other = chance.choice(apps or [app])
    made_of = template(chance.choice(SORTS), app, other, chance.choice((0, 0, 0, 10)))
    return made_of | {"patient": chance.random() < 0.2, "grace": chance.choice((0, 1, 3, 3, 30))}


def _hostile(app: str) -> Json:
    """Build rules of as many terms as users dare to write."""
    terms = [
        _term(HOST, {"matchExpressions": [_expression(f"k{n}", "NotIn", app)]}, namespaces=[])
        for n in range(40)
    ]
    required = [
        _term(key, {"matchLabels": {"app": app, f"k{n}": "v"}})
        for n, key in enumerate((HOST, ZONE, "no/such-key", HOST))
    ]
    wishes = [_weighted(each) for each in terms]
    return {"podAntiAffinity": {_PREFERRED: wishes, _REQUIRED: required}}


def _in_group(made_of: Json) -> Json:
    return {"podGroupName": made_of["pod_group"]}


def _on_host(port: int) -> Json:
    return {"containerPort": port, "hostPort": port}


def _term(key: str, selector: Json, **fields: Any) -> Json:
    return {"topologyKey": key, "labelSelector": selector, **fields}


def _anti(*terms: Json) -> Json:
    return {"podAntiAffinity": {_REQUIRED: list(terms)}}


def _towards(*terms: Json) -> Json:
    return {"podAffinity": {_REQUIRED: list(terms)}}


def _weighted(term: Json) -> Json:
    return {"weight": 1, "podAffinityTerm": term}


def _expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}
