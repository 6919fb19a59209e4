"""What explain adds to its verdict: that the scheduler looks at more than rules of affinity."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from affinityctl import cli
from extender.core.config import API_VERSION, KIND
from tests.annotating import annotated
from tests.beside import AFFINITY_ANNOTATION
from tests.builders import HOST, ZONE, node, pod, selector, workload
from tests.commands.explain.cluster import Explain

if TYPE_CHECKING:
    from pathlib import Path

TAINT = {"key": "old", "value": "yes", "effect": "NoSchedule"}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": HOST,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": selector(app="web"),
}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def with_spec(raw: Any, **fields: Any) -> Any:
    return raw | {"spec": raw["spec"] | fields}


def tainted(name: str, *taints: Any, **spec: Any) -> Any:
    raw = node(name, {HOST: name})
    return raw | {"spec": {"taints": list(taints), **spec}}


def small(name: str, **room: str) -> Any:
    return node(name, {HOST: name}, {"cpu": "2", "memory": "1Gi", "pods": "3"} | room)


ON_SMALL = pod("new").selects(**{HOST: "small"})
BIG, MID = ON_SMALL.requests(cpu="3"), ON_SMALL.requests(cpu="1500m")


@pytest.mark.parametrize(
    ("new", "others", "code", "said"),
    [
        pytest.param(
            pod("new").selects(**{HOST: "t"}),
            [tainted("t", TAINT)],
            1,
            "1 of 4 nodes: untolerated taint old=yes:NoSchedule; 3: node affinity; affinity "
            "leaves 1 of 4",
            id="a taint",
        ),
        pytest.param(
            pod("new"),
            [tainted("t", TAINT), tainted("c", unschedulable=True)],
            0,
            "3 of 5 nodes fit; 1: cordoned; 1: untolerated taint old=yes:NoSchedule; affinity "
            "leaves 5 of 5",
            id="a taint here, and a cordoned node there",
        ),
        pytest.param(
            with_spec(pod("new"), tolerations=[{"key": "old", "operator": "Exists"}]),
            [tainted("t", TAINT)],
            0,
            "4 of 4 nodes fit",
            id="a taint that is tolerated",
        ),
        pytest.param(
            with_spec(pod("new"), tolerations=[{"operator": "Exists"}]),
            [tainted("c", unschedulable=True)],
            0,
            "4 of 4 nodes fit",
            id="a cordoned node that is tolerated",
        ),
        pytest.param(
            BIG,
            [small("small")],
            1,
            "1 of 4 nodes: too little cpu even when empty (asks for 3, the largest of them has 2)",
            id="a node that is small",
        ),
        pytest.param(
            MID,
            [small("small"), pod("there").requests(cpu="1").on("small")],
            1,
            "Nearest: it would fit on - small if 1500m cpu were free",
            id="too little room",
        ),
        pytest.param(
            ON_SMALL,
            [small("small", pods="1"), pod("there").on("small")],
            1,
            "1 of 4 nodes: too many pods; 3: node affinity",
            id="no place for one more pod",
        ),
        pytest.param(
            pod("new").host_port(80).selects(**{HOST: "a1"}),
            [pod("there").host_port(80).on("a1")],
            1,
            "1 of 3 nodes: host port 80/TCP taken by default/there",
            id="a host port",
        ),
        pytest.param(
            MID,
            [small("small"), pod("held").requests(cpu="1").nominated("small")],
            1,
            "1 of 4 nodes: too little cpu beside the pods nominated there",
            id="a pod that is nominated there",
        ),
        pytest.param(
            MID.priority(1),
            [small("small"), pod("held").requests(cpu="1").nominated("small")],
            0,
            "1 of 4 nodes fit; 3: node affinity",
            id="a less important pod that is nominated there",
        ),
        pytest.param(
            pod("new").requests(cpu="1500m").host_port(80).on("small"),
            [small("small", pods="1")],
            0,
            "4 of 4 nodes fit",
            id="its own room and port, of a pod that has its node",
        ),
        pytest.param(
            with_spec(pod("new"), resourceClaims=[{"name": "gpu"}], volumes=[CLAIM]),
            [],
            4,
            "default/new may fit on 3 of 3 nodes 3 of 3 nodes may fit; whether its volumes allow "
            "that is not known without persistentvolumeclaims, persistentvolumes, "
            "storageclasses, csinodes: have them in the dump, or the right to list them; its "
            "resourceClaims are not looked at",
            id="claims and volumes",
        ),
        pytest.param(
            with_spec(pod("new").labels(app="web"), topologySpreadConstraints=[SPREAD]),
            [pod("old").labels(app="web").on("a1")],
            0,
            "1: your topology spread on hostname",
            id="topology spread",
        ),
        pytest.param(
            with_spec(pod("new"), topologySpreadConstraints=[SPREAD] * 17),
            [],
            4,
            "of its 17 topologySpreadConstraints, more than 16 are not looked at",
            id="more topology spread than is looked at",
        ),
        pytest.param(
            with_spec(pod("new"), topologySpreadConstraints=[SPREAD | {"maxSkew": 0}]),
            [],
            4,
            "its topologySpreadConstraints are not looked at",
            id="topology spread that cannot be read",
        ),
        pytest.param(
            with_spec(pod("new"), resourceClaims=[{"name": "gpu"}]),
            [],
            4,
            "its resourceClaims are not looked at",
            id="resource claims",
        ),
        pytest.param(
            with_spec(
                pod("new"),
                containers=[{"restartPolicyRules": [{"action": "RestartAllContainers"}]}],
            ),
            [],
            4,
            "its restartPolicyRules restart all containers, and whether nodes declare that is not "
            "looked at What to do - Look at the events of the pod and at status.declaredFeatures",
            id="a feature that nodes have to declare",
        ),
        pytest.param(
            with_spec(pod("new").selects(disk="ssd"), resourceClaims=[{"name": "gpu"}]),
            [],
            1,
            "default/new fits on no node 3 of 3 nodes: node affinity ",
            id="resource claims, and a rule that refuses all nodes",
        ),
        pytest.param(
            with_spec(pod("new"), schedulingGates=[{"name": "wait"}]),
            [],
            4,
            "default/new waits for its scheduling gates (wait): no scheduler looks at it; by its "
            "rules it would fit on 3 of 3 nodes",
            id="scheduling gates",
        ),
        pytest.param(
            with_spec(pod("new"), schedulerName="mine"),
            [],
            4,
            "asks for scheduler 'mine', which is not known here: no other scheduler looks at "
            "it; by its rules it would fit on 3 of 3 nodes",
            id="another scheduler",
        ),
        pytest.param(
            with_spec(pod("new"), schedulerName="defualt-scheduler"),
            [],
            4,
            "If default-scheduler is meant, make the pod anew",
            id="a misspelt scheduler",
        ),
        pytest.param(
            pod("new").being_deleted(),
            [],
            4,
            "default/new is being deleted: no scheduler looks at it; by its rules it would fit",
            id="a pod that is being deleted",
        ),
        pytest.param(
            pod("new").on("gone"),
            [],
            4,
            "default/new names node gone in spec.nodeName, and there is none: no scheduler looks "
            "at it; by its rules it would fit on 3 of 3 nodes",
            id="a node that there is not",
        ),
    ],
)
def test_one_verdict_of_all_filters(
    new: Any, others: list[Any], code: int, said: str, explain: Explain
) -> None:
    found, text = explain("new", new, *others)
    assert (found, said in " ".join(text.split())) == (code, True), text


NO_GPU = "0/3 nodes are available: 3 refused by policy."


def told_of(word: tuple[str, str | None], since: datetime, **spec: Any) -> Any:
    reason, message = word
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    condition["lastTransitionTime"] = since.isoformat(timespec="seconds")
    return with_spec(pod("new"), **spec) | {"status": {"conditions": [condition]}}


@pytest.mark.parametrize(
    ("word", "spec", "code", "said"),
    [
        pytest.param(
            ("Unschedulable", NO_GPU),
            {},
            4,
            "fits by what is looked at, on 3 of 3 nodes; the scheduler refused it 2d ago 3 of 3 "
            f"nodes may fit; the scheduler said 2d ago: {NO_GPU} ",
            id="what fits",
        ),
        pytest.param(
            ("SchedulerError", "connection refused"),
            {},
            4,
            "the scheduler failed on it 2d ago 3 of 3 nodes may fit; the scheduler said 2d ago: "
            "connection refused",
            id="an error",
        ),
        pytest.param(
            ("Unschedulable", None),
            {},
            4,
            "the scheduler said 2d ago: Unschedulable",
            id="without a message",
        ),
        pytest.param(
            ("Unschedulable", NO_GPU),
            {"nodeSelector": {"disk": "ssd"}},
            1,
            f"Note: the scheduler said 2d ago: {NO_GPU}",
            id="what does not fit",
        ),
        pytest.param(("SchedulingGated", "gates"), {}, 0, "fits on 3 of 3 nodes", id="by no one"),
    ],
)
def test_the_scheduler_is_quoted_and_not_contradicted(
    word: tuple[str, str | None], spec: Any, code: int, said: str, explain: Explain
) -> None:
    waits = told_of(word, datetime.now(UTC) - timedelta(days=2, seconds=30), **spec)
    found, text = explain("new", waits)
    assert (found, said in " ".join(text.split())) == (code, True), text
    every, text = explain("-A", waits)
    assert (every, "fits now" in text) == (code, code == 0), text


FORBIDDEN = "pods is forbidden: failed quota: q: must specify requests.cpu"


@pytest.mark.parametrize(
    ("condition", "spec", "code", "said"),
    [
        pytest.param(
            ("True", "FailedCreate"),
            {},
            4,
            "fits by what is looked at, on 3 of 3 nodes; its controller could not make it 3 of 3 "
            f"nodes may fit; its controller said: {FORBIDDEN}",
            id="what fits",
        ),
        pytest.param(
            ("True", "FailedCreate"),
            {"nodeSelector": {"disk": "ssd"}},
            1,
            f"Note: its controller said: {FORBIDDEN}",
            id="what does not fit",
        ),
        pytest.param(("False", "FailedCreate"), {}, 0, "fits on 3 of 3 nodes", id="it is over"),
        pytest.param(("True", "FailedDelete"), {}, 0, "fits on 3 of 3 nodes", id="of other pods"),
    ],
)
def test_why_a_controller_could_not_make_a_pod_is_quoted(
    condition: tuple[str, str], spec: Any, code: int, said: str, explain: Explain
) -> None:
    status, reason = condition
    failure = {"type": "ReplicaFailure", "status": status, "reason": reason, "message": FORBIDDEN}
    web = workload("Deployment", "web", with_spec(pod("t"), **spec), replicas=1)
    web["status"] = {"conditions": [failure]}
    found, text = explain("deployment/web", web)
    assert (found, said in " ".join(text.split())) == (code, True), text
    every, text = explain("-A", web)
    assert (every, "their controller could not make them" in text) == (code, code == 4), text


def test_a_pod_that_has_its_node_is_refused_no_more(explain: Explain) -> None:
    placed = told_of(("Unschedulable", NO_GPU), datetime.now(UTC), nodeName="a1")
    assert explain("new", placed)[0] == 0


def test_only_nodes_that_all_filters_pass_are_the_best(explain: Explain) -> None:
    _, text = explain("new", pod("new"), tainted("t", TAINT), tainted("c", unschedulable=True))
    told = text.partition("BEST NODES")[2].splitlines()[1:]
    assert [line.split()[0] for line in told] == ["a1", "a2", "b1"]


@pytest.mark.parametrize(
    ("fields", "raw", "reason"),
    [
        pytest.param({}, tainted("n", TAINT), "node(s) had untolerated taint(s)", id="a taint"),
        pytest.param(
            {}, tainted("n", unschedulable=True), "node(s) were unschedulable", id="cordoned"
        ),
        pytest.param(
            {},
            tainted("n", {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}),
            "node(s) had untolerated taint(s)",
            id="the taint of cordoned nodes, on one that is not",
        ),
        pytest.param(
            {"cpu": "3", "memory": "3Gi"},
            small("n", pods="0"),
            "Too many pods, Insufficient cpu, Insufficient memory",
            id="all that is too little",
        ),
    ],
)
def test_reasons_are_those_of_the_schedulers_event(
    fields: dict[str, str], raw: Any, reason: str, explain: Explain
) -> None:
    code, text = explain("new --node n -o json", pod("new").requests(**fields), raw)
    told = json.loads(text)
    (at,) = told["nodes"]
    assert (code, told["verdict"], told["unknown"]) == (1, "refused", [])
    assert (at["fits"], at["verdict"], at["reason"]) == (False, "refused", reason)


def test_what_is_unknown_is_in_json(explain: Explain) -> None:
    new = with_spec(pod("new"), resourceClaims=[{"name": "gpu"}])
    code, text = explain("new -o json", new)
    told = json.loads(text)
    assert (code, told["verdict"], told["fitting"]) == (4, "unknown", 3)
    assert {each["verdict"] for each in told["nodes"]} == {"unknown"}
    said = "its resourceClaims are not looked at"
    assert told["unknown"] == [{"field": "resourceClaims", "text": said}]


@pytest.mark.parametrize(
    ("asks", "fits", "title"),
    [
        ({}, "yes", "BEST NODES   SCORE"),
        (
            {"resourceClaims": [{"name": "gpu"}]},
            "maybe",
            "BEST NODES OF THOSE THAT MAY FIT   SCORE",
        ),
    ],
    ids=["fits", "may fit"],
)
def test_a_node_that_may_do_is_not_said_to_fit(
    asks: Any, fits: str, title: str, explain: Explain
) -> None:
    new = with_spec(pod("new"), **asks)
    assert f"\n{title}\n" in explain("new", new)[1]
    rows = explain("new -o wide", new)[1].partition("NODE ")[2].splitlines()[1:]
    assert [row.split()[:2] for row in rows] == [[name, fits] for name in ("a1", "a2", "b1")]


def test_a_manifest_that_names_its_node(explain: Explain) -> None:
    code, text = explain("", manifest=dict(pod("new").on("a2")))
    told = " ".join(text.split())
    assert code == 0
    assert "default/new fits on 1 of 3 nodes" in told
    assert "2 of 3 nodes: spec.nodeName names a2" in told
    assert "spec.nodeName puts the pod on a2: no scheduler is asked" in told


def test_of_several_pods_a_refusal_outweighs_what_is_unknown(explain: Explain) -> None:
    claims = with_spec(pod("claims"), resourceClaims=[{"name": "gpu"}])
    for others, code in (([pod("fits")], 4), ([pod("big").selects(disk="ssd")], 1)):
        assert (
            explain("", manifest={"kind": "List", "items": [claims, *map(dict, others)]})[0] == code
        )


def test_what_a_template_asks_for_besides(explain: Explain) -> None:
    template = with_spec(pod("t"), volumes=[CLAIM])
    for line, objects, manifest in (
        ("", [], workload("Deployment", "web", template)),
        ("deployment/web", [workload("Deployment", "web", template)], None),
    ):
        _, text = explain(line, *objects, manifest=manifest)
        assert "whether its volumes allow that is not known" in " ".join(text.split())


def test_rules_in_annotations_are_ignored_unless_a_configuration_counts_them(
    explain: Explain, tmp_path: Path
) -> None:
    config = tmp_path / "none.yaml"
    head = {"apiVersion": API_VERSION, "kind": KIND}
    for selected in (None, {"matchLabels": {"team": "shop"}}):
        config.write_text(json.dumps(head | {"annotations": {"namespaceSelector": selected}}))
        broken = annotated(pod("new"), {"podAffinity": 7})
        code, text = explain(f"new --config {config}", broken)
        said = " ".join(text.split())
        assert code == 0
        assert "Note: the rules in its annotations are ignored" in said
        assert "note: rules in annotations of 1 pod are ignored" in said
        assert "annotations.namespaceSelector of a configuration selects (--config FILE)" in said


def test_a_pod_whose_annotation_is_broken_goes_nowhere(explain: Explain) -> None:
    broken = annotated(pod("new"), {"podAffinity": 7})
    fault = f"metadata.annotations[{AFFINITY_ANNOTATION}].podAffinity: Expected"
    code, text = explain("new", broken)
    said = " ".join(text.split())
    assert code == 1
    assert said.startswith(
        "default/new fits on no node 3 of 3 nodes: rules that cannot be read: " + fault
    )
    assert "BEST NODES" not in text
    _, told = explain("new -o json", broken)
    assert (json.loads(told)["fitting"], json.loads(told)["verdict"]) == (0, "refused")
    _, text = explain("", broken)
    assert "1 pod: rules that cannot be read: " + fault in " ".join(text.split())


@pytest.mark.parametrize("new", [BIG.priority(5), pod("new").host_port(80).priority(5)])
def test_whom_the_scheduler_would_evict_is_told_as_simulate_has_it(
    new: Any, explain: Explain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full = small("small", cpu="4")
    there = [
        pod(name).priority(of).requests(cpu=cpu).host_port(port).on("small")
        for name, cpu, port, of in (("a", "2", 80, 0), ("b", "1", 81, 1), ("c", "1", 82, 5))
    ]
    taken = [pod(f"on-{name}").priority(9).host_port(80).on(name) for name in ("a1", "a2", "b1")]
    code, text = explain("new", new, full, *there, *taken)
    _, told = explain("new -o json", new, full, *there, *taken)
    assert code == 1, "it fits nowhere as things are"
    preemption = json.loads(told)["preemption"]
    victims = preemption["victims"]
    assert (preemption["node"], "default/c" in victims) == ("small", False)
    said = f"the scheduler would evict {', '.join(victims)} from small for this pod"
    assert said in " ".join(text.split())
    cli.main(["simulate", "--cluster", str(tmp_path / "dump.json"), "-o", "json"])
    simulated = json.loads(capsys.readouterr().out)["preempted"]
    assert [each["pod"] for each in simulated if each["for"] == "default/new"] == victims


def test_nobody_is_evicted_for_a_pod_that_fits_or_that_is_not_to(explain: Explain) -> None:
    there = [small("small"), pod("there").requests(cpu="1").on("small")]
    modest = with_spec(MID.priority(5), preemptionPolicy="Never")
    for line, new in (("new", modest), ("new --node small", MID.priority(5)), ("new", MID)):
        _, text = explain(line, new, *there)
        assert "would evict" not in text
    _, text = explain("new", MID.priority(5), *there)
    assert "would evict default/there from small" in " ".join(text.split())


HERE = pod("new").requests(cpu="1500m").selects(size="known")
FOR_NEW = pod("victim").priority(-1).requests(cpu="2").on("small")
OTHER = pod("other").priority(-2).requests(cpu="2").on("large")


@pytest.mark.parametrize(
    ("new", "victim", "code", "said"),
    [
        pytest.param(
            HERE.nominated("small"),
            FOR_NEW.preempted(),
            1,
            "default/new waits for its victim on small: default/victim is being deleted",
            id="a victim that goes",
        ),
        pytest.param(
            HERE.nominated("small"),
            FOR_NEW.being_deleted(),
            1,
            "would evict default/other from large",
            id="one that goes for something else",
        ),
        pytest.param(
            pod("new").requests(cpu="3").selects(size="known").nominated("small"),
            FOR_NEW.preempted(),
            1,
            "default/new fits on no node",
            id="one that is in vain",
        ),
        pytest.param(
            HERE,
            FOR_NEW.being_deleted(),
            1,
            "default/victim on small is being deleted; there is room for this pod then",
            id="a pod that goes, and no nomination",
        ),
    ],
)
def test_a_preemption_under_way_is_told(
    new: Any, victim: Any, code: int, said: str, explain: Explain
) -> None:
    nodes = [small("small"), small("large")]
    for each in nodes:
        each["metadata"]["labels"]["size"] = "known"
    found, text = explain("new", new, victim, OTHER, *nodes)
    assert (found, said in " ".join(text.split())) == (code, True), text
    awaited = said.startswith("default/new waits")
    told = json.loads(explain("new -o json", new, victim, OTHER, *nodes)[1])
    assert ("waitsFor" in told, "preemption" in told and awaited) == (awaited, False)


def test_who_has_a_host_port_is_told_node_by_node(explain: Explain) -> None:
    there = [
        pod("h").host_port(80).on("a1"),
        pod("no-port").on("a1"),
        pod("i").host_port(80).on("a2"),
    ]
    new = pod("new").host_port(80).selects(**{ZONE: "a"})
    _, told = explain("new -o json", new, *there)
    blockers = {each["node"]: each["blockers"] for each in json.loads(told)["nodes"]}
    assert blockers == {"a1": ["default/h"], "a2": ["default/i"], "b1": []}
    _, text = explain("new", new, *there)
    said = " ".join(text.split())
    assert "2 of 3 nodes: host port 80/TCP taken by default/h, default/i" in said
    assert "it would fit on - a1 if default/h were gone - a2 if default/i were gone" in said


def test_what_is_broken_in_an_annotation_does_not_drive_a_terminal(explain: Explain) -> None:
    _, text = explain("new", annotated(pod("new"), {"podAffinity": {"\x1b[31m": 1}}))
    assert r"\x1b[31m" in text
    assert "\x1b" not in text


def test_a_deployment_that_is_named_like_a_pod(explain: Explain) -> None:
    code, text = explain("web", workload("Deployment", "web", pod("t")))
    assert (code, "did you mean deployment/web?" in text) == (2, True), text


def test_a_pod_that_has_ended(explain: Explain) -> None:
    code, text = explain("new", pod("new").on("a1").phase("Succeeded"))
    assert (code, "no pod new waits or runs in namespace default" in text) == (2, True), text
