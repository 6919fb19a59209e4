"""What the API server refuses, or drops, is found with its field; the rest is judged all the same.

tests/e2e/test_manifest_differential.py asks a real API server about thousands of manifests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from affinityctl.commands.lint.checking import REPEATED, check
from affinityctl.commands.lint.fields import FIELDS
from affinityctl.commands.lint.rulebook import OF_WRITTEN
from affinityctl.commands.lint.scalars import SCALARS
from affinityctl.commands.lint.template import PREFERRED, REQUIRED
from affinityctl.commands.lint.together import CHECKS
from tests.builders import HOST, ZONE, Json, Pod, node, pod, requirement, selector, term, workload
from tests.commands.lint.asking import found, linted
from tests.commands.lint.test_planted_workloads import FAULTS as PLANTED

WEB = selector(app="web")
CONSTRAINT = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": WEB,
}


def web(**spec: Any) -> Pod:
    made = pod("web").labels(app="web").uid(None)
    made["spec"] = {**made["spec"], **spec}
    return made


def of(kind: str, template: Pod | None = None, **spec: Any) -> dict[str, Any]:
    return workload(kind, "it", template or web(), **spec)


def spread(**changes: Any) -> Pod:
    return web(topologySpreadConstraints=[CONSTRAINT | changes])


def container(**fields: Any) -> Pod:
    return web(containers=[{"name": "c", "image": "i", **fields}])


def budget(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "b", "namespace": "default"}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata} | {
        "spec": {"selector": WEB, **spec}
    }


SPREAD = "spec.topologySpreadConstraints[0]"
FAULTS: list[tuple[Json, str, str]] = [
    (spread(maxSkew="1"), "field-refused", f"{SPREAD}.maxSkew"),
    (spread(maxSkew=0), "field-refused", f"{SPREAD}.maxSkew"),
    (spread(topologyKey=""), "field-refused", f"{SPREAD}.topologyKey"),
    (spread(whenUnsatisfiable="DoNotschedule"), "field-refused", f"{SPREAD}.whenUnsatisfiable"),
    (spread(nodeTaintsPolicy="honor"), "field-refused", f"{SPREAD}.nodeTaintsPolicy"),
    (
        spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        "field-refused",
        f"{SPREAD}.minDomains",
    ),
    (
        spread(matchLabelKeys=["app"]),
        "label-key-already-selected",
        f"{SPREAD}.matchLabelKeys[0]",
    ),
    (
        spread(matchLabelKeys=["v"], labelSelector=None),
        "label-keys-without-selector",
        f"{SPREAD}.matchLabelKeys",
    ),
    (
        web(topologySpreadConstraints=[CONSTRAINT, CONSTRAINT]),
        "field-refused",
        "spec.topologySpreadConstraints[1]",
    ),
    (spread(labelselector=WEB), "field-unknown", f"{SPREAD}.labelselector"),
    (web(topologySpreadConstraint=[]), "field-unknown", "spec.topologySpreadConstraint"),
    (
        web(affinity={"topologySpreadConstraints": [CONSTRAINT]}),
        "affinity-astray",
        "spec.affinity.topologySpreadConstraints",
    ),
    (container(affinity={}), "affinity-astray", "spec.containers[0].affinity"),
    (of("StatefulSet", tolerations=[]), "affinity-astray", "spec.tolerations"),
    (
        container(resources={"requests": {"cpu": "100 m"}}),
        "field-refused",
        "spec.containers[0].resources.requests.cpu",
    ),
    (
        container(resources={"limits": {"memory": "-1"}}),
        "field-refused",
        "spec.containers[0].resources.limits.memory",
    ),
    (
        container(resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}}),
        "field-refused",
        "spec.containers[0].resources.requests.cpu",
    ),
    (
        container(resources={"requests": {"gpu": 1}}),
        "field-refused",
        "spec.containers[0].resources.requests.gpu",
    ),
    (container(ports=[{"hostPort": 80}]), "field-refused", "spec.containers[0].ports[0]"),
    (web(nodeSelector={"disk": True}), "field-refused", "spec.nodeSelector.disk"),
    (web(nodeSelector={"a b": "c"}), "field-refused", "spec.nodeSelector.a b"),
    (web(nodeSelector=["ssd"]), "field-refused", "spec.nodeSelector"),
    (web(tolerations=[{"value": "a"}]), "field-refused", "spec.tolerations[0].operator"),
    (
        web(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        "field-refused",
        "spec.tolerations[0].value",
    ),
    (
        web(tolerations=[{"key": "a", "effect": "noexecute"}]),
        "field-refused",
        "spec.tolerations[0].effect",
    ),
    (
        web(tolerations=[{"key": "a", "tolerationSeconds": 3}]),
        "field-refused",
        "spec.tolerations[0].effect",
    ),
    (web(priorityClassName="High One"), "field-refused", "spec.priorityClassName"),
    (web(schedulingGates=[{"name": ""}]), "field-refused", "spec.schedulingGates[0].name"),
    (of("Deployment", replicas="3"), "field-refused", "spec.replicas"),
    (of("Deployment", replicas=-1), "field-refused", "spec.replicas"),
    (of("Deployment", selector="app=web"), "field-refused", "spec.selector"),
    (of("Deployment", selector={"app": "web"}), "field-unknown", "spec.selector.app"),
    (of("DaemonSet", selector=selector()), "field-refused", "spec.selector"),
    (
        of("Deployment", selector=selector(app="wbe")),
        "field-refused",
        "spec.template.metadata.labels",
    ),
    (
        of("ReplicaSet", selector=selector(requirement("app", "NotIn", "web"))),
        "field-refused",
        "spec.template.metadata.labels",
    ),
    (of("Deployment", strategy={"type": "OnDelete"}), "field-refused", "spec.strategy.type"),
    (
        of("Deployment", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
        "field-refused",
        "spec.strategy.rollingUpdate",
    ),
    (
        of("Deployment", strategy={"type": "Recreate", "rollingUpdate": {}}),
        "field-refused",
        "spec.strategy.rollingUpdate",
    ),
    (
        of("Deployment", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}),
        "field-refused",
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    (
        of("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1}}),
        "field-refused",
        "spec.updateStrategy.rollingUpdate.maxSurge",
    ),
    (
        of("StatefulSet", updateStrategy={"rollingUpdate": {"maxUnavailable": "half"}}),
        "field-refused",
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
    ),
    (
        of("Deployment", web(restartPolicy="Never")),
        "field-refused",
        "spec.template.spec.restartPolicy",
    ),
    (of("Job", web(restartPolicy="Always")), "field-refused", "spec.template.spec.restartPolicy"),
    (of("Job", selector=WEB), "field-refused", "spec.selector"),
    (budget(minAvailable=1, maxUnavailable=1), "field-refused", "spec.maxUnavailable"),
    (budget(minAvailable="120%"), "field-refused", "spec.minAvailable"),
    (budget(selector={"app": "web"}), "field-unknown", "spec.selector.app"),
    (budget(minAvailable=1.5), "field-refused", "spec.minAvailable"),
    (
        web().anti_affinity(term(HOST, selector({**requirement("app", "In"), "values": [1]}))),
        "affinity-unreadable",
        "[0].labelSelector.matchExpressions[0].values[0]",
    ),
]


@pytest.mark.parametrize(("thing", "rule", "path"), FAULTS)
def test_a_field_that_is_refused_is_found(thing: Json, rule: str, path: str) -> None:
    errors = [
        each for each in linted(thing, whole=False).findings if each.rule.level.value == "error"
    ]
    assert [each.rule.id for each in errors] == [rule]
    assert path in errors[0].path


@pytest.mark.parametrize(
    "thing",
    [
        of(
            "DaemonSet",
            updateStrategy={
                "type": "OnDelete",
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0},
            },
        ),
        of("DaemonSet", updateStrategy={"rollingUpdate": {}}),
        of("Deployment", strategy={"type": "Recreate", "rollingUpdate": None}),
    ],
)
def test_an_update_that_the_api_server_takes_has_no_fault(thing: Json) -> None:
    found = linted(thing, whole=False).findings
    assert [each for each in found if each.rule.level.value == "error"] == []


def test_every_rule_about_fields_has_a_fault() -> None:
    planted = {each[0] for each in PLANTED} | {each[1] for each in FAULTS} | {REPEATED}
    assert planted >= {rule.id for rule in OF_WRITTEN}


def test_each_check_is_of_a_type_that_there_is() -> None:
    assert CHECKS.keys() <= FIELDS.keys()
    named = {each.name for fields in FIELDS.values() for each in fields.values()}
    assert {each for each in named if each and "|" not in each} <= SCALARS.keys() | FIELDS.keys()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        pytest.param(web(tolerations=[{"efect": "NoSchedule"}]), "did you mean effect?", id="slip"),
        pytest.param(container(nodeSelector={}), "its place is spec.nodeSelector", id="above"),
        pytest.param(
            of("CronJob", affinity={}),
            "its place is spec.jobTemplate.spec.template.spec.affinity",
            id="below",
        ),
        pytest.param(
            web(affinity={"podAffinity": {REQUIRED: [{"weight": 1}]}}),
            f"its place is spec.affinity.podAffinity.{PREFERRED}[].weight",
            id="beside",
        ),
        pytest.param(
            web(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "z", "namespaces": ["*"]}]}}),
            "namespaceSelector: {} is all of them",
            id="every namespace",
        ),
        pytest.param(
            spread(whenUnsatisfiable="donotschedule"), "did you mean DoNotSchedule?", id="a word"
        ),
        pytest.param(
            web(nodeSelector={"v": 1.1}),
            "the number 1.1 instead of a string: quote it",
            id="a number",
        ),
    ],
)
def test_what_was_meant_is_said(written: Json, meant: str) -> None:
    assert meant in " ".join(each.message for each in linted(written, whole=False).findings)


def test_the_rest_of_a_file_is_judged(tmp_path: Path) -> None:
    broken: list[Json] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": ["n"]}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": 5},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": [1]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": "all"},
        of("Deployment", web(containers="c")),
    ]
    report = linted(*broken, web().anti_affinity(term(HOST)), whole=False)
    by_object = {each.place.number: each.rule.id for each in report.findings}
    assert by_object == dict.fromkeys(range(len(broken)), "field-refused") | {5: "selector-missing"}
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(broken))
    assert cli.main(["lint", str(tmp_path)]) == 1


def test_what_is_nested_deeply_is_judged_as_well() -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    assert found(linted(web(volumes=deep, nodeSelector=["ssd"]), whole=False)) == ["field-refused"]


def test_what_is_left_of_an_object_is_judged() -> None:
    by_version = {"matchLabels": {"version": 1.1}}
    labelled = pod("web").uid(None).anti_affinity(term(HOST, by_version))
    labelled["metadata"]["labels"] = {"version": 1.1}
    cluster = [node(f"n{n}", {HOST: f"n{n}"}) for n in range(3)]
    ids = found(linted(*cluster, of("Deployment", labelled, replicas=3), whole=False))
    assert ids == ["affinity-unreadable", "field-refused", "rollout-stuck"]


PATCHES: list[Json] = [
    {"spec": {"replicas": 3, "template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}},
    {"spec": {"template": {"spec": {"containers": [{"name": "c", "$patch": "delete"}]}}}},
    {"spec": {"template": {"spec": {"topologySpreadConstraints": [{"topologyKey": ZONE}]}}}},
    {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
    {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}}},
]


@pytest.mark.parametrize("patch", PATCHES)
def test_a_patch_is_no_whole_object(patch: Json) -> None:
    whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "it"}, **patch}
    report = linted(whole, whole=False)
    assert found(report) == []
    assert "taken for a patch" in report.unknown[-1]


def test_a_patch_has_the_fields_of_its_kind() -> None:
    patch: Json = {"spec": {"template": {"spec": {"nodeselector": {}, "tolerations": {}}}}}
    whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "it"}, **patch}
    assert found(linted(whole, whole=False)) == ["field-refused", "field-unknown"]


def test_what_an_api_server_has_taken_is_not_looked_at() -> None:
    assert found(linted(container(ofLater=1).stored_at("7"), whole=False)) == []
    assert found(linted(container(ofLater=1).owned_by("ReplicaSet/web-5d"), whole=False)) == []
    assert found(linted(container(ofLater=1), whole=False)) == ["field-unknown"]
    dumped = {**of("ReplicaSet"), "spec": {"selector": WEB}}
    assert found(linted(dumped, whole=False)) == []


def test_a_custom_resource_may_be_called_like_a_type() -> None:
    thing = {"apiVersion": "example.com/v1", "kind": "Container", "metadata": {"name": "c"}}
    report = linted(thing, whole=False)
    assert (found(report), dict(report.skipped)) == ([], {"Container": 1})


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_field_that_is_there_twice(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = json.dumps(web(nodeSelector={"disk": "ssd"}))
    twice = written.replace('"disk": ', '"disk": "hdd",\n"disk": ')
    (tmp_path / f"web.{suffix}").write_text(twice)
    assert cli.main(["lint", str(tmp_path / f"web.{suffix}"), "-o", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["rule"], finding["path"]) == ("field-repeated", "spec.nodeSelector.disk")


def test_a_fault_can_be_ignored() -> None:
    spared = web(toleration=[]).annotated("affinity-extender.io/lint-ignore", "field-unknown")
    report = linted(spared, whole=False)
    assert (found(report), report.silenced) == ([], 1)


@pytest.mark.parametrize("odd", [None, True, 0, 1.5, 1 << 40, "", "a b", [], [None], {}, {"a": 1}])
def test_whatever_a_field_has_nothing_is_raised(odd: object) -> None:
    """Each field of each type of object in turn."""
    for kind, fields in FIELDS.items():
        for name in fields:
            check(kind, {name: odd}, whole=True)
