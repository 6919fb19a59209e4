"""The command simulate: what it tells, in which form, and what it ends with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from affinityctl import cli
from affinityctl.reading.deletion_cost import COST_ANNOTATION
from affinityctl.terminal.progress import Progress
from extender.core.config import API_VERSION, KIND
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    budget,
    node,
    pod,
    requirement,
    selector,
    term,
    workload,
)
from tests.volumes import bound, limited, storage_class, using, volume

WEB = selector(app="web")
ROOM = {"cpu": "2", "memory": "4Gi", "pods": "9"}
NODES = [
    node("a1", {HOST: "a1", ZONE: "a", "pool": "old"}, ROOM),
    node("a2", {HOST: "a2", ZONE: "a"}, ROOM),
    node("b1", {HOST: "b1", ZONE: "b"}, ROOM),
]
APART = pod("t").labels(app="web").anti_affinity(term(HOST, WEB))
SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
DEPLOYMENT = workload("Deployment", "web", APART, replicas=3, strategy=SURGE)

Simulate = Callable[..., tuple[int, str]]


def called(name: str, made: Pod) -> Pod:
    return Pod(made | {"metadata": made["metadata"] | {"name": name}}).uid(None)


def placed(number: int, name: str) -> Pod:
    made = APART.labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/web-5d")
    return called(f"web-5d-{number}", made).uid(f"u{number}").on(name)


RUNNING = [placed(number, name) for number, name in enumerate(("a1", "a2", "b1"))]


@pytest.fixture
def simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Simulate:
    """Run the command on a cluster of three nodes; return its exit code and what it said."""

    def run(line: str, *objects: Any, manifest: Any = None) -> tuple[int, str]:
        dump = tmp_path / "dump.json"
        dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *objects]}))
        path = tmp_path / "manifest.yaml"
        path.write_text(yaml.safe_dump_all([manifest], sort_keys=True))
        arguments = line.replace("FILE", str(path)).split()
        code = cli.main(["simulate", *arguments, "--cluster", str(dump)])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


STUCK = """\
Update deployment default/web, 3 pods: 0 new placed, 1 waits, stuck
  It gets stuck after 1 step: default/web-5d-0, default/web-5d-1,
    default/web-5d-2 stay until default/web-new-1 runs, and default/web-new-1
    waits for them to go

1 pod waits: default/web-new-1
  3 of 3 nodes: your anti-affinity on hostname, blocked by default/web-5d-0,
    default/web-5d-1, default/web-5d-2 on a1, a2, b1
  Most in the way: your anti-affinity on hostname. Without it, 3 nodes would fit
  Nearest: a1 if default/web-5d-0 were gone
  Nearest: a2 if default/web-5d-1 were gone
  Nearest: b1 if default/web-5d-2 were gone
  Note: default/web-5d-0, default/web-5d-1, default/web-5d-2 belong to another
    revision of the same Deployment (pod-template-hash 5d)
  To do: Let this update remove a pod first: maxSurge: 0, maxUnavailable: 1. For
    the updates after it, matchLabelKeys: [pod-template-hash] in the term. Where
    the extender decides, affinity-extender.io/revisions: Own on the old pods
    helps at once
"""


def test_a_template_that_names_a_node_leaves_its_pods_that_node_alone(simulate: Simulate) -> None:
    template = called("t", pod("t").on("b1"))
    code, said = simulate("-f FILE -o wide", manifest=workload("Deployment", "web", template))
    assert "on 1 node: b1" in said
    assert code == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--drain b1", "came back to b1: spec.nodeName of its template names the node"),
        ("--drain-each", "b1 1 0 0 1 0 default/web-5d-0 tolerates the cordon and came back"),
        ("--lose b1", "its node affinity names b1 alone, and there is no such node"),
        ("--drain b1 --scale deploy/web=2", "Scale deployment default/web from 1 to 2 pods: 1 pod"),
        ("--drain b1 --restart deploy/web", "1 old deleted, 1 new placed, done by zone: b 1"),
    ],
)
def test_no_scheduler_moves_the_pods_of_a_template_that_names_a_node(
    line: str, told: str, simulate: Simulate
) -> None:
    made = pod("t").labels(app="web").on("b1")
    owning = workload("Deployment", "web", made, replicas=1)
    old = made.labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/web-5d")
    code, said = simulate(line, owning, called("web-5d-0", old).uid("u"))
    assert (code, told in " ".join(said.split())) == (1, True), said
    assert "on 1 node: b1" in said or line in {"--lose b1", "--drain-each"}


def test_an_update_that_gets_stuck(simulate: Simulate) -> None:
    assert simulate("--roll FILE", *RUNNING, manifest=DEPLOYMENT) == (1, STUCK)


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        ({"maxSurge": 1, "maxUnavailable": 0}, "To do: Let this update remove a pod first"),
        ({"maxSurge": 0, "maxUnavailable": 1}, "To do: Have fewer replicas or more domains"),
    ],
)
def test_what_an_update_does_already_is_no_advice(
    strategy: dict[str, int], told: str, simulate: Simulate
) -> None:
    given = {"rollingUpdate": strategy}
    owning = workload("Deployment", "web", APART, replicas=3, strategy=given)
    code, said = simulate("--lose a1 --restart deploy/web", owning, *RUNNING)
    assert (code, told in " ".join(said.split())) == (1, True), said


@pytest.mark.parametrize(
    ("cpu", "told"),
    [
        ("1500m", "To do: Let this update remove a pod first: with maxSurge: 0, maxUnavailable: 1"),
        ("3", "To do: Ask for less"),
    ],
)
def test_where_an_old_pod_has_the_room_an_update_is_to_remove_one_first(
    cpu: str, told: str, simulate: Simulate
) -> None:
    made = pod("t").labels(app="web")
    old = (
        made.requests(cpu="1500m").labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/web-5d")
    )
    there = [called(f"web-5d-{each}", old).uid(f"u{each}").on(each) for each in ("a1", "a2", "b1")]
    owning = workload("Deployment", "web", made.requests(cpu=cpu), replicas=3, strategy=SURGE)
    code, said = simulate("--roll FILE", *there, manifest=owning)
    assert (code, told in " ".join(said.split())) == (1, True), said


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "-f FILE",
            "Place 0 pods of job default/j: 0 pods placed Note: it is suspended: no pod is ",
        ),
        ("-f FILE --replicas 2", "Place 2 pods of job default/j: 2 pods placed by "),
    ],
)
def test_a_suspended_job_has_no_pod_yet(line: str, told: str, simulate: Simulate) -> None:
    made = workload("Job", "j", pod("t"), parallelism=2, suspend=True)
    code, said = simulate(line, manifest=made)
    assert (code, " ".join(said.split()).startswith(told)) == (0, True), said
    assert ("suspended" in said) is ("--replicas" not in line)


def test_a_suspended_cronjob_starts_no_run(simulate: Simulate) -> None:
    spec = {"suspend": True, "jobTemplate": {"spec": {"template": {"spec": pod("t")["spec"]}}}}
    made = {"kind": "CronJob", "metadata": {"name": "c"}, "spec": spec}
    code, said = simulate("-f FILE", manifest=made)
    assert (code, "it is suspended" in said) == (0, True), said


def test_a_workload_of_another_namespace_is_pointed_to(simulate: Simulate) -> None:
    owning = workload("Deployment", "web", APART, replicas=3)
    owning["metadata"]["namespace"] = "shop"
    code, said = simulate("--scale deployment/web=5", owning)
    assert code == 2
    assert (
        "deployment default/web: is not in the cluster that was given, but in shop; use -n" in said
    )


@pytest.mark.parametrize(
    ("key", "domains"),
    [
        ("zone", ["a", "b"]),
        (ZONE, ["a", "b"]),
        ("example.com/zone", ["rack1", "rack2"]),
        ("rack", ["r1", "r2"]),
    ],
)
def test_of_keys_that_end_alike_the_one_of_kubernetes_is_meant(
    key: str, domains: list[str], simulate: Simulate
) -> None:
    """Providers, drivers and owners of clusters have labels of their own that end in zone."""
    further = [
        node("c1", {ZONE: "a", "example.com/zone": "rack1", "example.com/rack": "r1"}),
        node("c2", {ZONE: "b", "example.com/zone": "rack2", "example.org/rack": "r2"}),
    ]
    there = called("lone", pod("t")).uid("lone").on("c1")
    _, said = simulate(f"--lose-each {key} -o json", *further, there)
    (step,) = json.loads(said)["steps"]
    assert [each["name"] for each in step["trials"]] == domains


def test_a_restart_takes_the_template_and_strategy_of_the_dump(simulate: Simulate) -> None:
    assert simulate("--restart deploy/web", DEPLOYMENT, *RUNNING) == (1, STUCK)


def test_another_number_of_replicas_is_scaled_to_before_the_update(simulate: Simulate) -> None:
    fewer = workload("Deployment", "web", APART, replicas=2, strategy=SURGE)
    code, said = simulate("--roll FILE", *RUNNING, manifest=fewer)
    assert code == 0
    assert "Scale deployment default/web from 3 to 2 pods: 1 pod deleted" in said
    assert "Update deployment default/web, 2 pods: 2 old deleted, 2 new placed, done" in said


@pytest.mark.parametrize(
    ("policy", "change", "code"),
    [
        ("OrderedReady", "--scale sts/db=3", 1),
        ("OrderedReady", "--scale sts/db=1", 1),
        ("OrderedReady", "--scale sts/db=0", 0),
        ("Parallel", "--scale sts/db=3", 0),
    ],
)
def test_a_stateful_set_that_does_not_come_to_its_number_hurts(
    policy: str, change: str, code: int, simulate: Simulate
) -> None:
    owned = pod("t").labels(app="db").owned_by("StatefulSet/db")
    there = [called(f"db-{number}", owned).on("b1").ready(yes=number != 0) for number in range(2)]
    owning = workload("StatefulSet", "db", pod("t"), replicas=2, podManagementPolicy=policy)
    ended, said = simulate(change, owning, *there)
    assert (ended, "stopped there" in said) == (code, code == 1), said


@pytest.mark.parametrize(
    ("kind", "change", "said_of_it"),
    [
        ("Deployment", "--scale deploy/web=4", "4 pods: 4 old deleted, 4 new placed, done"),
        ("Deployment", "--scale deploy/web=0", "0 pods: 0 new placed, done"),
        ("StatefulSet", "--scale sts/web=3", "3 pods: 3 old deleted, 3 new placed, done"),
    ],
)
def test_a_restart_goes_by_the_number_that_a_change_before_it_leaves(
    kind: str, change: str, said_of_it: str, simulate: Simulate
) -> None:
    owner = "ReplicaSet/web-5d" if kind == "Deployment" else "StatefulSet/web"
    plain = pod("t").labels({"app": "web", "pod-template-hash": "5d"}).owned_by(owner)
    there = [called(f"web-{number}", plain).on("b1") for number in range(2)]
    object_ = workload(kind, "web", pod("t").labels(app="web"), replicas=2)
    code, said = simulate(f"{change} --restart {kind}/web", object_, *there)
    assert (code, said_of_it in said) == (0, True), said


def test_a_paused_deployment_does_not_roll(simulate: Simulate) -> None:
    paused = workload("Deployment", "web", APART, replicas=3, paused=True)
    code, said = simulate("--restart deploy/web", paused, *RUNNING)
    assert (code, "deployment default/web is paused: nothing rolls" in said) == (2, True)


def test_the_nodes_that_an_update_needs(simulate: Simulate) -> None:
    code, said = simulate(
        "--add-nodes 1 --like b1 --roll FILE -o wide", *RUNNING, manifest=DEPLOYMENT
    )
    assert code == 0
    assert "Update deployment default/web, 3 pods: 3 old deleted, 3 new placed, done" in said
    assert "  step 1: create default/web-new-1; placed: default/web-new-1 on b1-1" in said


def test_pods_of_a_manifest(simulate: Simulate) -> None:
    code, said = simulate("-f FILE", manifest=DEPLOYMENT)
    assert code == 0
    assert said == (
        "Place 3 pods of deployment default/web: 3 pods placed\n"
        "  by zone: a 2, b 1\n"
        "  on 3 nodes: a1, a2, b1\n"
    )


@pytest.mark.parametrize("flag", ["--until-full", "--replicas 2"])
def test_a_daemonset_has_one_pod_on_each_node(simulate: Simulate, flag: str) -> None:
    code, said = simulate(f"-f FILE {flag}", manifest=workload("DaemonSet", "agent", pod("t")))
    assert (code, "daemonset default/agent has one pod on each node" in said) == (2, True), said


@pytest.mark.parametrize(
    ("there", "status", "placed_on"),
    [
        pytest.param([], {}, {"a1", "a2", "b1"}, id="one on each node that it may go to"),
        pytest.param(["a1"], {"desiredNumberScheduled": 3}, {"a2", "b1"}, id="that lacks one"),
    ],
)
def test_a_daemon_set_lacks_a_pod_of_a_node(
    there: list[str], status: dict[str, int], placed_on: set[str], simulate: Simulate
) -> None:
    owned = pod("t").labels(app="agent").owned_by("DaemonSet/agent")
    load = pod("load").requests(cpu="1").on("b1")
    tainted = node("c1", {HOST: "c1"}, ROOM, [{"key": "dedicated", "effect": "NoSchedule"}])
    made = workload("DaemonSet", "agent", pod("t").labels(app="agent")) | {"status": status}
    running = [called(f"agent-{name}", owned).on(name) for name in there]
    code, said = simulate("-o json", made, tainted, load, *running)
    (step,) = json.loads(said)["steps"]
    found = [each["node"] for each in step["placed"]]
    assert (code, len(found), {*found}) == (0, len(placed_on), placed_on)


def test_the_volumes_that_a_statefulset_adds_are_named(simulate: Simulate) -> None:
    claims = [{"metadata": {"name": "data"}}]
    db = workload("StatefulSet", "db", pod("t"), volumeClaimTemplates=claims)
    code, said = simulate("-f FILE", manifest=db)
    assert code == 4
    assert "Warning: volumes of default/db-0 are not looked at" in said


def test_a_node_that_is_drained_is_not_the_nearest(simulate: Simulate) -> None:
    code, said = simulate("--drain a1", *RUNNING)
    assert code == 1
    assert "1: cordoned" in said
    assert "but for one thing: cordoned" not in said
    assert "Most in the way: your anti-affinity on hostname. Without it, 2 nodes would fit" in said


def test_changes_apply_in_order(simulate: Simulate) -> None:
    line = "-f FILE --replicas 2 --lose zone=b -f FILE --until-full -o json"
    code, said = simulate(line, manifest=workload("Deployment", "x", APART))
    told = json.loads(said)
    assert [each["change"].partition(" ")[0] for each in told["steps"]] == [
        "place",
        "lose",
        "place",
    ]
    assert told["steps"][2]["full"]["bottleneck"]["nodes"] == 2
    assert code == (0 if told["fine"] else 1)


@pytest.mark.parametrize("chosen", ["pool=old", "pool in (old,older)", "a1", "!topology"])
def test_nodes_that_are_drained(simulate: Simulate, chosen: str) -> None:
    selected = chosen if chosen != "!topology" else "pool,!topology"
    code, said = simulate(f"--drain {selected.replace(' ', '')}", RUNNING[0])
    if " in " in chosen:  # blanks are the shell's business
        assert code == 2
        return
    assert code == 0
    title = selected if selected == "a1" else f"{selected} (1 node)"
    assert said.startswith(f"Drain {title}: 1 pod evicted, 1 placed on other nodes\n")


def test_one_drain_after_another_keeps_to_the_budget_of_both(simulate: Simulate) -> None:
    names = ("a2", "b1")
    pods = [
        pod(f"on-{name}").labels(app="web").owned_by("ReplicaSet/w").selects(**{HOST: name})
        for name in names
    ]
    there = [each.on(name) for each, name in zip(pods, names, strict=True)]
    keeps = budget("keeps", WEB, allowed=1)
    code, said = simulate("--drain a2 --drain b1", *there, keeps)
    assert code == 1
    assert "Drain a2: 1 pod evicted, 1 waits" in said
    assert "Drain b1: 0 pods evicted, 1 blocked by a budget" in said
    assert "default/on-b1 stays on b1: budget default/keeps allows no more evictions" in said


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ("--drain a1,b1", 1, "Drain a1,b1 (2 nodes): "),
        ("--drain node/a1", 1, "Drain node/a1 (1 node): "),
        ("--drain a1,a9", 2, "--drain: there is no node a9"),
        ("--drain node/a9", 2, "--drain: there is no node a9"),
        ("--lose a1,node/b1", 1, "Lose a1,node/b1 (2 nodes): "),
        ("--lose a", 1, "Lose a ("),
        ("--lose q", 2, "--lose: no node has this name, or is in a zone q"),
        ("--lose-each zone", 1, "Lose each zone alone: "),
        ("--lose-each", 1, "Lose each node alone: "),
        ("--drain-each node", 1, "Drain each node alone: "),
        ("--lose-each rack", 2, "--lose-each: no node has a label rack"),
    ],
)
def test_nodes_are_named_as_kubectl_does(
    changes: str, code: int, said: str, simulate: Simulate
) -> None:
    ended, told = simulate(changes, *RUNNING)
    assert (ended, said in told) == (code, True), told


EACH = """\
Lose each zone alone: 1 of 3 hurts
  NAME NODES MOVED WAIT BLOCKED GONE WHO
  a 2 1 1 0 0 default/web-5d-1 waits (your anti-affinity on hostname)
  the other 2 hurt nobody
"""


def test_what_hurts_is_one_table(simulate: Simulate) -> None:
    spare = node("c1", {HOST: "c1", ZONE: "c"}, ROOM)
    code, said = simulate("--lose-each zone", *RUNNING, spare)
    assert (code, re.sub(r"\b +", " ", said)) == (1, EACH)
    code, said = simulate("--lose-each zone -o json", *RUNNING, spare)
    told = json.loads(said)
    assert (code, told["fine"], told["pending"]) == (1, False, [])
    (trials,) = (step["trials"] for step in told["steps"])
    assert [(each["name"], each["hurts"]) for each in trials] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]


HUGE = pod("huge").requests(cpu="9")
BARE = pod("bare").on("a1")
OF_JOB = pod("once-x").on("a1").owned_by("Job/once")
OF_CODES = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}


def disrupted(action: str) -> Any:
    return {"action": action, "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def job(*policy: Any, failed: int = 0, **spec: Any) -> Any:
    given: dict[str, Any] = {"podFailurePolicy": {"rules": [*policy]}} if policy else {}
    return workload("Job", "once", pod("t"), **spec, **given) | {"status": {"failed": failed}}


@pytest.mark.parametrize(
    ("line", "objects", "code"),
    [
        pytest.param("", [HUGE], 1, id="nothing is changed: it is about the pods that wait"),
        pytest.param("--add-nodes 2 --like a1", [HUGE], 1, id="as where nodes are added"),
        pytest.param("--drain-each", [HUGE, RUNNING[0]], 0, id="it had waited before"),
        pytest.param("--drain a1", [HUGE, RUNNING[0]], 0, id="and does after a drain"),
        pytest.param("-f FILE", [HUGE], 0, id="and so it does beside new pods"),
        pytest.param("-f FILE --replicas 4", [HUGE], 1, id="one of these waits as well"),
        pytest.param("--lose-each zone", RUNNING, 1, id="a pod waits that had a node"),
        pytest.param("--drain a1", [BARE], 1, id="a bare pod is gone for good"),
        pytest.param("--drain-each", [BARE], 1, id="whichever node is tried"),
        pytest.param("--lose a1", [BARE], 1, id="or is lost"),
        pytest.param("--drain a1", [job(), OF_JOB], 0, id="a Job begins again"),
        pytest.param("--drain a1", [job(backoffLimit=0), OF_JOB], 1, id="but one of one try fails"),
        pytest.param("--lose a1", [job(backoffLimit=0), OF_JOB], 1, id="its node being lost"),
        pytest.param(
            "--lose a1", [job(backoffLimitPerIndex=0), OF_JOB], 1, id="or one try for each index"
        ),
        pytest.param(
            "--drain a1", [job(disrupted("Ignore"), backoffLimit=0), OF_JOB], 0, id="or spares"
        ),
        pytest.param(
            "--drain a1", [job(OF_CODES, backoffLimit=0), OF_JOB], 1, id="not by exit codes alone"
        ),
        pytest.param(
            "--drain a1", [job(disrupted("FailJob")), OF_JOB], 1, id="one that disruptions fail"
        ),
        pytest.param(
            "--drain a1",
            [job(OF_CODES, disrupted("Count"), disrupted("FailJob")), OF_JOB],
            0,
            id="the first rule decides",
        ),
        pytest.param(
            "--lose a1", [job(failed=3, backoffLimit=3), OF_JOB], 1, id="its tries are used up"
        ),
        pytest.param("--lose a1", [job(failed=5), OF_JOB], 0, id="there are six by default"),
    ],
)
def test_the_exit_code_is_about_what_the_changes_do(
    line: str, objects: list[Pod], code: int, simulate: Simulate
) -> None:
    ended, said = simulate(line, *objects, manifest=DEPLOYMENT)
    assert ended == code, said


def test_a_bare_pod_that_a_new_one_preempts_is_gone_for_good(simulate: Simulate) -> None:
    small = pod("small").requests(cpu="1500m")
    big = pod("big").requests(cpu="1500m").priority(9)
    there = [called(f"on-{name}", small).on(name) for name in ("a1", "a2", "b1")]
    code, said = simulate("-f FILE", *there, manifest=dict(big))
    assert code == 1
    assert "Place 1 pod of pod default/big: 1 pod placed, 1 preempted, 1 gone for good" in said
    assert "  gone for good, as no controller makes another: default/on-" in said
    owned = [each.owned_by("ReplicaSet/web-5d") for each in there]
    assert "gone for good" not in simulate("-f FILE", *owned, manifest=dict(big))[1]


def test_a_pod_that_waited_before_is_named_last(simulate: Simulate) -> None:
    many = [called(f"huge-{number}", HUGE) for number in range(2)]
    _, said = simulate("--drain a1 --lose zone=b", *RUNNING, *many)
    titles = [line for line in said.splitlines() if re.match(r"\d pod", line)]
    assert titles == [
        "2 pods wait: default/web-5d-0, default/web-5d-2",
        "2 pods that had waited before still wait: default/huge-0, default/huge-1",
    ]


def test_no_replica_is_told_to_make_room_for_another(simulate: Simulate) -> None:
    _, said = simulate("--scale deploy/web=4", DEPLOYMENT, *RUNNING)
    assert "Nearest: none, for only replicas of the same workload are in the way" in said
    assert "were gone" not in said
    other = called("o", APART).owned_by("ReplicaSet/other-7c").on("b1")
    _, said = simulate("--scale deploy/web=4", DEPLOYMENT, *RUNNING[:2], other)
    assert {*re.findall("Nearest: (.*)", said)} == {"b1 if default/o were gone"}


def test_more_pods_are_as_most_are_in_whatever_zone_these_were_bound(simulate: Simulate) -> None:
    """The API server writes the zone of its node into the labels of a pod that is bound."""
    odd = called("a-odd", pod("t").labels(app="web")).owned_by("ReplicaSet/web-5d").on("a1")
    bound = [called(f"web-5d-{n}", APART).owned_by("ReplicaSet/web-5d") for n in range(2)]
    zoned = [
        each.labels({ZONE: zone}).on(f"{zone}{number}")
        for number, zone, each in ((2, "a", bound[0]), (1, "b", bound[1]))
    ]
    _, said = simulate("--scale rs/web-5d=4", odd, *zoned)
    assert "1 pod waits: default/web-5d-new-1" in said


def spread_over_zones(number: int, name: str, cost: str = "") -> Pod:
    made = pod("t").labels({"app": "web", "pod-template-hash": "5d"})
    made = made.avoids(1, term(ZONE, WEB)).avoids(1, term(HOST, WEB))
    made = called(f"web-5d-{number}", made.owned_by("ReplicaSet/web-5d")).uid(f"u{number}")
    return (made.annotated(COST_ANNOTATION, cost) if cost else made).on(name)


SKEWED = [spread_over_zones(*each) for each in enumerate(("a1", "a1", "a2", "b1", "b1", "b1"))]


def test_with_fewer_pods_it_says_who_goes_and_how_the_rest_is_spread(simulate: Simulate) -> None:
    code, said = simulate("--scale deploy/web=2", *SKEWED)
    lines = [line.partition(";")[0] for line in said.splitlines()[:4]]
    assert (code, lines) == (
        0,
        [
            "Scale deployment default/web from 6 to 2 pods: 4 pods deleted",
            "  deleted: default/web-5d-3, default/web-5d-4, default/web-5d-5 and 1 more",
            "  left by zone: a 2, b 0",
            "  left by hostname: a1 1, a2 1, b1 0",
        ],
    )


@pytest.mark.parametrize(
    ("change", "scaled", "where"),
    [
        pytest.param(
            "--scale sts/db=3", "Retain", "on 1 node: a2", id="a new one goes where its pod can"
        ),
        pytest.param(
            "--scale sts/db=1 --scale sts/db=2",
            "Retain",
            "on 1 node: b1",
            id="one that is there holds it",
        ),
        pytest.param(
            "--scale sts/db=1 --scale sts/db=2",
            "Delete",
            "on 1 node: a2",
            id="it goes as the set is scaled down",
        ),
    ],
)
def test_each_pod_of_a_stateful_set_has_claims_of_its_own(
    change: str, scaled: str, where: str, simulate: Simulate
) -> None:
    retention: dict[str, Any] = {"persistentVolumeClaimRetentionPolicy": {"whenScaled": scaled}}
    owning: Any = workload("StatefulSet", "db", pod("t"), replicas=2, **retention)
    objects: list[Any] = [storage_class("wait"), owning]
    for number, name in enumerate(("a1", "b1")):
        owned = using(f"data-db-{number}", name=f"db-{number}").owned_by("StatefulSet/db")
        objects += [
            owned.labels(app="web").anti_affinity(term(HOST, WEB)).on(name),
            bound(f"data-db-{number}", f"v{number}"),
            volume(f"v{number}", requirement(HOST, "In", name)),
            limited(name, None),
        ]
    code, said = simulate(change, *objects)
    assert (code, where in said) == (0, True), said


def test_costs_that_pods_have_count_as_they_are(simulate: Simulate) -> None:
    priced = [
        spread_over_zones(number, name, cost)
        for number, (name, cost) in enumerate((("a1", "5"), ("a1", "9"), ("b1", "-1")))
    ]
    _, said = simulate("--scale deploy/web=1", *priced)
    assert said.splitlines()[1:3] == [
        "  deleted: default/web-5d-2, default/web-5d-0",
        "  left by zone: a 1, b 0",
    ]


def test_more_pods_or_none_of_a_stateful_set_are_not_compared(simulate: Simulate) -> None:
    assert "deleted: " not in simulate("--scale deploy/web=7", *SKEWED)[1]
    db = [called(f"db-{number}", APART).owned_by("StatefulSet/db") for number in range(2)]
    _, said = simulate("--scale sts/db=1", *(each.on("a1") for each in db))
    assert "1 pod deleted" in said
    assert "left by" not in said


def test_a_trial_says_who_suffers_from_what(simulate: Simulate) -> None:
    kept = pod("kept").labels(app="db").owned_by("StatefulSet/kept").on("a1")
    guard = budget("guard", selector(app="db"), 0)
    _, said = simulate("--drain-each", *RUNNING, kept, guard, BARE)
    (row,) = (line for line in said.splitlines() if line.startswith("  a1 "))
    assert re.sub(r"\b +", " ", row) == (
        "  a1 1 0 1 1 1 default/web-5d-0 waits (your anti-affinity on hostname); "
        "default/kept stays (budget default/guard); default/bare gone for good"
    )


def test_a_pod_in_two_budgets_stays_whatever_they_allow(simulate: Simulate) -> None:
    two = [budget(name, WEB, allowed=1) for name in ("one", "two")]
    code, said = simulate("--drain a1", RUNNING[0], *two)
    assert (code, " ".join(said.split())) == (
        1,
        (
            "Drain a1: 0 pods evicted, 1 blocked by a budget default/web-5d-0 stays on a1: the API "
            "server evicts no pod that is in two budgets: default/one, default/two"
        ),
    )
    _, said = simulate("--drain-each", RUNNING[0], *two)
    assert "default/web-5d-0 stays (budget default/one, default/two)" in said
    _, said = simulate("--drain a1 -o json", RUNNING[0], *two)
    (blocked,) = json.loads(said)["steps"][0]["blocked"]
    assert blocked["budgets"] == ["default/one", "default/two"]


SET = workload("StatefulSet", "db", APART, replicas=3)


def of_set(number: int, on: str) -> Pod:
    return called(f"db-{number}", APART).owned_by("StatefulSet/db").uid(f"db{number}").on(on)


@pytest.mark.parametrize(
    ("policy", "said_of_it"),
    [
        pytest.param(
            "OrderedReady",
            "Lose a1,a2 (2 nodes): 2 pods lost, 1 waits, 1 not created",
            id="in order",
        ),
        pytest.param("Parallel", "Lose a1,a2 (2 nodes): 2 pods lost, 2 wait", id="all at once"),
    ],
)
def test_a_stateful_set_makes_its_pods_by_its_policy(
    simulate: Simulate, policy: str, said_of_it: str
) -> None:
    there = [of_set(number, name) for number, name in enumerate(("a1", "a2", "b1"))]
    made = SET | {"spec": SET["spec"] | {"podManagementPolicy": policy}}
    code, said = simulate("--lose a1,a2", made, *there)
    assert (code, said.splitlines()[0]) == (1, said_of_it)
    held = (
        "1 pod is not created: default/db-1\n"
        "  podManagementPolicy OrderedReady: the StatefulSet waits until default/db-0 is\n"
        "    ready\n"
    )
    assert (held in said) is (policy == "OrderedReady")


def test_a_new_stateful_set_makes_its_pods_in_order(simulate: Simulate) -> None:
    three = called("t", pod("t").selects(disk="ssd"))
    code, said = simulate("-f FILE", manifest=workload("StatefulSet", "db", three, replicas=3))
    assert (code, said.splitlines()[0]) == (
        1,
        "Place 3 pods of statefulset default/db: 0 pods placed, 1 waits, 2 not created",
    )
    assert "2 pods are not created: default/db-1, default/db-2\n" in said


@pytest.mark.parametrize(
    ("change", "said_of_it"),
    [
        pytest.param(
            "--restart sts/db",
            "Update statefulset default/db, 3 pods: 3 old deleted, 3 new placed, done",
            id="an update replaces each of them",
        ),
        pytest.param(
            "--scale sts/db=5",
            "Scale statefulset default/db from 3 to 5 pods: 2 pods placed",
            id="more are beside them",
        ),
    ],
)
def test_pods_of_a_stateful_set_that_are_not_made_have_ordinals(
    simulate: Simulate, change: str, said_of_it: str
) -> None:
    first = called("db-0", pod("t")).owned_by("StatefulSet/db").uid("db0").on("a1")
    _, said = simulate(change, workload("StatefulSet", "db", pod("t"), replicas=3), first)
    assert said_of_it in said.splitlines()


ROOMY = pod("t").labels(app="web")
ROOMY_SET = workload("StatefulSet", "db", ROOMY, replicas=2, podManagementPolicy="Parallel")
UNSAID = {key: each for key, each in ROOMY_SET["spec"].items() if key != "replicas"}
TWO_OF_SET = [
    called(f"db-{number}", ROOMY).owned_by("StatefulSet/db").uid(f"db{number}").on(on)
    for number, on in enumerate(("a1", "a2"))
]


@pytest.mark.parametrize(
    ("change", "there"),
    [
        pytest.param("--scale sts/db=6", [ROOMY_SET, *TWO_OF_SET], id="scaled"),
        pytest.param("-f FILE --replicas 6", [], id="more than the manifest says"),
        pytest.param("-f FILE", [], id="a manifest without a number"),
        pytest.param("--roll FILE", [ROOMY_SET, *TWO_OF_SET], id="an update without a number"),
    ],
)
def test_all_pods_that_a_change_has_made_are_made_anew(
    simulate: Simulate, change: str, there: list[Any]
) -> None:
    manifest = ROOMY_SET | {"spec": UNSAID}
    _, said = simulate(f"{change} --lose a1 --lose a2", *there, manifest=manifest)
    assert "being deleted already" not in said
    assert "Lose a2: " in said
    assert "placed on other nodes" in said


@pytest.mark.parametrize(
    ("change", "there"),
    [
        pytest.param("-f FILE", [], id="a new workload"),
        pytest.param("-f FILE --replicas 4", [], id="more than the manifest says"),
        pytest.param("-f FILE --replicas 4 --until-full", [], id="as many as fit"),
        pytest.param("--scale deploy/web=4", RUNNING[:2], id="scaled"),
        pytest.param("--roll FILE", RUNNING, id="an update with another number"),
    ],
)
@pytest.mark.parametrize("counted", [True, False], ids=["counted before", "not counted"])
def test_a_budget_goes_by_the_pods_that_a_change_leaves(
    simulate: Simulate, change: str, there: list[Any], counted: bool
) -> None:
    keeps = budget("keeps", WEB, allowed=0)
    keeps["spec"] = {"selector": WEB, "minAvailable": "50%"}
    half, number = (len(there) + 1) // 2, len(there)
    status = {
        "disruptionsAllowed": number - half,
        "currentHealthy": number,
        "desiredHealthy": half,
        "expectedPods": number,
    }
    keeps |= {"status": status if counted else None}
    manifest = workload("Deployment", "web", ROOMY, replicas=2)
    running = [Pod(each | {"spec": ROOMY.on(each["spec"]["nodeName"])["spec"]}) for each in there]
    known = [workload("Deployment", "web", ROOMY, replicas=len(there))] if there else []
    code, said = simulate(
        f"{change} --drain a1 --drain a2", *known, *running, keeps, manifest=manifest
    )
    assert (code, "blocked" in said) == (0, False), said


def test_pods_that_are_not_ready_go_where_a_budget_says_so(simulate: Simulate) -> None:
    unready = [each.phase("Running").ready(yes=False) for each in RUNNING[:2]]
    keeps = budget("keeps", WEB, allowed=0)
    assert simulate("--drain a1", *unready, keeps)[0] == 1
    keeps["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    code, said = simulate("--drain a1", *unready, keeps)
    assert (code, said.splitlines()[0]) == (0, "Drain a1: 1 pod evicted, 1 placed on other nodes")


def test_a_pod_that_tolerates_the_cordon_comes_back(simulate: Simulate) -> None:
    web = pod("t").labels(app="web").selects(pool="old").owned_by("ReplicaSet/web-5d")
    web["spec"]["tolerations"] = [{"operator": "Exists"}]
    there = [called("any", web).on("a1"), placed(1, "a1")]
    code, said = simulate("--drain a1", *there)
    assert code == 1
    assert "Drain a1: 2 pods evicted, 1 placed on other nodes, 1 came back" in said
    assert "  default/any came back to a1: it tolerates the taint of the cordon" in said
    code, said = simulate("--drain-each", *there)
    (row,) = (line.split() for line in said.splitlines() if line.startswith("  a1 "))
    assert (code, row[:6]) == (1, ["a1", "1", "1", "0", "1", "0"])
    assert " ".join(row[6:]) == "default/any tolerates the cordon and came back"


@pytest.mark.parametrize(
    ("constraint", "said_of_it"),
    [
        pytest.param({}, True, id="the lost zone is a domain with none of these pods"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, False, id="it honors taints"),
        pytest.param({"maxSkew": 2}, False, id="it allows one more"),
        pytest.param({"whenUnsatisfiable": "ScheduleAnyway"}, False, id="it refuses nothing"),
    ],
)
def test_what_waits_while_the_nodes_that_are_lost_are_there_still(
    constraint: dict[str, Any], said_of_it: bool, simulate: Simulate
) -> None:
    given = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    web = pod("t").labels(app="web").owned_by("ReplicaSet/web-5d")
    web["spec"]["topologySpreadConstraints"] = [{**given, "labelSelector": WEB, **constraint}]
    there = [called(f"web-{name}", web).uid(name).on(name) for name in ("a1", "b1")]
    code, said = simulate("--lose b1", *there)
    text = " ".join(said.split())
    assert (code, "Lose b1: 1 pod lost, 1 placed" in said) == (0, True), said
    assert ("topology spread counts their domains: default/web-b1 waits" in text) is said_of_it


def test_drain_says_what_kubectl_stops_at(simulate: Simulate) -> None:
    scratch = pod("scratch").owned_by("ReplicaSet/s").on("a1")
    scratch["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    _, said = simulate("--drain a1", scratch)
    assert "kubectl drain needs --delete-emptydir-data: default/scratch loses" in said


def test_what_is_not_looked_at_is_said(simulate: Simulate) -> None:
    made = pod("p")
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
    made["spec"] |= {"volumes": [claim], "schedulingGates": [{"name": "g"}]}
    code, said = simulate("", made)
    assert code == 4
    assert "Warning: until the scheduling gates of default/p are removed" in said
    assert "Warning: volumes of default/p are not looked at" in said
    code, said = simulate("-o json", made)
    assert (json.loads(said)["fine"], json.loads(said)["verdict"]) == (False, "unknown")
    waits = Pod(made | {"spec": made["spec"] | {"nodeSelector": {"disk": "ssd"}}})
    assert simulate("", waits)[0] == 1


def of_scheduler(name: str, made: Pod) -> Pod:
    return Pod(made | {"spec": made["spec"] | {"schedulerName": name}})


BIG = node("big", {HOST: "big", ZONE: "b"}, {"cpu": "4", "memory": "4Gi", "pods": "9"})
FULL = pod("full").requests(cpu="4").on("big")
WITH_DEVICE = pod("waits").requests(cpu="3")
WITH_DEVICE["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimName": "d"}]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("", 1, id="nothing is changed, and it waits"),
        pytest.param("--add-nodes 1 --like big", 4, id="the question is about what waits"),
        pytest.param("-f FILE", 0, id="it waits on"),
        pytest.param("-f FILE --add-nodes 1 --like big", 0, id="it may fit by now, or not"),
    ],
)
def test_what_waited_before_decides_where_nothing_else_is_asked(
    line: str, code: int, simulate: Simulate
) -> None:
    assert simulate(line, BIG, FULL, WITH_DEVICE, manifest=dict(pod("new")))[0] == code


def test_a_pod_with_gates_may_not_be_placed(simulate: Simulate) -> None:
    held = Pod(pod("p") | {"spec": pod("p")["spec"] | {"schedulingGates": [{"name": "g"}]}})
    code, said = simulate("", held)
    assert (code, "until the scheduling gates of default/p are removed" in said) == (4, True)
    assert simulate("", held.on("a1"))[0] == 0


FIRST, *OTHERS = RUNNING[:2]
THEIRS = of_scheduler("mine", FIRST)


@pytest.mark.parametrize(
    ("line", "objects", "code"),
    [
        pytest.param("", [of_scheduler("mine", pod("p"))], 4, id="it waits"),
        pytest.param("--drain a1", [THEIRS], 4, id="it is evicted"),
        pytest.param("--drain-each", [THEIRS, *OTHERS], 4, id="or would be"),
        pytest.param("--drain a2", [THEIRS, *OTHERS], 0, id="it stays"),
        pytest.param("--drain a2", [of_scheduler("mine", pod("p")), *OTHERS], 0, id="it waited"),
        pytest.param("--drain a1", [of_scheduler("affinity-scheduler", FIRST)], 0, id="ours"),
        pytest.param("--drain a1 --scheduler-name mine", [THEIRS], 0, id="one with these rules"),
        pytest.param("--drain a1 --scheduler-name his", [THEIRS], 4, id="which another has"),
    ],
)
def test_where_another_scheduler_decides_nothing_is_certain(
    line: str, objects: list[Pod], code: int, simulate: Simulate
) -> None:
    ended, said = simulate(line, *objects)
    assert ended == code, said
    if code:
        assert "Warning: another scheduler places default/" in said


def test_nobody_is_said_to_fit_who_may_wait(simulate: Simulate) -> None:
    code, said = simulate("--drain-each", THEIRS, *OTHERS)
    assert (code, "Drain each node alone: 0 of 3 hurt, 1 may\n" in said) == (4, True)
    assert "0      default/web-5d-0 may wait (see the warnings)\n" in said
    assert "the other 2 hurt nobody" in said


RULED = annotated(pod("t"), {"podAntiAffinity": {REQUIRED: [term(HOST, WEB)]}})
RULED_WEB = workload("Deployment", "web", RULED, replicas=3)


@pytest.mark.parametrize(
    ("line", "objects", "whose"),
    [
        ("-f FILE", [RULED], "1 manifest"),
        ("-f FILE", [RULED_WEB], "1 manifest"),
        ("-f FILE", [RULED, DEPLOYMENT], "1 pod"),
        ("-f FILE", [RULED, workload("Deployment", "web", RULED)], "1 pod and 1 manifest"),
        ("--restart deploy/web", [RULED_WEB, *RUNNING, None], "1 manifest"),
        ("--scale deploy/web=1", [RULED_WEB, *RUNNING, None], "1 manifest"),
        ("--scale deploy/web=1 --config CONFIG", [RULED_WEB, *RUNNING, None], None),
        ("-f FILE --config CONFIG", [RULED], None),
        ("-f FILE", [DEPLOYMENT], None),
    ],
)
def test_rules_in_annotations_that_are_ignored_are_told_of(
    line: str, objects: list[Any], whose: str | None, simulate: Simulate, tmp_path: Path
) -> None:
    config = {"apiVersion": API_VERSION, "kind": KIND, "annotations": {"namespaceSelector": {}}}
    path = tmp_path / "extender.yaml"
    path.write_text(json.dumps(config))
    *there, manifest = json.loads(json.dumps(objects))
    code, said = simulate(line.replace("CONFIG", str(path)), *there, manifest=manifest)
    told = re.findall(r"note: rules in annotations of (.*) are ignored;", said)
    assert (code, told) == (0, [whose] if whose else [])


def test_nodes_of_which_nothing_is_said_take_anything(simulate: Simulate) -> None:
    code, said = simulate("--lose zone=a", node("bare"), pod("p").requests(cpu="99"))
    assert code == 0
    assert "Note: 1 node has no status.allocatable, so any number of pods fits there" in said


def test_yaml_and_json_are_the_same(simulate: Simulate) -> None:
    told = [simulate(f"--drain a1 -o {output}", *RUNNING) for output in ("json", "yaml")]
    assert json.loads(told[0][1]) == yaml.safe_load(told[1][1])
    assert {code for code, _ in told} == {1}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        pytest.param("--replicas 3", "--replicas belongs after --filename", id="of what?"),
        pytest.param("--drain a1 --like a1", "--like belongs after --add-nodes", id="like what?"),
        pytest.param("--add-nodes 2", "name a node that they are like", id="no --like"),
        pytest.param("--add-nodes 0 --like a1", "expected 1 to", id="no nodes"),
        pytest.param("--add-nodes x --like a1", "'x': expected 1 to", id="a letter of nodes"),
        pytest.param("--add-nodes 1 --like c9", "no node c9", id="no such node"),
        pytest.param("--drain pool=new", "no node is called pool=new", id="no such label"),
        pytest.param("--drain a==b==c", "is no condition", id="no selector"),
        pytest.param("--lose zone=z", "no node has zone=z", id="no such zone"),
        pytest.param("--restart web", "is not like deployment/web", id="no kind"),
        pytest.param("--restart deploy/web", "is not in the cluster", id="no such workload"),
        pytest.param("--scale deploy/web=many", "is not like deployment/web=12", id="no number"),
        pytest.param("--scale job/web=2", "has no number of replicas", id="nothing to scale"),
        pytest.param("--roll FILE", "no pod of deployment", id="nothing to update"),
    ],
)
def test_what_cannot_be_done(simulate: Simulate, line: str, says: str) -> None:
    code, said = simulate(line, manifest=DEPLOYMENT)
    assert code == 2
    assert says in said


@pytest.mark.parametrize(
    ("kind", "field"),
    [("Deployment", "replicas"), ("StatefulSet", "replicas"), ("Job", "parallelism")],
)
def test_a_manifest_of_more_pods_than_any_cluster_has_is_refused(
    simulate: Simulate, kind: str, field: str
) -> None:
    made = workload(kind, "many", pod("t"))
    made["spec"][field] = 2**31 - 1
    code, said = simulate("-f FILE", manifest=made)
    assert code == 2
    assert "its 2147483647 pods are more than 200000" in said


def test_a_cluster_without_nodes_is_no_place(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": [pod("p")]}))
    assert cli.main(["simulate", "--cluster", str(dump)]) == 2


@pytest.mark.parametrize(
    "line",
    [
        "-o json",
        "--drain pool=old -o json",
        "--lose zone=a --drain b1 -o json",
        "--scale deploy/web=5 -o json",
        "--scale sts/db=4 -o json",
        "--restart deploy/web -o json",
        "--add-nodes 2 --like a1 -f FILE -o json",
        "-f FILE --until-full",
    ],
)
def test_the_order_of_a_file_changes_nothing(simulate: Simulate, line: str) -> None:
    """A list of an API server and one of kubectl, of jq or of a watch are the same cluster."""
    waiting = [
        called(f"waits-{number}", APART.priority(number % 2).owned_by("ReplicaSet/web-5d"))
        for number in range(4)
    ]
    other = pod("o").requests(cpu="1").affinity(term(HOST, WEB))
    objects = [DEPLOYMENT, *RUNNING[:2], *waiting, other, called("p", other).on("a1")]
    objects += [
        called(f"db-{number}", pod("o").selects(**{ZONE: zone}).owned_by("StatefulSet/db"))
        for number, zone in enumerate("ab")
    ]
    objects += [node(f"c{number}", {HOST: f"c{number}", ZONE: "c"}, ROOM) for number in (2, 1)]
    said = set()
    for seed in range(6):
        Random(seed).shuffle(objects)
        said.add(simulate(line, *objects, manifest=dict(called("new", other))))
    assert len(said) == 1


def test_another_process_says_the_same(tmp_path: Path) -> None:
    dump, manifest = tmp_path / "dump.json", tmp_path / "web.json"
    dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *RUNNING]}))
    manifest.write_text(json.dumps(workload("Deployment", "y", pod("t"), replicas=9)))
    line = ["simulate", "-f", str(manifest), "--lose", "zone=b", "--cluster", str(dump)]
    said = {
        subprocess.run(
            [sys.executable, "-m", "extender", *line, "-o", "json", "--seed", "7"],
            check=False,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert b'"fine"' in said.pop()


@pytest.mark.parametrize(
    ("terminal", "says"),
    [
        pytest.param(True, "web: 2 of 4 pods", id="a bar"),
        pytest.param(False, "affinity-extender: web: 2 of 4 pods\n", id="a line"),
    ],
)
def test_how_far_it_is(
    terminal: bool,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    now = iter(range(0, 1000, 6))

    def looks() -> Any:
        for _ in range(4):
            yield
        return "done"

    assert Progress(lambda: float(next(now))).through("web", 4, looks()) == "done"
    assert says in capsys.readouterr().err


def test_what_is_soon_done_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def looks() -> Any:
        yield
        return None

    Progress(lambda: 0.0).through("web", 1, looks())
    assert capsys.readouterr().err == ""
