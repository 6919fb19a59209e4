"""Each fault that is planted in a workload's affinity is found, and no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.commands.lint.rulebook import OF_WORKLOAD, OF_WRITTEN
from extender.core.wire.manifests import (
    EXCLUSIVE_ANNOTATION,
    REVISIONS_ANNOTATION,
)
from tests.annotating import REQUIRED
from tests.beside import AFFINITY_ANNOTATION, POLICY_ANNOTATION
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    namespace,
    node,
    node_term,
    pod,
    requirement,
    selector,
    term,
    workload,
)
from tests.commands.lint.asking import found, linted
from tests.volumes import bound, claim, volume

ALREADY, AGAINST = "preferred-already-required", "affinity-against-anti-affinity"
WEB = selector(app="web")
DB = selector(app="db")


def web(name: str = "web") -> Pod:
    return pod(name).labels(app="web").uid(None)


def nodes(number: int, zones: int = 3, **labels: str) -> list[Json]:
    return [node(f"n{i}", {HOST: f"n{i}", ZONE: f"z{i % zones}", **labels}) for i in range(number)]


CLAIMS = [
    claim("once", accessModes=["ReadWriteOnce"]),
    claim("alone", accessModes=["ReadWriteOncePod"]),
    claim("many", accessModes=["ReadWriteMany"]),
]
CLUSTER = [namespace("default"), namespace("shop", {"team": "a"}), *nodes(6), *CLAIMS]
DATABASE = pod("db").labels(app="db").on("n0")


def of(kind: str, template: Pod, **spec: Any) -> Json:
    return workload(kind, "it", template, **spec)


def surge(number: int | str, unavailable: int | str) -> dict[str, Any]:
    return {"rollingUpdate": {"maxSurge": number, "maxUnavailable": unavailable}}


def term_without(field: str) -> Json:
    return {name: value for name, value in term(HOST, DB).items() if name != field}


IS_NO_FIELD: Json = {"podAntiAffinity": {"requiredDuringSchedulingRequiredDuringExecution": []}}


IS_AFFINITY: Json = {"podAntiAffinity": {}}


def within_template(made: Json) -> Json:
    made["spec"]["template"]["affinity"] = IS_AFFINITY
    return made


def pruned() -> Pod:
    made = web()
    made["spec"]["affinity"] = IS_NO_FIELD
    return made


def in_host_network() -> Pod:
    made = web()
    containers = [{"name": "c", "ports": [{"containerPort": 8080}]}]
    made["spec"] = {"hostNetwork": True, "containers": containers}
    return made


MODE = {"name": "AFFINITY_EXTENDER_MODE", "value": "replace"}
FIELD = {"fieldRef": {"fieldPath": "metadata.name"}}


def with_variable(variable: Json, containers: str = "containers") -> Pod:
    made = web()
    made["spec"][containers] = [{"name": "a"}, {"name": "b", "env": [{"name": "A"}, variable]}]
    return made


def scheduler(gates: str, tag: str = ":v1.38.0") -> Pod:
    """Build a pod with kube-scheduler in it."""
    made = web()
    command = ["kube-scheduler", f"--feature-gates={gates}"]
    made["spec"]["containers"] = [
        {"name": "a", "image": f"registry.k8s.io/kube-scheduler{tag}", "command": command}
    ]
    return made


def limited(most: int, label_selector: Json) -> Pod:
    at_most = {REQUIRED: [term(ZONE, label_selector, maxMatchingPods=most)]}
    return web().annotated(AFFINITY_ANNOTATION, json.dumps({"podAntiAffinity": at_most}))


def spread(label_selector: Json | None, key: str = ZONE, when: str = "DoNotSchedule") -> Pod:
    made = web()
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when}
    if label_selector is not None:
        constraint["labelSelector"] = label_selector
    made["spec"]["topologySpreadConstraints"] = [constraint]
    return made


def with_claim(name: str) -> Pod:
    """Build a pod of one of the claims that `CLUSTER` has."""
    made = web()
    made["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
    return made


RECREATE = {"type": "Recreate"}
NO_GPU = node_term(requirement("gpu", "DoesNotExist"))
IN_Z1 = node_term(requirement(ZONE, "In", "z1"))
NOT_Z0, NOT_Z1 = (node_term(requirement(ZONE, "NotIn", each)) for each in ("z0", "z1"))
OWN = requirement("app", "In", "web")
OTHERS = [requirement("app", "Exists"), requirement("app", "NotIn", "web")]
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingAdmissionPolicy",
    "metadata": {"name": "affinity-extender-exclusive"},
}


def exclusive(made: Pod | None = None, key: str = ZONE) -> Pod:
    """Write the terms of "app by zone" into a pod."""
    return (
        (made or web())
        .affinity(term(key, selector(OWN), namespaceSelector={}))
        .anti_affinity(term(key, selector(*OTHERS), namespaceSelector={}))
    )


BROAD = term(HOST, selector(requirement("app", "Exists")))


def for_os(name: str, **selected: str) -> Pod:
    made = web().selects(**selected) if selected else web()
    made["spec"]["os"] = {"name": name}
    return made


OS = "kubernetes.io/os"
OF_LINUX = node("linux", {HOST: "linux", ZONE: "z0", OS: "linux"})
FAULTS: list[Any] = [
    ("affinity-unreadable", web().anti_affinity(term_without("topologyKey"))),
    ("affinity-unreadable", web().anti_affinity(term(HOST, selector(requirement("app", "Is"))))),
    ("affinity-unreadable", web().anti_affinity(term(HOST, selector(app="d b")))),
    (
        "comparison-without-number",
        web().prefers_nodes(1, node_term(requirement("gpu", "Lt", "many"))),
    ),
    ("exclusion-undone", web().requires_nodes(NOT_Z0, NOT_Z1)),
    ("exclusion-undone", web().requires_nodes(IN_Z1, NO_GPU)),
    ("alpha-annotation", web().annotated("scheduler.alpha.kubernetes.io/affinity", "{}")),
    ("claim-for-one-node", of("Deployment", with_claim("once"))),
    (
        "claim-for-one-node",
        of(
            "Deployment",
            with_claim("once").avoids(1, term(HOST, WEB)),
            strategy=RECREATE,
            replicas=2,
        ),
    ),
    ("claim-for-one-node", of("Deployment", with_claim("alone").affinity(term(HOST, WEB)))),
    ("affinity-field-unknown", pruned()),
    ("affinity-field-unknown", web().avoids(1, term(HOST, DB | {"matchLabel": {"a": "b"}}))),
    (
        "affinity-field-unknown",
        web().anti_affinity(term(HOST, selector(requirement("app", "Exists") | {"value": "web"}))),
    ),
    (
        "affinity-field-unknown",
        web().requires_nodes(
            node_term(requirement("kubernetes.io/hostname", "Exists")) | {"or": 1}
        ),
    ),
    ("affinity-astray", of("Deployment", web(), affinity=IS_AFFINITY)),
    ("affinity-astray", of("Deployment", web(), nodeSelector={"disk": "ssd"})),
    ("affinity-astray", within_template(of("StatefulSet", web()))),
    ("affinity-astray", web() | {"affinity": IS_AFFINITY}),
    ("weight-out-of-range", web().avoids(0, term(HOST, DB))),
    ("weight-out-of-range", web().prefers(101, term(HOST, DB))),
    (
        "too-many-terms",
        web().avoids(1, *(term(HOST, selector(app=f"other-{n}")) for n in range(65))),
    ),
    ("label-keys-without-selector", web().anti_affinity(term(HOST, matchLabelKeys=["app"]))),
    (
        "label-key-in-both",
        web()
        .labels(v="1")
        .anti_affinity(term(HOST, DB, matchLabelKeys=["v"], mismatchLabelKeys=["v"])),
    ),
    ("label-key-already-selected", web().avoids(1, term(HOST, WEB, matchLabelKeys=["app"]))),
    ("label-key-absent", web().anti_affinity(term(HOST, DB, matchLabelKeys=["version"]))),
    (
        "label-key-absent",
        of(
            "StatefulSet",
            web().anti_affinity(term(HOST, WEB, matchLabelKeys=["pod-template-hash"])),
        ),
    ),
    ("selector-missing", web().anti_affinity(term(HOST))),
    ("selector-missing", web().affinity(term(HOST))),
    ("selector-empty", web().anti_affinity(term(HOST, {}))),
    ("selector-empty", web().anti_affinity(term(HOST, {}, namespaceSelector={}))),
    (
        "selector-contradictory",
        web().affinity(term(HOST, selector(requirement("app", "NotIn", "web"), app="web"))),
    ),
    (
        "selector-contradictory",
        web().avoids(
            5,
            term(HOST, selector(requirement("a", "Exists"), requirement("a", "DoesNotExist"))),
        ),
    ),
    ("affinity-terms-exclude-each-other", web().affinity(term(ZONE, WEB), term(HOST, DB))),
    (
        "affinity-terms-exclude-each-other",
        web().affinity(term(ZONE, DB, namespaces=["shop"]), term(HOST, DB)),
    ),
    (
        "affinity-against-anti-affinity",
        web().affinity(term(HOST, DB)).anti_affinity(term(HOST, DB)),
    ),
    (
        "affinity-against-anti-affinity",
        web()
        .affinity(term(HOST, DB))
        .anti_affinity(term(ZONE, selector(requirement("app", "Exists")))),
    ),
    ("affinity-matches-no-pod", web().affinity(term(ZONE, selector(app="dv")))),
    ("affinity-matches-no-pod", web().affinity(term(ZONE, DB, namespaces=["shop"]))),
    (
        "anti-affinity-matches-no-pod",
        web().labels(part="server").anti_affinity(term(HOST, selector(app="wep", part="server"))),
    ),
    ("no-node-matches", web().selects(disk="ssd")),
    ("os-not-selected", for_os("windows")),
    (
        "affinity-against-spread",
        of("Deployment", spread(WEB).affinity(term(ZONE, WEB)), replicas=2),
    ),
    (
        "node-affinity-contradictory",
        web().selects(**{ZONE: "z0"}).requires_nodes(node_term(requirement(ZONE, "In", "z1"))),
    ),
    (
        "node-affinity-contradictory",
        web().requires_nodes(
            node_term(requirement(ZONE, "In", "z0"), requirement(ZONE, "In", "z1")),
            node_term(requirement(ZONE, "In", "z2"), requirement(ZONE, "NotIn", "z2")),
        ),
    ),
    (
        "more-replicas-than-domains",
        of("Deployment", web().anti_affinity(term(ZONE, WEB)), replicas=4),
    ),
    (
        "more-replicas-than-domains",
        of("StatefulSet", web().anti_affinity(term(HOST, WEB)), replicas=7),
    ),
    (
        "rollout-stuck",
        of("Deployment", web().anti_affinity(term(ZONE, WEB)), replicas=3),
    ),
    (
        "rollout-stuck",
        of("Deployment", web().anti_affinity(term(HOST, WEB)), replicas=6, strategy=surge(3, 0)),
    ),
    (
        "daemonset-excludes-itself",
        of("DaemonSet", web().anti_affinity(term(ZONE, WEB))),
    ),
    (
        "daemonset-excludes-itself",
        of("DaemonSet", web().anti_affinity(term(HOST, WEB)), updateStrategy=surge(1, 0)),
    ),
    ("more-replicas-than-domains", of("Deployment", web().host_port(8080), replicas=7)),
    ("rollout-stuck", of("Deployment", web().host_port(8080), replicas=6, strategy=surge(3, 0))),
    ("rollout-stuck", of("Deployment", in_host_network(), replicas=6, strategy=surge(3, 0))),
    (
        "daemonset-excludes-itself",
        of("DaemonSet", web().host_port(8080), updateStrategy=surge(1, 0)),
    ),
    ("topology-key-unknown", web().anti_affinity(term("kubernetes.io/host", DB))),
    ("topology-key-unknown", spread(WEB, "topology.kubernetes.io/zones")),
    ("topology-key-deprecated", spread(WEB, "failure-domain.beta.kubernetes.io/zone")),
    (
        "topology-key-deprecated",
        web().avoids(1, term("failure-domain.beta.kubernetes.io/zone", DB)),
    ),
    ("namespace-unknown", web().anti_affinity(term(HOST, DB, namespaces=["shoo"]))),
    (
        "namespace-selector-matches-none",
        web().anti_affinity(term(HOST, DB, namespaceSelector=selector(team="b"))),
    ),
    (
        "namespaces-without-effect",
        web().anti_affinity(term(HOST, DB, namespaces=["shop"], namespaceSelector={})),
    ),
    ("annotation-unreadable", web().annotated(AFFINITY_ANNOTATION, '{"podAffinty": {}}')),
    ("annotation-unreadable", of("Job", web().annotated(POLICY_ANNOTATION, "Replace"))),
    (
        "annotation-for-spec",
        web().annotated(
            AFFINITY_ANNOTATION, json.dumps({"podAntiAffinity": {REQUIRED: [term(HOST, DB)]}})
        ),
    ),
    (
        "annotation-for-spec",
        of("Deployment", limited(1, WEB), replicas=2),
    ),
    (
        "annotation-misplaced",
        {
            **of("Deployment", web()),
            "metadata": {"name": "it", "annotations": {AFFINITY_ANNOTATION: "{}"}},
        },
    ),
    ("gate-removed", scheduler("MatchLabelKeysInPodAffinity=true")),
    ("gate-removed", of("Deployment", scheduler("A=true,DynamicResourceAllocation=false"))),
    ("variable-not-read", with_variable(MODE)),
    ("variable-not-read", of("Deployment", with_variable(MODE, "initContainers"))),
    ("variable-not-read", with_variable({"name": MODE["name"], "valueFrom": FIELD})),
    ("selector-misses-own-pods", of("Deployment", spread(selector(app="shop")), replicas=2)),
    ("selector-misses-own-pods", of("StatefulSet", spread(None), replicas=2)),
    (
        "selector-misses-own-pods",
        of("Deployment", web().avoids(1, term(HOST, selector(app="shop"))), replicas=2),
    ),
    ("selector-almost-matches", web().avoids(1, term(HOST, selector(app="wbe")))),
    ("selector-almost-matches", web().prefers(1, term(HOST, selector(appp="db")))),
    ("replicas-not-spread", of("Deployment", web(), replicas=2)),
    ("replicas-not-spread", of("StatefulSet", web().affinity(term(ZONE, WEB)), replicas=3)),
    ("replicas-not-spread", of("Deployment", limited(2, DB), replicas=2)),
    ("exclusive-not-written", web().annotated(EXCLUSIVE_ANNOTATION, f"app by {ZONE}")),
    ("exclusive-not-written", web().annotated(EXCLUSIVE_ANNOTATION, "app")),
    ("exclusive-not-written", web().annotated(EXCLUSIVE_ANNOTATION, f"job by {ZONE}")),
    (
        "exclusive-not-written",
        of("Job", exclusive().annotated(EXCLUSIVE_ANNOTATION, f"app by {HOST}")),
    ),
    (
        "exclusive-beside-affinity",
        web().affinity(term(ZONE, DB)).annotated(EXCLUSIVE_ANNOTATION, f"app by {ZONE}"),
    ),
    ("term-repeated", web().anti_affinity(term(HOST, DB), term(HOST, DB))),
    ("term-repeated", web().prefers(3, term(HOST, DB), term(HOST, DB))),
    ("term-implied", web().anti_affinity(term(HOST, DB), BROAD)),
    ("term-implied", web().anti_affinity(term(HOST, DB), term(ZONE, DB))),
    ("preferred-already-required", web().anti_affinity(BROAD).avoids(9, term(HOST, DB))),
    ("preferred-terms-cancel", web().prefers(5, term(HOST, DB)).avoids(5, term(HOST, DB))),
]

BESIDE = {
    "topology-key-deprecated": [node("old", {"failure-domain.beta.kubernetes.io/zone": "z"})],
    "exclusive-beside-affinity": [POLICY],
    "os-not-selected": [OF_LINUX],
}


@pytest.mark.parametrize(
    ("rule", "thing"),
    [pytest.param(*each, id=f"{number} {each[0]}") for number, each in enumerate(FAULTS)],
)
def test_a_fault_is_found(rule: str, thing: Json) -> None:
    assert found(linted(*CLUSTER, *BESIDE.get(rule, ()), DATABASE, thing)) == [rule]


@pytest.mark.parametrize(
    ("when", "comes_of_it"),
    [("DoNotSchedule", "no node will do"), ("ScheduleAnyway", "the constraint has no effect")],
)
def test_a_constraint_over_a_key_that_no_node_has(when: str, comes_of_it: str) -> None:
    (finding,) = linted(*CLUSTER, spread(WEB, f"{ZONE}s", when)).findings
    assert finding.path == "spec.topologySpreadConstraints[0].topologyKey"
    assert finding.message == (
        f"no node has the label {ZONE}s, so {comes_of_it}; did you mean {ZONE}?"
    )


def test_a_key_that_some_nodes_lack() -> None:
    apart = web().anti_affinity(term("rack", DB))
    cluster = [*nodes(2, rack="r"), node("n9", {HOST: "n9"})]
    assert found(linted(*cluster, apart)) == ["topology-key-partial"]
    kept_off = apart.requires_nodes({"matchExpressions": [requirement("rack", "Exists")]})
    assert found(linted(*cluster, kept_off)) == []


@pytest.mark.parametrize(
    ("thing", "rule"),
    [
        (web().anti_affinity(term(HOST, WEB), term(ZONE, WEB)), "term-implied"),
        (web().anti_affinity(term(ZONE, WEB)).avoids(9, term(HOST, WEB)), ALREADY),
        (web().affinity(term(HOST, DB)).anti_affinity(term(ZONE, DB)), AGAINST),
    ],
)
def test_on_a_node_without_the_wider_key_the_narrower_term_counts(thing: Pod, rule: str) -> None:
    bare = node("n9", {HOST: "n9"})
    assert found(linted(*CLUSTER, DATABASE, thing)) == [rule]
    assert found(linted(*CLUSTER, DATABASE, bare, thing)) == ["topology-key-partial"]
    kept_off = Pod(thing)
    kept_off["spec"] = {**thing["spec"], "nodeSelector": {ZONE: "z1"}}
    assert found(linted(*CLUSTER, DATABASE, bare, kept_off)) == [rule]


CONTROL_PLANE = node(
    "cp", {HOST: "cp", ZONE: "z9"}, taints=[{"key": "control-plane", "effect": "NoSchedule"}]
)
CORDONED = node(
    "off",
    {HOST: "off", ZONE: "z9"},
    taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
)
APART_BY_ZONE = web().anti_affinity(term(ZONE, WEB))


def tolerating(key: str) -> Pod:
    made = Pod(APART_BY_ZONE)
    made["spec"] = {**made["spec"], "tolerations": [{"key": key, "operator": "Exists"}]}
    return made


@pytest.mark.parametrize(
    ("more", "thing", "expected"),
    [
        pytest.param(
            CONTROL_PLANE,
            of("Deployment", APART_BY_ZONE, replicas=4),
            ["more-replicas-than-domains"],
            id="a tainted node is no domain for the pods",
        ),
        pytest.param(
            CONTROL_PLANE,
            of("Deployment", APART_BY_ZONE, replicas=3),
            ["rollout-stuck"],
            id="and no room for an update",
        ),
        pytest.param(
            CONTROL_PLANE,
            of("Deployment", tolerating("control-plane"), replicas=3),
            [],
            id="unless they tolerate it",
        ),
        pytest.param(
            CORDONED,
            of("Deployment", APART_BY_ZONE, replicas=3),
            [],
            id="a cordon goes again",
        ),
    ],
)
def test_taints_keep_pods_off(more: Json, thing: Json, expected: list[str]) -> None:
    assert found(linted(*CLUSTER, more, thing)) == expected


def test_taints_on_every_node_that_matches() -> None:
    (finding,) = linted(*CLUSTER, CONTROL_PLANE, web().selects(**{HOST: "cp"})).findings
    assert finding.rule.id == "no-node-matches"
    assert finding.message == "1 of 7 nodes, each with a taint that is not tolerated"


NEGATIVE = web().anti_affinity(
    term(HOST, DB, namespaceSelector=selector(requirement("team", "NotIn", "a")))
)


@pytest.mark.parametrize(
    ("minor", "expected"),
    [
        (33, []),
        (34, ["namespace-selector-negative"]),
        (36, ["namespace-selector-negative"]),
        (37, []),
        (None, ["namespace-selector-negative"]),
    ],
)
def test_a_negative_selector_depends_on_the_scheduler(
    minor: int | None, expected: list[str]
) -> None:
    assert found(linted(*CLUSTER, NEGATIVE, minor=minor)) == expected


GONE = "MatchLabelKeysInPodAffinity"


@pytest.mark.parametrize(
    ("made", "minor", "is_found"),
    [
        pytest.param(scheduler(f"{GONE}=false"), 37, True, id="its image says 1.38"),
        pytest.param(scheduler(f"{GONE}=true", ":v1.37.2"), 38, False, id="its image says 1.37"),
        pytest.param(scheduler(f"{GONE}=true", "@sha256:0"), 38, True, id="the flag says 1.38"),
        pytest.param(scheduler(f"{GONE}=true", ""), None, False, id="nothing says which"),
        pytest.param(scheduler("GenericWorkload=true"), 38, False, id="a gate that is there"),
        pytest.param(scheduler(f"{GONE}=true", "-tools:v1.38.0"), 37, False, id="another image"),
    ],
)
def test_a_gate_is_gone_from_the_release_of_the_scheduler(
    made: Pod, minor: int | None, *, is_found: bool
) -> None:
    assert ("gate-removed" in found(linted(*CLUSTER, made, minor=minor))) == is_found


def test_every_rule_about_workloads_has_a_fault() -> None:
    every = {rule.id for rule in OF_WORKLOAD}
    apart = {"topology-key-partial", "namespace-selector-negative", "affinity-circle"}
    of_features = {"group-in-other-profile"} & every
    planted = {each[0] for each in FAULTS} | apart | of_features
    assert planted - {rule.id for rule in OF_WRITTEN} == every


FINE = [
    pytest.param(for_os("linux"), id="for the only system that there is"),
    pytest.param(
        of("Deployment", spread(WEB, when="ScheduleAnyway").affinity(term(ZONE, WEB)), replicas=2),
        id="one zone, though several would be as well",
    ),
    pytest.param(
        of("Deployment", spread(WEB, HOST).affinity(term(ZONE, WEB)), replicas=2),
        id="several nodes of one zone",
    ),
    web().labels(part="server").anti_affinity(term(HOST, selector(app="new"))),
    web().labels(part="db").anti_affinity(term(HOST, selector(app="db"))),
    pytest.param(of("Deployment", limited(2, WEB), replicas=3), id="a limit that no spec can have"),
    pytest.param(
        exclusive().annotated(EXCLUSIVE_ANNOTATION, f" app by {ZONE} "), id="a domain for one app"
    ),
    pytest.param(
        of("Deployment", web().anti_affinity(term(ZONE, WEB)), replicas=2), id="a zone to spare"
    ),
    pytest.param(
        of(
            "Deployment",
            web().anti_affinity(term(ZONE, WEB)).annotated(REVISIONS_ANNOTATION, "Own"),
            replicas=3,
        ),
        id="each version counts its own",
    ),
    pytest.param(
        of(
            "Deployment",
            web().anti_affinity(term(ZONE, WEB, matchLabelKeys=["pod-template-hash"])),
            replicas=3,
        ),
        id="versions do not hold each other off",
    ),
    pytest.param(
        of(
            "Deployment",
            web().anti_affinity(term(ZONE, WEB)),
            replicas=3,
            strategy=surge(1, 1),
        ),
        id="one may be unavailable",
    ),
    pytest.param(
        of(
            "Deployment",
            web().anti_affinity(term(ZONE, WEB)),
            replicas=3,
            strategy={"type": "Recreate"},
        ),
        id="the old ones go first",
    ),
    pytest.param(
        of("Deployment", web().host_port(80), replicas=5, strategy=surge(1, 0)),
        id="a node with a free port",
    ),
    pytest.param(
        of("Deployment", web().host_port(80), replicas=6, strategy=surge(0, 1)),
        id="host ports that are given back first",
    ),
    pytest.param(of("Deployment", spread(WEB), replicas=2), id="replicas that are spread"),
    pytest.param(of("DaemonSet", spread(DB)), id="daemons, of which each has its node"),
    pytest.param(
        of("Deployment", web().avoids(1, term(HOST, DB)), replicas=2), id="away from others"
    ),
    pytest.param(
        of(
            "Deployment",
            web().avoids(1, term(HOST, DB), term(HOST, WEB)),
            replicas=2,
        ),
        id="away from others and one's own",
    ),
    pytest.param(
        of("Deployment", web().selects(**{HOST: "n1"}), replicas=2), id="replicas for one node"
    ),
    pytest.param(
        of("Deployment", web().avoids(1, term(HOST, selector(tier="cache"))), replicas=2),
        id="away from what may come",
    ),
    pytest.param(web().requires_nodes(NOT_Z0, IN_Z1), id="excluded, or named"),
    pytest.param(
        of("Deployment", with_claim("many"), strategy=surge(1, 0)), id="a claim for several nodes"
    ),
    pytest.param(
        of("Deployment", with_claim("once"), strategy=RECREATE), id="the old pod goes first"
    ),
    pytest.param(of("StatefulSet", with_claim("once")), id="its pods go one by one"),
    pytest.param(of("Deployment", with_claim("unknown")), id="a claim of which nothing is known"),
    pytest.param(
        of("Deployment", with_claim("once").affinity(term(HOST, WEB))), id="all on one node"
    ),
    pytest.param(of("Deployment", with_claim("once").selects(**{HOST: "n1"})), id="one node alone"),
    pytest.param(of("Job", web(), parallelism=3), id="a job"),
    pytest.param(of("DaemonSet", web().anti_affinity(term(HOST, WEB))), id="as daemons are anyway"),
    pytest.param(web().affinity(term(ZONE, WEB)), id="the first pod of a group"),
    pytest.param(
        web().requires_nodes(
            node_term(requirement(ZONE, "In", "z0"), requirement(ZONE, "In", "z1")),
            node_term(requirement(ZONE, "In", "z2")),
        ),
        id="two zones at once, or a third",
    ),
    pytest.param(web().affinity(term(ZONE, DB)).anti_affinity(term(HOST, DB)), id="near, not on"),
    pytest.param(
        web().anti_affinity(term(HOST, DB)).avoids(1, term(ZONE, DB)), id="a wider preference"
    ),
    pytest.param(
        web().anti_affinity(term(HOST, {}, namespaceSelector=selector(team="a"))),
        id="every pod of another team",
    ),
    pytest.param(
        web()
        .labels(tenant="a")
        .anti_affinity(term(HOST, {}, mismatchLabelKeys=["tenant"], namespaceSelector={})),
        id="every pod of another tenant",
    ),
    pytest.param(
        web().stored_at("7").anti_affinity(term(HOST, WEB, matchLabelKeys=["app"])),
        id="keys that the API server has merged",
    ),
    pytest.param(web().phase("Failed").anti_affinity(term(HOST)), id="a pod that has ended"),
    pytest.param(with_variable({"name": "MODE", "value": "replace"}), id="a variable of its own"),
    pytest.param(with_variable({"name": MODE["name"]}), id="an empty variable"),
    pytest.param(
        with_variable({"name": "AFFINITY_EXTENDER_PORT", "value": "tcp://10.0.0.1:80"}),
        id="a variable as the kubelet sets it for a Service",
    ),
]


@pytest.mark.parametrize("thing", FINE)
def test_what_works_is_left_alone(thing: Json) -> None:
    assert found(linted(*CLUSTER, DATABASE, thing)) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param({"csi": {"driver": "d", "volumeHandle": "h"}}, True, id="it is attached"),
        pytest.param({"nfs": {"server": "s", "path": "/"}}, False, id="it is mounted alone"),
        pytest.param({"csi": {"driver": "nfs", "volumeHandle": "h"}}, False, id="a driver's word"),
    ],
)
def test_a_claim_is_for_one_node_if_its_volume_is_attached(source: Json, *, expected: bool) -> None:
    driver = {"kind": "CSIDriver", "metadata": {"name": "nfs"}, "spec": {"attachRequired": False}}
    there = bound("disk", "v", accessModes=["ReadWriteOnce"])
    of_it = volume("v", accessModes=["ReadWriteOnce"], **source)
    things = (driver, there, of_it, of("Deployment", with_claim("disk")))
    assert ("claim-for-one-node" in found(linted(*CLUSTER, *things))) is expected


SSD = node("ssd", {HOST: "ssd", "disk-type": "fast"})


@pytest.mark.parametrize(
    ("thing", "instead"),
    [
        pytest.param(web().affinity(term(ZONE, selector(app="dv"))), None, id="too short to tell"),
        pytest.param(web().affinity(term(ZONE, selector(app="wbe"))), "app=web", id="swapped"),
        pytest.param(web().affinity(term(ZONE, selector(app="Web"))), "app=web", id="in capitals"),
        pytest.param(web().affinity(term(ZONE, selector(app="wed"))), None, id="another word"),
        pytest.param(web().affinity(term(ZONE, selector(appp="web"))), "app=web", id="a key"),
        pytest.param(web().affinity(term(ZONE, selector(app="web1"))), None, id="a number"),
        pytest.param(web().affinity(term(ZONE, selector(app="web-b"))), None, id="a sibling"),
        pytest.param(
            web().affinity(term("topology.kubernetes.io/zones", WEB)), ZONE, id="a topology key"
        ),
        pytest.param(web().selects(**{"disk-typ": "fast"}), "disk-type=fast", id="a node's label"),
        pytest.param(web().selects(**{"disk-type": "fats"}), "disk-type=fast", id="a node's value"),
        pytest.param(
            web().anti_affinity(term(HOST, DB, namespaces=["shpo"])), "shop", id="a namespace"
        ),
    ],
)
def test_what_was_probably_meant(thing: Json, instead: str | None) -> None:
    there = web("there").on("n0")
    (finding,) = linted(*CLUSTER, SSD, there, DATABASE, thing).findings
    assert finding.message.partition("did you mean ")[2].removesuffix("?") == (instead or "")


def budget(name: str = "web", **spec: Any) -> Json:
    metadata = {"name": name, "namespace": "default"}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return {**kind, "metadata": metadata, "spec": {"selector": WEB, **spec}}


THREE = of("Deployment", web().avoids(1, term(HOST, WEB)), replicas=3)


@pytest.mark.parametrize(
    ("things", "message"),
    [
        pytest.param(
            [budget(minAvailable=3), THREE], "all 3 pods of Deployment default/it", id="as many"
        ),
        pytest.param(
            [budget(minAvailable="90%"), THREE], "all 3 pods", id="a share, which is rounded up"
        ),
        pytest.param([budget(maxUnavailable=0), THREE], "all 3 pods", id="none may be away"),
        pytest.param(
            [budget(minAvailable=1), of("StatefulSet", web(), replicas=1)],
            "the only pod of ",
            id="a single",
        ),
        pytest.param([budget(minAvailable=2), THREE], None, id="one may go"),
        pytest.param([budget(maxUnavailable="1%"), THREE], None, id="a share of which one is left"),
        pytest.param(
            [
                budget(minAvailable=3),
                THREE,
                workload("Deployment", "more", THREE["spec"]["template"], replicas=1),
            ],
            None,
            id="of two workloads",
        ),
        pytest.param(
            [budget(minAvailable=1), of("Deployment", web())], None, id="scaled by others"
        ),
        pytest.param([budget(minAvailable=1), of("DaemonSet", web())], None, id="daemons"),
        pytest.param([budget(minAvailable=1, selector=DB), THREE], None, id="of other pods"),
        pytest.param([budget(minAvailable=1)], None, id="of nobody"),
        pytest.param([budget(), THREE], "neither minAvailable nor", id="neither number"),
        pytest.param([budget()], None, id="neither number, of nobody"),
        pytest.param(
            [budget(maxUnavailable=1), of("DaemonSet", web())],
            "the pods of DaemonSet default/it cannot be counted",
            id="daemons, whose number no controller tells",
        ),
        pytest.param(
            [budget(minAvailable="50%"), of("Job", web())],
            "the pods of Job default/it cannot be counted",
            id="a share of a Job",
        ),
        pytest.param([budget(minAvailable=1), of("Job", web())], None, id="a number of a Job"),
        pytest.param(
            [budget(minAvailable=3), THREE, web().owned_by("ReplicaSet/it-5d")],
            "all 3 pods",
            id="pods of a workload count once",
        ),
    ],
)
def test_a_budget_that_lets_no_pod_go(things: list[Json], message: str | None) -> None:
    report = linted(*CLUSTER, *things)
    assert found(report) == ([] if message is None else ["budget-allows-none"])
    assert message is None or report.findings[0].message.startswith(message)


@pytest.mark.parametrize(
    ("selector_of_second", "namespace", "message"),
    [
        pytest.param(WEB, "default", "the pods of Deployment default/it are in", id="the same"),
        pytest.param({}, "default", "the pods of Deployment default/it are in", id="all pods"),
        pytest.param(DB, "default", None, id="others"),
        pytest.param(None, "default", None, id="no pods"),
        pytest.param(WEB, "elsewhere", None, id="of another namespace"),
    ],
)
def test_two_budgets_for_the_same_pods(
    selector_of_second: Json | None, namespace: str, message: str | None
) -> None:
    first, second = budget(maxUnavailable=1), budget(maxUnavailable=1, selector=selector_of_second)
    second = {**second, "metadata": {"name": "second", "namespace": namespace}}
    report = linted(*CLUSTER, first, second, THREE, web().owned_by("ReplicaSet/it-5d"))
    assert found(report) == ([] if message is None else ["budgets-overlap"])
    if message is not None:
        (one,) = report.findings
        assert (one.place.object, one.message[: len(message)]) == (
            "PodDisruptionBudget default/second",
            message,
        )


def test_a_budget_is_spared_what_it_asks_for() -> None:
    spared = budget(minAvailable=3)
    annotations = {"affinity-extender.io/lint-ignore": "budget-allows-none"}
    spared["metadata"]["annotations"] = annotations
    report = linted(*CLUSTER, spared, THREE)
    assert (found(report), report.silenced) == ([], 1)


def test_manifests_alone_say_nothing_of_other_pods_and_namespaces() -> None:
    far = web().affinity(term(HOST, DB, namespaces=["elsewhere"]))
    assert found(linted(far, whole=False)) == []


def test_a_template_and_its_pods_are_one_finding() -> None:
    broken = web().anti_affinity(term(HOST))
    made = broken.labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/it-5d")
    report = linted(*CLUSTER, of("Deployment", broken), made)
    assert [each.place.object for each in report.findings] == ["Deployment default/it"]
    orphans = [broken.uid(f"{n}").owned_by("ReplicaSet/gone-7") for n in range(3)]
    assert len(linted(*CLUSTER, *orphans).findings) == 1


def test_an_object_is_spared_what_it_asks_for() -> None:
    broken = web().anti_affinity(term(HOST))
    spared = broken.annotated("affinity-extender.io/lint-ignore", "selector-missing, other")
    report = linted(*CLUSTER, spared)
    assert (found(report), report.silenced) == ([], 1)


def test_a_finding_says_where() -> None:
    job = workload("CronJob", "night", web().affinity(term(HOST, DB), term(HOST)))
    (finding,) = linted(job).findings
    assert (finding.place.file, finding.place.object) == ("planted.yaml", "CronJob default/night")
    assert finding.path == (
        "spec.jobTemplate.spec.template.spec.affinity.podAffinity"
        ".requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector"
    )


@pytest.mark.parametrize(
    ("thing", "path"),
    [
        pytest.param(
            web().anti_affinity(term("a b", DB)),
            "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
            id="a topology key with a blank",
        ),
        pytest.param(
            web().anti_affinity(term(HOST, DB, namespaces=["No One"])),
            "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaces[0]",
            id="what is no name of a namespace",
        ),
        pytest.param(
            web().requires_nodes(),
            "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
            id="no node selector term",
        ),
    ],
)
def test_what_the_api_server_refuses_is_found_where_it_is(thing: Json, path: str) -> None:
    places = [
        each.path
        for each in linted(*CLUSTER, thing).findings
        if each.rule.id == "affinity-unreadable"
    ]
    assert places == [f"spec.affinity.{path}"]


def test_a_null_node_selector_term_is_an_empty_one() -> None:
    null = json.loads(json.dumps(web().requires_nodes({})).replace("[{}]", "[null]"))
    assert null != web().requires_nodes({})
    found, empty = linted(*CLUSTER, null), linted(*CLUSTER, web().requires_nodes({}))
    assert found.findings == empty.findings


BY_ZONE = web().annotated(EXCLUSIVE_ANNOTATION, f"app by {ZONE}")
NEAR_CACHE = term(ZONE, selector(tier="cache"))


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        pytest.param(of("Job", BY_ZONE), [], id="a template, which the policy is about"),
        pytest.param(
            of("DaemonSet", BY_ZONE), ["exclusive-not-written"], id="pods that it leaves alone"
        ),
        pytest.param(
            BY_ZONE.stored_at("7"), ["exclusive-not-written"], id="a pod older than the policy"
        ),
        pytest.param(
            of("Job", web().annotated(EXCLUSIVE_ANNOTATION, "app")),
            ["exclusive-not-written"],
            id="what it refuses",
        ),
    ],
)
def test_the_policy_writes_the_terms_of_new_pods(thing: Json, expected: list[str]) -> None:
    assert found(linted(*CLUSTER, POLICY, thing)) == expected


def test_what_to_write_instead_of_the_annotation_is_said() -> None:
    (finding,) = linted(*CLUSTER, of("Job", BY_ZONE)).findings
    assert finding.path == f"spec.template.metadata.annotations[{EXCLUSIVE_ANNOTATION}]"
    assert (
        "write a required podAffinity term with app In [web] and a required podAntiAffinity term "
        f"with app Exists and app NotIn [web], both over {ZONE} with namespaceSelector: {{}}"
    ) in finding.message


@pytest.mark.parametrize(
    ("thing", "never"),
    [
        pytest.param(exclusive().affinity(NEAR_CACHE), True, id="written, beside a cache"),
        pytest.param(BY_ZONE.affinity(NEAR_CACHE), True, id="annotated, beside a cache"),
        pytest.param(
            exclusive(web().labels(tier="cache")).affinity(NEAR_CACHE),
            False,
            id="it is a cache itself",
        ),
        pytest.param(exclusive().affinity(term(HOST, WEB)), False, id="closer to its own"),
        pytest.param(exclusive().prefers(9, NEAR_CACHE), False, id="preferred"),
        pytest.param(web().affinity(term(ZONE, WEB), NEAR_CACHE), False, id="shared domains"),
    ],
)
def test_a_group_s_own_affinity_beside_another_is_never_met(thing: Pod, *, never: bool) -> None:
    ids = found(linted(*CLUSTER, POLICY, thing, whole=False))
    assert ("exclusive-beside-affinity" in ids) is never


def test_where_all_pods_are_known_the_rule_about_pods_says_it() -> None:
    cache = pod("cache").labels(tier="cache").on("n0")
    thing = exclusive().affinity(NEAR_CACHE)
    assert found(linted(*CLUSTER, POLICY, cache, thing)) == ["affinity-matches-no-pod"]


def test_another_pod_of_the_group_may_meet_both() -> None:
    driver = pod("driver").labels(app="web", tier="cache").on("n0")
    assert found(linted(*CLUSTER, POLICY, driver, BY_ZONE.affinity(NEAR_CACHE))) == []


@pytest.mark.parametrize("containers", ["containers", "initContainers"])
def test_a_variable_that_is_not_read_is_found_where_it_is(containers: str) -> None:
    (finding,) = linted(of("Deployment", with_variable(MODE, containers))).findings
    assert finding.path == f"spec.template.spec.{containers}[1].env[1]"
    assert finding.message == (
        "this variable is no longer read; give --mode, or mode in the configuration file"
    )
