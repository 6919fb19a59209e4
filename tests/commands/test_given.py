"""What a file of manifests brings beside pods counts for explain and simulate."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    HOST,
    ZONE,
    budget,
    namespace,
    node,
    pod,
    quota,
    selector,
    term,
    workload,
)

Ask = Callable[..., tuple[int, str]]

WEB, TEAM = selector(app="web"), selector(team="a")
ROOM = {"cpu": "2", "memory": "4Gi", "pods": "9"}
NODES = [node(name, {HOST: name, ZONE: "a"}, ROOM) for name in ("a1", "a2")]
BOTH = ["explain -f FILE", "simulate -f FILE"]


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a command on a cluster of two nodes and a file; return its exit code and what it said."""

    def run(line: str, cluster: Sequence[Any], given: Sequence[Any]) -> tuple[int, str]:
        dump, path = tmp_path / "dump.json", tmp_path / "given.yaml"
        dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *cluster]}))
        path.write_text(yaml.safe_dump_all(json.loads(json.dumps(given))))
        code = cli.main([*line.replace("FILE", str(path)).split(), "--cluster", str(dump)])
        captured = capsys.readouterr()
        return code, " ".join((captured.out + captured.err).split())

    return run


def of(kind: str, name: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def claim(name: str, **spec: Any) -> dict[str, Any]:
    modes = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = of("PersistentVolumeClaim", name, spec=modes | spec)
    return made | {"metadata": {"name": name, "namespace": "default"}}


def volume(name: str, on: str, **spec: Any) -> dict[str, Any]:
    at = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [on]}]}
    given = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "nodeAffinity": {"required": {"nodeSelectorTerms": [at]}},
    }
    return of("PersistentVolume", name, spec=given | spec)


def storage_class(name: str, **fields: Any) -> dict[str, Any]:
    by_hand = "kubernetes.io/no-provisioner"
    return of("StorageClass", name, "storage.k8s.io/v1", provisioner=by_hand, **fields)


def with_claim(name: str) -> Any:
    made = pod("new", "default")
    made["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    return made


OTHER_VOLUMES = [
    claim("other", storageClassName="other"),
    volume("other", "a1", storageClassName="other"),
]
KNOWN = [
    *OTHER_VOLUMES,
    storage_class("other"),
    of("CSINode", "a1", "storage.k8s.io/v1", spec={"drivers": []}),
]
NEW = pod("new", "shop").labels(app="web")
GUARD = pod("guard").anti_affinity(term(ZONE, WEB, namespaceSelector=TEAM)).on("a1")
AWAY = pod("new").anti_affinity(term(ZONE, WEB, namespaceSelector=TEAM))
THERE = pod("there", "shop").labels(app="web").on("a1")
FULL = [pod(f"full-{name}").requests(cpu="2").on(name) for name in ("a1", "a2")]
CROSSING = quota(
    "none",
    {"pods": "0"},
    {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"},
)
LIMITS = of(
    "LimitRange", "big", spec={"limits": [{"type": "Container", "defaultRequest": {"cpu": "3"}}]}
) | {"metadata": {"name": "big", "namespace": "default"}}
SANDBOX = of(
    "RuntimeClass",
    "sandbox",
    "node.k8s.io/v1",
    handler="x",
    scheduling={"nodeSelector": {"sandbox": "yes"}},
)
SANDBOXED = pod("new", "default")
SANDBOXED["spec"]["runtimeClassName"] = "sandbox"
HIGH = of("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)


@pytest.mark.parametrize("line", BOTH)
@pytest.mark.parametrize(
    ("cluster", "brought", "new"),
    [
        pytest.param([GUARD], [namespace("shop", {"team": "a"})], NEW, id="its own namespace"),
        pytest.param([THERE], [namespace("shop", {"team": "a"})], AWAY, id="that of placed pods"),
        pytest.param([THERE], [CROSSING], AWAY, id="a quota"),
        pytest.param(FULL, [HIGH], NEW.requests(cpu="2").priority_class("high"), id="a priority"),
        pytest.param(
            [*(each.priority(0) for each in FULL), HIGH | {"globalDefault": True}],
            [HIGH | {"globalDefault": False}],
            NEW.requests(cpu="2").priority_class(""),
            id="no default priority any more",
        ),
        pytest.param([], [LIMITS], pod("new"), id="requests"),
        pytest.param([], [SANDBOX], SANDBOXED, id="a runtime class"),
        pytest.param(
            KNOWN,
            [claim("data", volumeName="disk"), volume("disk", "a3")],
            with_claim("data"),
            id="a claim and a volume",
        ),
        pytest.param(
            [*KNOWN, claim("data", storageClassName="late")],
            [storage_class("late", volumeBindingMode="WaitForFirstConsumer")],
            with_claim("data"),
            id="a storage class",
        ),
    ],
)
def test_what_a_file_brings_counts_as_in_the_cluster(
    line: str, cluster: list[Any], brought: list[Any], new: Any, ask: Ask
) -> None:
    there = ask(line, [*cluster, *brought], [new])
    assert ask(line, cluster, [new]) != there, "it decides"
    assert ask(line, cluster, [*brought, new]) == there
    assert ask(line, cluster, [new, *brought]) == there, "in whatever order"


@pytest.mark.parametrize("line", BOTH)
def test_labels_that_others_gave_a_namespace_stay(line: str, ask: Ask) -> None:
    before, again = namespace("shop", {"team": "a"}), namespace("shop", {"tier": "web"})
    assert ask(line, [GUARD, before], [NEW, again])[0] == 1
    assert ask(line, [GUARD, before], [NEW, namespace("shop", {"team": "b"})])[0] == 0


@pytest.mark.parametrize("line", BOTH)
def test_a_claim_that_is_bound_stays_so(line: str, ask: Ask) -> None:
    bound = claim("data", volumeName="disk")
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    disk = volume("disk", "a2", claimRef={"namespace": "default", "name": "data"})
    there, again = [*KNOWN, bound, disk], [claim("data"), volume("disk", "a1")]
    assert ask(line, there, [*again, with_claim("data")]) == ask(line, there, [with_claim("data")])


@pytest.mark.parametrize("line", BOTH)
def test_a_new_claim_without_a_class_gets_the_default(line: str, ask: Ask) -> None:
    late = storage_class("late", volumeBindingMode="WaitForFirstConsumer")
    late["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster = [*KNOWN, late, volume("disk", "a2", storageClassName="late")]
    named = ask(line, cluster, [claim("data", storageClassName="late"), with_claim("data")])
    assert ask(line, cluster, [claim("data"), with_claim("data")]) == named
    assert named[0] == 0


@pytest.mark.parametrize("line", BOTH)
def test_what_is_passed_over_is_named_and_nothing_else(line: str, ask: Ask) -> None:
    given = [NODES[0], of("ConfigMap", "c"), namespace("shop"), HIGH, LIMITS, NEW]
    assert ask(line, [], given)[1].endswith("passed over: 1 ConfigMap, 1 Node")
    twice = ask(f"{line} -f FILE", [], given)[1]
    assert twice.count("passed over") == 1


@pytest.mark.parametrize("line", BOTH)
def test_an_object_that_cannot_be_read_is_named(line: str, ask: Ask) -> None:
    code, said = ask(line, [], [NEW, of("PodDisruptionBudget", "b", "policy/v1", spec=[])])
    assert (code, "object 1 (PodDisruptionBudget): spec" in said) == (2, True), said


@pytest.mark.parametrize("line", BOTH)
def test_an_unknown_priority_class_leaves_it_open(line: str, ask: Ask) -> None:
    """An API server without the class refuses the pod."""
    code, said = ask(line, [], [NEW.priority_class("nil")])
    assert (code, "PriorityClass" in said) == (4, True), said
    assert ask(line, [HIGH], [NEW.priority_class("high")])[0] == 0


MINE = selector(app="mine")
KEEPS = budget("keeps", MINE, allowed=0)
STATUS = KEEPS.pop("status")
NONE_MAY_GO = KEEPS | {"spec": {"minAvailable": "100%", "selector": MINE}}
ALL_MAY_GO = KEEPS | {"spec": {"maxUnavailable": "100%", "selector": MINE}}
ON = [
    pod(f"on-{name}").labels(app="mine").owned_by("ReplicaSet/w").on(name) for name in ("a1", "a2")
]
BLOCKED = "blocked by a budget"


@pytest.mark.parametrize(
    ("line", "cluster", "given", "blocked"),
    [
        pytest.param("-f FILE --drain a1", [], [NONE_MAY_GO], True, id="a new one"),
        pytest.param("--drain a1 -f FILE", [], [NONE_MAY_GO], False, id="not before its turn"),
        pytest.param("-f FILE --drain a1", [NONE_MAY_GO], [KEEPS], False, id="another spec"),
        pytest.param("-f FILE --drain-each", [KEEPS], [NONE_MAY_GO], True, id="a stricter one"),
        pytest.param(
            "--drain a1 -f FILE --drain a2", [KEEPS], [ALL_MAY_GO], False, id="after some went"
        ),
        pytest.param("--roll FILE --drain a1", [], [NONE_MAY_GO], True, id="beside an update"),
    ],
)
def test_a_budget_counts_from_its_turn_on(
    line: str, cluster: list[Any], given: list[Any], blocked: bool, ask: Ask
) -> None:
    """Its status is for the disruption controller to write, whatever the file has."""
    brought = [each | {"status": STATUS} for each in given]
    own = workload("Deployment", "own", pod("t").labels(app="own"), replicas=1)
    its = pod("own-1").owned_by("ReplicaSet/own-1").on("a2").labels({"pod-template-hash": "1"})
    said = ask(f"simulate {line}", [*ON, its, *cluster], [own, *brought])[1]
    assert (BLOCKED in said or "default/on-a1 stay" in said) is blocked, said


AS_CONFIGURED = {
    "apiVersion": "affinity-extender.io/v1",
    "kind": "AffinityExtenderConfiguration",
    "annotations": {"namespaceSelector": {"matchLabels": {"rules": "yes"}}},
}
BY_HAND = storage_class("by-hand", volumeBindingMode="WaitForFirstConsumer")


@pytest.mark.parametrize(
    ("cluster", "brought"),
    [
        pytest.param(
            [pod("new").affinity(term(ZONE, WEB, namespaceSelector=TEAM)), THERE],
            namespace("shop", {"team": "a"}),
            id="a namespace",
        ),
        pytest.param(
            [
                *(with_claim("data"), namespace("shop")),
                *(*KNOWN, BY_HAND, volume("disk", "a1", storageClassName="by-hand")),
            ],
            claim("data", storageClassName="by-hand"),
            id="a claim",
        ),
        pytest.param(
            [
                annotated(pod("new", "shop"), {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}}),
                *(THERE, namespace("shop", {"rules": "yes"})),
            ],
            namespace("shop", {"rules": "no"}),
            id="rules beside specs",
        ),
    ],
)
def test_pods_that_waited_before_are_looked_at_anew(
    cluster: list[Any], brought: Any, ask: Ask, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(AS_CONFIGURED))
    line = f"simulate --config {config} -f FILE"
    still = "1 pod that had waited before still waits"
    assert still in ask(line, cluster, [pod("beside")])[1]
    code, said = ask(line, cluster, [pod("beside"), brought])
    assert (code, still in said) == (0, False), said


WEB_PODS = pod("t").labels(app="web")
OWNED = [
    pod(f"web-{number}", "default")
    .labels({"app": "web", "pod-template-hash": "5d"})
    .owned_by("ReplicaSet/web-5d")
    .on("a1")
    for number in range(2)
]
BESIDE = "these come beside 2 pods of the same Deployment; --roll FILE replaces those"


@pytest.mark.parametrize(
    ("line", "there", "times"),
    [
        pytest.param("-f FILE", [], 0, id="a new workload"),
        pytest.param("-f FILE", OWNED, 1, id="one that is there"),
        pytest.param("-f FILE --until-full", OWNED, 1, id="as many as fit"),
        pytest.param("-f FILE -f FILE --replicas 1", OWNED, 1, id="said once"),
        pytest.param("-f FILE -f FILE --replicas 1", [], 0, id="its own are no news"),
    ],
)
def test_pods_beside_those_of_the_same_workload(
    line: str, there: list[Any], times: int, ask: Ask
) -> None:
    said = ask(f"simulate {line}", there, [workload("Deployment", "web", WEB_PODS, replicas=2)])[1]
    assert said.count(BESIDE) == times, said


def test_a_replica_set_is_scaled_by_what_controls_it(ask: Ask) -> None:
    undone = "deployment default/web controls it and would undo that; scale deployment default/web"
    assert undone in ask("simulate --scale rs/web-5d=3", OWNED, [])[1]
    assert "undo" not in ask("simulate --scale deploy/web=3", OWNED, [])[1]
    old = workload("ReplicaSet", "web-4c", WEB_PODS, replicas=0)
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    old["metadata"]["ownerReferences"] = [above]
    assert undone in ask("simulate --scale rs/web-4c=1", [old], [])[1]


CHART = """\
{{- if .Values.enabled }}
kind: Deployment
metadata:
  name: {{ .Release.Name }}
{{- end }}
"""


@pytest.mark.parametrize("line", [*BOTH, "lint FILE"])
@pytest.mark.parametrize("text", [CHART, CHART.partition("\n")[2]])
def test_a_template_of_a_chart_has_to_be_rendered(
    line: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    file, dump = folder / "web.yaml", tmp_path / "dump.json"
    file.write_text(text)
    dump.write_text(json.dumps({"kind": "List", "items": NODES}))
    (tmp_path / "chart").mkdir()
    for name in ("Chart.yaml", "values.yaml"):
        (tmp_path / "chart" / name).write_text("name: web")
    for named in (file, folder, tmp_path / "chart"):
        code = cli.main([*line.replace("FILE", str(named)).split(), "--cluster", str(dump)])
        captured = capsys.readouterr()
        assert "`helm template` renders it" in captured.out + captured.err
        assert code == 2


def test_rules_beside_specs_count_where_the_file_labels_their_namespace(
    ask: Ask, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(AS_CONFIGURED))
    new = annotated(pod("new", "shop"), {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}})
    for name, code in (("yes", 1), ("no", 0)):
        given = [new, namespace("shop", {"rules": name})]
        found, said = ask(f"simulate --config {config} -f FILE", [THERE], given)
        assert (found, "are ignored" in said) == (code, not code), said


def test_rules_beside_specs_begin_to_count_for_pods_that_wait(ask: Ask, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(AS_CONFIGURED))
    apart = {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}}
    waits = annotated(with_claim("data"), apart)
    cluster = [
        *(waits, pod("there").labels(app="web").on("a1"), namespace("default")),
        *(*KNOWN, BY_HAND, volume("disk", "a1", storageClassName="by-hand")),
    ]
    brought = [pod("beside", "shop"), claim("data", storageClassName="by-hand")]
    line = f"simulate --config {config} -f FILE"
    assert ask(line, cluster, brought)[0] == 0
    said = ask(line, cluster, [*brought, namespace("default", {"rules": "yes"})])[1]
    assert "your annotation's anti-affinity on zone" in said, said
