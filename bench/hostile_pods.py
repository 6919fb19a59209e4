"""Pods that contain all that fits into them, and a cluster for them: see `bench.hostile`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import msgspec

from bench.clusters import COVERS_ALL
from bench.hostile_annotations import in_annotations
from bench.workloads import HOST, ZONE, Json
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import key_of
from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.model.node_resources import Allocatable
from extender.core.model.objects import Namespace, Node, Pod, PodClass, SharedSpec, SharedStatus
from extender.core.model.pod_affinity import NO_AFFINITY, Affinity, PodSelector, Term, WeightedTerm
from extender.core.wire.limits import OF_RULES

NODES, CLASSES, PODS, NAMESPACES = 3000, 3000, 60_000, 100
NOMINATED = 100
"""Waiting pods of as many workloads that have a node nominated for them, with an equal priority."""
PRIORITY = 1000
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ROOM = Allocatable({"pods": 110, "cpu": 64_000})


def hostile_pods() -> dict[str, Json]:
    plain = _pod("podAntiAffinity", {})
    others = {**_about_pods(), **_about_nodes(), **_other(), **in_annotations(plain)}
    return {"nothing, to compare with": plain, **others}


def _about_pods() -> dict[str, Json]:
    everywhere: Json = {"namespaceSelector": {}, "topologyKey": HOST}

    def unlike(count: int) -> list[Json]:
        return [
            {
                "labelSelector": {"matchExpressions": [condition("app", "NotIn", f"x{n}")]},
                **everywhere,
            }
            for n in range(count)
        ]

    def narrow(count: int) -> list[Json]:
        return [
            {"labelSelector": {"matchLabels": {"app": f"a{n}"}}, **everywhere} for n in range(count)
        ]

    terms, conditions = OF_RULES.terms, OF_RULES.conditions
    absent = [condition(f"k{n}", "DoesNotExist") for n in range(24_000)]
    keys = [{**each, "topologyKey": f"key-{n}"} for n, each in enumerate(unlike(terms))]
    values = condition("app", "NotIn", *(f"x{n}" for n in range(conditions)))
    small = [{**everywhere, "labelSelector": {}, "topologyKey": f"k{n}"} for n in range(17_000)]
    # That its own labels do not have, so that no API server makes conditions of them.
    keyed = [{**each, "matchLabelKeys": [f"k{n}" for n in range(20)]} for each in narrow(4000)]
    apart = "podAntiAffinity"

    def alone(*requirements: Json) -> Json:
        selector = {"matchExpressions": list(requirements)}
        return _pod(apart, _required([{"labelSelector": selector, **everywhere}]))

    return {
        "64 negative terms": _pod(apart, _required(unlike(terms))),
        "64 terms with a label": _pod(apart, _required(narrow(terms))),
        "64 affinity terms": _pod("podAffinity", _required(unlike(terms))),
        "64 topology keys": _pod(apart, _required(keys)),
        "1,024 conditions": alone(*absent[:conditions]),
        "a condition of 1,024 values": alone(values),
        # More than a pod may have.
        "24,000 conditions, 1 MiB": alone(*absent),
        "17,000 small terms, 1.5 MiB": _pod(apart, _required(small)),
        "80,000 label keys, 1 MiB": _pod(apart, _required(keyed)),
    }


def _about_nodes() -> dict[str, Json]:
    above = [_one("number", "Gt", str(10_000 + n)) for n in range(1000)]
    other = [_one(HOST, "NotIn", f"x{n}") for n in range(1000)]
    values = [_one(HOST, "In", *(f"n{n}" for n in range(2600))) for _ in range(3)]
    bare = [_one("k", "Exists") for _ in range(25_000)]
    met = [condition("number", "Lt", str(NODES + n)) for n in range(20_000)]
    unmet = {"matchExpressions": [*met, condition("number", "Gt", str(NODES))]}
    return {
        "1,000 node terms by number": _pod("nodeAffinity", _requiring(above)),
        "1,000 preferred node terms": _pod(
            "nodeAffinity",
            {PREFERRED: [{"weight": 1 + n % 100, "preference": e} for n, e in enumerate(other)]},
        ),
        "7,800 names of nodes": _pod("nodeAffinity", _requiring(values)),
        "25,000 node terms, 1.5 MiB": _pod("nodeAffinity", _requiring(bare)),
        "20,000 conditions on nodes": _pod("nodeAffinity", _requiring([unmet])),
    }


def _other() -> dict[str, Json]:
    plain = _pod("podAntiAffinity", {})
    labels = {f"label-{n}": "x" * 30 for n in range(20_000)}
    metadata = {**plain["metadata"], "labels": {"app": "hostile", **labels}}
    tolerations = [{"key": f"key-{n}", "effect": "NoSchedule"} for n in range(25_000)]
    ports = [{"containerPort": 1, "hostPort": 1 + n} for n in range(25_000)]
    return {
        "20,000 labels": {**plain, "metadata": metadata},
        "25,000 tolerations": {**plain, "spec": {**plain["spec"], "tolerations": tolerations}},
        "25,000 host ports": {**plain, "spec": {**plain["spec"], "containers": [{"ports": ports}]}},
    }


def condition(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _one(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [condition(key, operator, *values)]}


def _required(terms: list[Json]) -> Json:
    return {REQUIRED: terms}


def _requiring(terms: list[Json]) -> Json:
    return {REQUIRED: {"nodeSelectorTerms": terms}}


def _pod(kind: str, rules: Json) -> Json:
    metadata = {
        "name": "hostile",
        "namespace": "ns0",
        "uid": "hostile",
        "labels": {"app": "hostile"},
    }
    return {
        "metadata": metadata,
        "spec": {"affinity": {kind: rules}, "priority": PRIORITY},
        "status": {"phase": "Pending"},
    }


PLAIN: Json = {
    "metadata": {"name": "new", "namespace": "ns2", "uid": "new", "labels": {"app": "new"}},
    "spec": {"priority": PRIORITY},
}


def alike(pod: Json, number: int) -> Json:
    """Return another pod that is as hostile."""
    name = f"{pod['metadata']['name']}-{number}"
    labels = {**pod["metadata"]["labels"], "app": name}
    return {**pod, "metadata": {**pod["metadata"], "name": name, "uid": name, "labels": labels}}


def shown(pod: Json, *, node: str | None = None, nominated: str | None = None) -> msgspec.Raw:
    """Write a pod as a watch shows it: waiting, nominated or on its node."""
    spec, status = pod["spec"], {"phase": "Pending" if node is None else "Running"}
    if node is not None:
        spec = {**spec, "nodeName": node}
    if nominated is not None:
        status["nominatedNodeName"] = nominated
    return msgspec.Raw(json.dumps({**pod, "spec": spec, "status": status}).encode())


def cluster(pods: int) -> ClusterState:
    """Build a cluster: a third of the classes apart by host, a third spread by zone."""
    state, chance = ClusterState(scope=COVERS_ALL), random.Random(1)
    for number in range(NODES):
        labels = {HOST: f"n{number}", ZONE: "abc"[number % 3], "number": str(number)}
        state.upsert_node(Node(f"n{number}", labels, _ROOM))
    for number in range(NAMESPACES):
        state.upsert_namespace(Namespace(f"ns{number}", {"team": f"t{number % 5}"}))
    classes = [_class(number) for number in range(CLASSES)]
    for number in range(pods):
        pod_class = classes[number % CLASSES]
        key = key_of(pod_class.namespace, f"p{number}")
        node = f"n{chance.randrange(NODES)}"
        state.upsert_pod(Pod(key, key, node, pod_class))
    for each in _nominated():
        state.upsert_pod(each)
    return state


def _nominated() -> Iterator[Pod]:
    for number in range(NOMINATED):
        pod_class, node = _class(CLASSES + 3 * number), f"n{number * 7}"
        key = key_of(pod_class.namespace, f"nominated-{number}")
        asks, status = SharedSpec(priority=PRIORITY), SharedStatus(nominated=node)
        yield Pod(key, key, None, pod_class, asks, status)


def _class(number: int) -> PodClass:
    namespace, app = f"ns{number % NAMESPACES}", f"a{number}"
    alike = Selector.of([Requirement("app", Operator.IN, frozenset((app,)))])
    term = Term(PodSelector(alike, frozenset((namespace,))), HOST if number % 3 == 0 else ZONE)
    affinity = (
        Affinity(required_anti=(term,)),
        Affinity(preferred=(WeightedTerm(term, -10),)),
        NO_AFFINITY,
    )[number % 3]
    return PodClass(namespace, {"app": app, "tier": f"t{number % 4}"}, affinity)
