"""What a person can do: a line for each cause, the likeliest first, and none that does harm."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from affinityctl.commands.simulate.applied import SimulationReader
from affinityctl.commands.simulate.whatif.outcome import explain
from extender.core.cluster.state import ClusterState
from extender.core.model.verdict import Reason
from extender.diagnosis.verbs.explanation import Explanation
from extender.diagnosis.verbs.filters import (
    DELETED,
    GATES,
    NO_NODE,
    ORDER,
    OTHER_SCHEDULER,
    PAUSED,
)
from extender.diagnosis.verbs.notes import HELD as OF_HELD
from extender.diagnosis.verbs.notes import Note, notes
from extender.diagnosis.verbs.remedies import MOST, OF_NOTES, OF_REASONS, what_to_do
from tests.builders import HOST, ZONE, Json, Pod, model_node, node, pod, requirement, selector, term

WEB, DB = selector(app="web"), selector(app="db")
ROOM = {"cpu": "2", "memory": "4Gi", "pods": "9"}
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
AGENT = {"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}
GOING = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}
DEDICATED = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
NODES = [
    node("a1", {HOST: "a1", ZONE: "a", "disk": "hdd"}, ROOM),
    node("b1", {HOST: "b1", ZONE: "b", "disk": "nvme"}, ROOM),
]


def explained(new: Json, *others: Json, nodes: list[Any] = NODES) -> tuple[Explanation, list[Note]]:
    state, reader = ClusterState(), SimulationReader()
    for each in nodes:
        state.upsert_node(model_node(each))
    for raw in others:
        state.upsert_pod(reader.read(json.dumps(raw).encode()))
    made = reader.read(json.dumps(new).encode())
    state.upsert_pod(made)
    found = explain(state, made)
    return found, notes(state, found)


def constrained(key: str = ZONE, **more: Any) -> Json:
    made = pod("new").labels(app="web")
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    made["spec"]["topologySpreadConstraints"] = [constraint | {"labelSelector": WEB} | more]
    return made


APART = pod("new").labels(app="web").anti_affinity(term(ZONE, WEB))
HELD = [pod(f"web-{each}").labels(app="web").on(each) for each in ("a1", "b1")]
TAINTED = node("c1", {HOST: "c1", ZONE: "c"}, ROOM, taints=[DEDICATED])
IN_A = [pod(f"web-{each}").labels(app="web").on("a1") for each in (1, 2)]
IN_B = [pod(f"web-{each}").labels(app="web").on("b1") for each in (3, 4)]
FULL = node("c1", {HOST: "c1", ZONE: "c"}, ROOM | {"pods": "0"})
NEVER = dict.fromkeys(("cpu", "memory"), "99")


def revision(name: str, template_hash: str) -> Pod:
    labels = {"app": "web", "pod-template-hash": template_hash}
    return pod(name).labels(labels).owned_by(f"ReplicaSet/web-{template_hash}")


@pytest.mark.parametrize(
    ("new", "others", "nodes", "first"),
    [
        pytest.param(APART, HELD, NODES, "Have fewer replicas", id="replicas fill all domains"),
        pytest.param(
            pod("new").anti_affinity(term(ZONE, WEB)),
            HELD,
            NODES,
            "Add nodes without the pods that it keeps away from",
            id="other pods are everywhere",
        ),
        pytest.param(
            pod("new").labels(app="web"),
            [pod(f"o-{each}").anti_affinity(term(ZONE, WEB)).on(each) for each in ("a1", "b1")],
            NODES,
            "Ask whose the other pods are",
            id="a rule of others",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE, DB)), [], NODES, "Start the pods", id="to be near none"
        ),
        pytest.param(
            pod("new").affinity(term("rack", DB)),
            [pod("db").labels(app="db").on("a1")],
            NODES,
            "Correct the topology key",
            id="near others over a key that no node has",
        ),
        pytest.param(
            pod("new").requests(**NEVER), [], NODES, "Ask for less", id="larger than any node"
        ),
        pytest.param(
            pod("new").requests(cpu="2"),
            [pod(each).requests(cpu="1").on(each) for each in ("a1", "b1")],
            NODES,
            "Add a node",
            id="no room left",
        ),
        pytest.param(
            pod("new").requests(cpu="2"),
            [pod(each).requests(cpu="1").on(each).being_deleted() for each in ("a1", "b1")],
            NODES,
            "Wait until the pods that are being deleted are gone",
            id="room that comes",
        ),
        pytest.param(
            pod("new").selects(disk="ssd"), [], NODES, "Ask for a value", id="a value of no node"
        ),
        pytest.param(
            pod("new").selects(gpu="yes"), [], NODES, "Ask for a label", id="a label of no node"
        ),
        pytest.param(
            pod("new").host_port(80),
            [pod(each).host_port(80).on(each) for each in ("a1", "b1")],
            NODES,
            "Leave hostPort out",
            id="ports",
        ),
        pytest.param(
            revision("new", "2").host_port(80),
            [revision(each, "1").host_port(80).on(each) for each in ("a1", "b1")],
            NODES,
            "Let this update remove a pod first",
            id="ports of the pods that it replaces",
        ),
        pytest.param(
            pod("new").host_port(80).owned_by("DaemonSet/ds"),
            [pod(each).host_port(80).owned_by("DaemonSet/ds").on(each) for each in ("a1", "b1")],
            NODES,
            "Let this update remove a pod first",
            id="ports of an older pod of the DaemonSet",
        ),
        pytest.param(
            pod("new").requests(cpu="2").owned_by("DaemonSet/ds"),
            [pod(each).requests(cpu="1").on(each) for each in ("a1", "b1")],
            NODES,
            "Move other pods off that node",
            id="no room left for a DaemonSet's pod",
        ),
        pytest.param(
            pod("new"), [], [TAINTED], "Add nodes without the taint", id="nodes for other pods"
        ),
        pytest.param(
            pod("new"),
            [],
            [node("m", {}, ROOM, taints=[CONTROL_PLANE])],
            "Add nodes for workloads",
            id="nodes of the control plane",
        ),
        pytest.param(
            pod("new"),
            [],
            [node("m", {}, ROOM, taints=[NOT_READY])],
            "Find out what is wrong with the node",
            id="a node that is not ready",
        ),
        pytest.param(
            pod("new"),
            [],
            [node("m", {}, ROOM, taints=[AGENT])],
            "Find out what is wrong with the node",
            id="a node without a network yet",
        ),
        pytest.param(
            pod("new"),
            [],
            [node("m", {}, ROOM, taints=[GOING, DEDICATED])],
            "Add nodes: an autoscaler or the cloud is about to take these away",
            id="a node that an autoscaler takes away",
        ),
        pytest.param(
            pod("new"),
            [],
            [node("m", {}, ROOM | {"pods": "0"})],
            "Add a node: these have as many pods",
            id="a node full of pods that are small",
        ),
        pytest.param(
            pod("new").owned_by("DaemonSet/ds"),
            [],
            [node("m", {}, ROOM | {"pods": "0"})],
            "Move other pods off that node",
            id="a node full of pods, for a DaemonSet's",
        ),
        pytest.param(
            pod("new").requests(**{"nvidia.com/gpu": "1"}),
            [],
            NODES,
            "Add nodes that have it",
            id="a device of no node",
        ),
        pytest.param(
            pod("new").requests(**{"nvidia.com/gpu": "1"}).owned_by("DaemonSet/ds"),
            [],
            NODES[:1],
            "Have what gives it out run on that node",
            id="a device that a DaemonSet's node has not",
        ),
        pytest.param(
            pod("new").requests(**{"nvidia.com/gpu": "1"}),
            [pod("o").requests(**{"nvidia.com/gpu": "1"}).on("g1")],
            [*NODES, node("g1", {}, ROOM | {"nvidia.com/gpu": "1"})],
            "Add a node",
            id="a device of nodes that are full",
        ),
        pytest.param(
            pod("new").requests(cpu="2"),
            [pod("o").requests(cpu="1").on("a1")],
            [NODES[0], *(node(f"m{n}", {}, ROOM, taints=[CONTROL_PLANE]) for n in range(3))],
            "Add a node",
            id="the control plane is no cause",
        ),
        pytest.param(
            constrained(),
            [*IN_A, *IN_B],
            [*NODES, FULL],
            "Make room in the domains",
            id="a full domain",
        ),
        pytest.param(
            constrained("rack"), [], NODES, "Correct the topology key", id="spread over no key"
        ),
        pytest.param(
            constrained(minDomains=3),
            HELD,
            NODES,
            "Have nodes in more domains",
            id="too few domains",
        ),
        pytest.param(
            constrained(),
            [*IN_A, *IN_B],
            [*NODES, TAINTED],
            "Set nodeTaintsPolicy: Honor",
            id="a domain counts that is closed",
        ),
        pytest.param(
            pod("new").labels(app="web").affinity(term(ZONE, DB)),
            [pod("other").labels(app="db").affinity(term(ZONE, WEB))],
            NODES,
            "Take one of these required affinities out",
            id="a circle",
        ),
        pytest.param(
            pod("new")
            .labels(app="web", **{"pod-template-hash": "2"})
            .owned_by("ReplicaSet/web-2")
            .anti_affinity(term(ZONE, WEB)),
            [
                pod(f"web-{each}")
                .labels(app="web", **{"pod-template-hash": "1"})
                .owned_by("ReplicaSet/web-1")
                .on(each)
                for each in ("a1", "b1")
            ],
            NODES,
            "Let this update remove a pod first",
            id="an update that is stuck",
        ),
        pytest.param(
            pod("new")
            .labels(app="web", role="api")
            .owned_by("StatefulSet/web")
            .anti_affinity(term(ZONE, WEB)),
            [
                pod(f"job-{each}").labels(app="web", role="job").owned_by("Job/job").on(each)
                for each in ("a1", "b1")
            ],
            NODES,
            "Give one of them other labels",
            id="a selector that is too broad",
        ),
    ],
)
def test_what_comes_first(new: Json, others: list[Json], nodes: list[Any], first: str) -> None:
    found, remarks = explained(new, *others, nodes=nodes)
    advice = what_to_do(found, remarks)
    assert advice[0].startswith(first), advice
    assert len(advice) <= MOST


@pytest.mark.parametrize(
    ("new", "others", "nodes", "said"),
    [
        pytest.param(
            pod("new").selects(disk="ssd"),
            [],
            NODES,
            "no node has disk ssd; nodes have hdd, nvme",
            id="values that nodes have",
        ),
        pytest.param(
            pod("new").requires_nodes(
                {"matchExpressions": [requirement("disk", "In", "ssd", "tape")]}
            ),
            [],
            NODES,
            "no node has disk ssd, tape; nodes have hdd, nvme",
            id="several values",
        ),
        pytest.param(
            constrained(),
            [*IN_A, *IN_B],
            [*NODES, TAINTED],
            "topology spread on zone counts c, where the pod tolerates the taints of no node: such "
            "domains keep the allowed number low",
            id="a domain that is closed",
        ),
        pytest.param(
            pod("new")
            .labels(app="web", role="api")
            .owned_by("StatefulSet/web")
            .anti_affinity(term(ZONE, WEB)),
            [pod("job").labels(app="web", role="job").owned_by("Job/job").on("a1"), HELD[1]],
            NODES,
            "default/job is of Job job, not of StatefulSet web: your anti-affinity matches the "
            "labels of both; role tells them apart",
            id="labels that tell workloads apart",
        ),
    ],
)
def test_what_is_remarked(new: Json, others: list[Json], nodes: list[Any], said: str) -> None:
    _, remarks = explained(new, *others, nodes=nodes)
    assert said in [each.text for each in remarks]


@pytest.mark.parametrize(
    ("new", "others", "nodes"),
    [
        pytest.param(
            constrained(nodeTaintsPolicy="Honor"),
            [*IN_A, *IN_B],
            [*NODES, TAINTED],
            id="it is not counted",
        ),
        pytest.param(constrained(), [*IN_A], [*NODES, TAINTED], id="another domain is as empty"),
    ],
)
def test_a_closed_domain_is_no_trouble(new: Json, others: list[Json], nodes: list[Any]) -> None:
    _, remarks = explained(new, *others, nodes=nodes)
    assert "taintedDomain" not in {each.kind for each in remarks}


SELECTING = {"disk": "hdd"}


@pytest.mark.parametrize(
    ("constraint", "others", "told"),
    [
        pytest.param({"nodeAffinityPolicy": "Ignore"}, IN_A, True, id="a domain out of reach"),
        pytest.param({}, IN_A, False, id="it is not counted"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, [], False, id="it fits"),
    ],
)
def test_a_domain_that_the_pod_does_not_select(
    constraint: Json, others: list[Json], *, told: bool
) -> None:
    new = constrained(**constraint)
    new["spec"]["nodeSelector"] = SELECTING
    found, remarks = explained(new, *others)
    assert ("unselectedDomain" in {each.kind for each in remarks}) is told
    assert any("Honor" in each for each in what_to_do(found, remarks)) is told


@pytest.mark.parametrize(
    ("taint", "there", "told"),
    [
        pytest.param(NOT_READY, HELD[0].being_deleted(), True, id="its node is not well"),
        pytest.param(DEDICATED, HELD[0].being_deleted(), False, id="the node is not for the pod"),
        pytest.param(NOT_READY, HELD[0], False, id="it stays"),
    ],
)
def test_a_pod_that_is_being_deleted_on_a_node_that_is_not_well(
    taint: Json, there: Json, *, told: bool
) -> None:
    nodes = [node("a1", {HOST: "a1", ZONE: "a"}, ROOM, taints=[taint]), NODES[1]]
    found, remarks = explained(APART, there, HELD[1], nodes=nodes)
    assert ("terminatingOnBadNode" in {each.kind for each in remarks}) is told
    assert what_to_do(found, remarks)[0].startswith("Find out what is wrong") is told


def test_nearest_is_no_node_that_runs_the_cluster_or_is_about_to_go() -> None:
    absent = [node(each["key"], {}, ROOM, taints=[each]) for each in (CONTROL_PLANE, GOING)]
    nodes = [*absent, TAINTED]
    found, _ = explained(pod("new"), nodes=nodes)
    assert [str(each) for each in found.near_misses] == [
        "c1 if the pod tolerated the taint dedicated=gpu:NoSchedule"
    ]
    assert found.near_miss_count == 1


def test_nearest_is_no_node_with_labels_of_another_place() -> None:
    full = [pod("o").requests(cpu="1").on("a1")]
    found, _ = explained(pod("new").requests(cpu="2").selects(**{ZONE: "a"}), *full)
    assert [str(each) for each in found.near_misses] == ["a1 if 2 cpu were free"]
    found, _ = explained(pod("new").requests(cpu="2").selects(disk="hdd"), *full)
    assert "b1 if it had the labels that the node affinity asks for" in map(str, found.near_misses)


BARE = node("bare", {HOST: "bare"}, ROOM)
NEAR_DB = pod("new").affinity(term(ZONE, DB))


@pytest.mark.parametrize(
    ("new", "others", "helps"),
    [
        pytest.param(NEAR_DB, [pod("db").labels(app="db").on("a1")], True, id="one is somewhere"),
        pytest.param(NEAR_DB, [], False, id="there is none"),
        pytest.param(NEAR_DB, [pod("db").labels(app="db").on("bare")], True, id="it is there"),
        pytest.param(pod("db").labels(app="db").affinity(term(ZONE, DB)), [], True, id="the first"),
    ],
)
def test_a_label_is_of_no_use_where_no_pod_is_to_be_near(
    new: Json, others: list[Json], *, helps: bool
) -> None:
    nodes = [BARE, node("a1", {HOST: "a1", ZONE: "a"}, ROOM | {"pods": "1"})]
    found, _ = explained(new, *others, nodes=nodes)
    said = "bare if it had the label topology.kubernetes.io/zone"
    assert (said in [str(each).replace("1 node", "bare") for each in found.near_misses]) is helps


def test_a_pod_that_fits_needs_nothing() -> None:
    assert what_to_do(*explained(pod("new"))) == []


def test_each_reason_has_a_line() -> None:
    told = {reason for reason, _ in OF_REASONS}
    assert {*Reason} - told == {Reason.UNKNOWN_NODE}


def test_each_thing_that_holds_a_pod_has_a_line() -> None:
    assert {GATES, OTHER_SCHEDULER, NO_NODE, DELETED, ORDER, PAUSED} == OF_HELD.keys()
    assert {kind for kind, _ in OF_HELD.values()} <= OF_NOTES.keys()


HARMFUL = re.compile(
    r"remove the (taint|gate|budget)|delete (the|its|those) (pods|claim|volume|budget|data|node)"
    r"|disable|--force|uncordon",
    re.IGNORECASE,
)


def test_no_line_begins_with_what_does_harm() -> None:
    every = (*(each.text for each in OF_NOTES.values()), *OF_REASONS.values())
    firsts = [re.split(r"[.;] ", each)[0] for each in every]
    assert [each for each in firsts if HARMFUL.search(each)] == []
    assert [each for each in every if HARMFUL.search(each)] == [OF_NOTES["groupElsewhere"].text]


def test_no_line_promises_a_controller_to_a_pod_that_may_have_none() -> None:
    every = (*(each.text for each in OF_NOTES.values()), *OF_REASONS.values())
    makes_another = [each for each in every if re.search("controller.* makes another", each)]
    assert makes_another, "lines are worded otherwise now"
    assert [each for each in makes_another if "if it has one" not in each] == []
