"""What explain tells, and in which form."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.annotating import DURING, REQUIRED, annotated
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    crossing,
    node,
    node_term,
    pod,
    quota,
    requirement,
    selector,
    term,
)
from tests.commands.explain.cluster import DB, SSD, SSD_NODES, WEB, Explain
from tests.volumes import bound, using, volume

ALL: dict[str, Any] = {"namespaceSelector": {}}
HASH = "pod-template-hash"

REFUSED = """\
default/new fits on no node
2 of 3 nodes: your anti-affinity on zone, blocked by default/web-0 in zone a; 1:
  node affinity

What to do
  - Add nodes without the pods that it keeps away from, or make the
    anti-affinity preferred
  - Correct the node selector or node affinity, or add nodes with the labels
    that it asks for

Your anti-affinity over topology.kubernetes.io/zone refuses 2 nodes
  about       pods with app in (web)
  namespaces  default, its own
  matches     1 placed pod
  zone a   2 nodes   blocked by default/web-0

Your node selector or node affinity does not match 1 node; it asks for
  topology.kubernetes.io/zone in (a)

Nearest: it would fit on
  - 2 nodes in zone a if default/web-0 were gone
"""


def test_a_pod_that_fits_nowhere(explain: Explain) -> None:
    new = pod("new").anti_affinity(term(ZONE, WEB)).selects(**{ZONE: "a"})
    web = pod("web-0").labels(app="web").on("a1")
    assert explain("new", new, web) == (1, REFUSED)


FITS = """\
default/new fits on 2 of 3 nodes
2 of 3 nodes fit; 1: the anti-affinity of shop/lone on hostname on a1

Anti-affinity of placed pods over kubernetes.io/hostname refuses 1 node
  about       pods with any labels
  namespaces  all namespaces (an empty namespaceSelector)
  carried by  1 placed pod
  a1   1 node   blocked by shop/lone

BEST NODES   SCORE   InterPodAffinity   RAW
b1           100     100                7
a2           0       0                  0
"""


def test_a_pod_that_fits_somewhere(explain: Explain) -> None:
    lone = pod("lone", "shop").anti_affinity(term(HOST, selector(), **ALL)).on("a1")
    new = pod("new").prefers(7, term(ZONE, DB))
    db = pod("db-0").labels(app="db").on("b1")
    assert explain("new", new, lone, db) == (0, FITS)


LONE = pod("new").labels(app="web").anti_affinity(term(HOST, WEB))


def near(name: str, other: str) -> Pod:
    return pod(name).labels(app=name).affinity(term(HOST, selector(app=other)))


def meta(name: str) -> Any:
    return {"metadata": LONE["metadata"] | {"name": name, "uid": name}}


@pytest.mark.parametrize(
    ("new", "others", "said"),
    [
        pytest.param(
            pod("new").labels(app="web").affinity(term(ZONE, WEB)),
            [],
            "it may be the first of its group",
            id="the first pod of a group",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE, WEB)),
            [],
            "there are no placed pods with app in (web) in namespace default; default/new is not "
            "one of them either, so it cannot be the first",
            id="no pod of the group, and it cannot start one",
        ),
        pytest.param(
            pod("new").labels(app="web").affinity(term(ZONE, WEB), term(HOST, DB)),
            [],
            "default/new itself is not one of the pods with app in (db) in namespace default, so",
            id="no pod of the group, and it lacks the second term itself",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE)),
            [],
            "about no pods: it has no labelSelector",
            id="a term without a selector",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE)),
            [],
            "the affinity on zone has no labelSelector, so no pod matches it",
            id="required affinity without a selector",
        ),
        pytest.param(
            pod("new").labels(app="web").affinity(term(ZONE, WEB)),
            [node("bare", {HOST: "bare"})],
            "3 of 4 nodes fit; 1: your affinity on zone: no label topology.kubernetes.io/zone",
            id="a node without the label of required affinity",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE, WEB)),
            [node("bare", {HOST: "bare"})],
            "no matching pod in zones a, b and on 1 node without that label",
            id="nodes with and without the label of required affinity",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE, WEB)),
            [node("bare", {HOST: "bare"})],
            "no such label 1 node refused whatever pods there are",
            id="what is said of a node without the label",
        ),
        pytest.param(
            pod("new").labels(app="web").affinity(term(ZONE, WEB)),
            [node("bare", {HOST: "bare"}), pod("w").labels(app="web").on("bare")],
            "are in no topology domain, and do not count: their nodes are unknown, or do not have "
            "the label topology.kubernetes.io/zone. This pod matches it itself, so it may be the "
            "first of its group",
            id="the first of a group whose other pods are in no domain",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE, WEB)),
            [pod("w").labels(app="web").on("gone")],
            "the placed pods that match your required affinity are in no topology domain",
            id="a matching pod on a node that is unknown",
        ),
        pytest.param(
            pod("new").labels(app="web").anti_affinity(term(ZONE, WEB)),
            [pod("w").labels(app="web").anti_affinity(term(ZONE, WEB)).on("a1")],
            "matches 1 placed pod, which has the same rule",
            id="a single pod with the same rule",
        ),
        pytest.param(
            LONE,
            [Pod(LONE | meta("w")).on("a1"), pod("v").labels(app="web").on("b1")],
            "matches 2 placed pods; 1 of them has the same rule a1 1 node blocked by default/w",
            id="pods of which one has the same rule",
        ),
        pytest.param(
            LONE,
            [
                pod("v").labels(app="web").on("b1"),
                pod("x").labels(app="x").anti_affinity(term(HOST, WEB)).on("a1"),
            ],
            "matches 1 placed pod b1 1 node blocked by default/v Anti-affinity of placed pods over "
            "kubernetes.io/hostname refuses 1 node",
            id="the same rule of a pod that it does not match",
        ),
        pytest.param(
            LONE.owned_by("StatefulSet/web"),
            [pod("v").labels(app="web").owned_by("Job/hook").on("b1")],
            "default/v is of Job hook, not of StatefulSet web: your anti-affinity matches the "
            "labels of both",
            id="a pod of another workload in the way",
        ),
        pytest.param(
            near("new", "a"),
            [near("a", "new")],
            "default/a waits as well: each has a required affinity to the other",
            id="a circle of two",
        ),
        pytest.param(
            near("new", "a"),
            [near("a", "new").being_deleted()],
            "there are no placed pods with app in (a)",
            id="a circle that ends with a pod that is being deleted",
        ),
        pytest.param(
            pod("new").on("a1").being_deleted(),
            [],
            "the pod is on a1 already, and is being deleted; this is what would be said",
            id="a placed pod that is being deleted",
        ),
        pytest.param(
            near("new", "a"),
            [near("a", "b"), near("b", "c"), near("c", "new"), near("d", "new")],
            "it waits for default/a, which waits for default/b, which waits for default/c, which "
            "waits for this pod",
            id="a circle of four",
        ),
        pytest.param(
            near("new", "a"),
            [near("a", "b"), near("b", "a")],
            "there are no placed pods with app in (a)",
            id="a circle that it waits for, and is none of",
        ),
        pytest.param(
            pod("new").labels(app="web"),
            [pod("w").labels(app="x").anti_affinity(term(ZONE, WEB)).on("a1")],
            "namespaces default carried by 1 placed pod",
            id="the namespace of a placed pod's term, of which it is not known that it is named",
        ),
        pytest.param(
            pod("new").affinity(term(ZONE, WEB), term(ZONE, DB)),
            [pod("w").labels(app="web").on("a1"), pod("d").labels(app="db").on("a1")],
            "the same pod has to match every required affinity term",
            id="several terms that no single pod meets",
        ),
        pytest.param(
            pod("new").labels(app="web", **{HASH: "2"}).anti_affinity(term(ZONE, WEB)),
            [
                pod("w").labels(app="web", **{HASH: "1", ZONE: "a"}).on("a1"),
                pod("v").labels(app="web", **{HASH: "1", ZONE: "b"}).on("b1"),
            ],
            "(pod-template-hash 1). What to do - Let this update remove a pod first",
            id="an older revision in the way, by the new pod's rule",
        ),
        pytest.param(
            pod("new").labels(app="web", **{HASH: "2"}),
            [
                pod(n).labels(app="web", **{HASH: "1"}).anti_affinity(term(ZONE, WEB)).on(at)
                for n, at in (("w", "a1"), ("v", "b1"))
            ],
            "For the updates after it, matchLabelKeys: [pod-template-hash] in the term",
            id="an older revision in the way, by its own rule",
        ),
        pytest.param(
            pod("new").labels(app="web", **{HASH: "2"}).anti_affinity(term(HOST, WEB)),
            [pod("w").labels(app="web", **{HASH: "1"}).owned_by("ReplicaSet/web-1").on("a1")],
            "matches 1 placed pod a1 1 node blocked by default/w BEST NODES",
            id="a pod of a Deployment in the way of one that is of none",
        ),
        pytest.param(
            pod("new").priority(5).anti_affinity(term(HOST, WEB)).selects(**{HOST: "a1"}),
            [pod("w").labels(app="web").on("a1")],
            "default/w on a1 would be preempted for this pod",
            id="a less important pod in the way",
        ),
        pytest.param(
            pod("new").anti_affinity(term(HOST, WEB)),
            [pod("w").labels(app="web").on("a1").being_deleted(), pod("v").on("a2")],
            "Note: default/w is being deleted, and counts until it is gone.",
            id="a pod in the way that is on its way out",
        ),
        pytest.param(
            pod("new").affinity(term("rack", WEB)),
            [],
            "no node has the label rack",
            id="a topology key that no node has",
        ),
        pytest.param(
            pod("new").anti_affinity(term(ZONE, matchLabelKeys=["app"])).labels(app="web"),
            [],
            "has label keys (app) and no labelSelector: the API server refuses such a pod",
            id="label keys without a selector",
        ),
        pytest.param(
            pod("new")
            .anti_affinity(term(ZONE, selector(), matchLabelKeys=["app"]))
            .labels(app="x"),
            [pod("w").labels(app="x").on("a1")],
            "pods with app in (x) (with app of this pod)",
            id="label keys that are merged",
        ),
        pytest.param(
            pod("new").anti_affinity(term(ZONE, DB, mismatchLabelKeys=["tenant"])),
            [],
            "Note: the term on zone has the label key tenant, and the pod has no such label: the "
            "term is about pods with any value.",
            id="a label key that the pod lacks",
        ),
        pytest.param(
            pod("new").anti_affinity(term(ZONE, selector(), namespaceSelector=selector(team="a"))),
            [],
            "by namespaceSelector team in (a): none now",
            id="namespaces by their labels",
        ),
        pytest.param(
            pod("new").anti_affinity(term(ZONE, DB, **ALL)),
            [quota("q", {"pods": "0"}, crossing())],
            "quota default/q has no room for more pods",
            id="a quota",
        ),
        pytest.param(
            pod("new").requires_nodes(node_term(requirement("disk", "Exists"))),
            [],
            "3 nodes if they had the labels that the node affinity asks for",
            id="node affinity",
        ),
        pytest.param(
            pod("new").selects(disk="ssd"),
            [],
            "does not match 3 nodes; it asks for disk in (ssd)",
            id="what a node selector asks for",
        ),
        pytest.param(
            pod("new").selects(disk="ssd"),
            [],
            "Note: no node has the label disk.",
            id="a label that no node has",
        ),
        pytest.param(
            pod("new").selects(disk="ssd"),
            [node("d1", {"disk": "hdd"})],
            "asks for disk in (ssd) Nearest: it would fit on - 4 nodes if they had the labels that "
            "the node affinity asks for",
            id="a label that a node has with another value",
        ),
        pytest.param(
            pod("new").avoids(1, term(HOST, WEB)).prefers_nodes(100, SSD),
            [pod("w").labels(app="web").on("a1"), node("a1", {HOST: "a1", "disk": "ssd"})],
            "no node is best for InterPodAffinity and NodeAffinity alike",
            id="preferences that pull apart",
        ),
        pytest.param(
            using("data"),
            [bound("data", "v"), volume("v", requirement(ZONE, "In", "z"))],
            "Note: there is no node where its volume is",
            id="a volume where no node is",
        ),
        pytest.param(
            using("data").anti_affinity(term(HOST, WEB)),
            [
                bound("data", "v"),
                volume("v", requirement(ZONE, "In", "b")),
                pod("w").labels(app="web").on("b1"),
            ],
            "Note: its volume allows b1 (node(s) didn't match pod anti-affinity rules) alone",
            id="a volume where one node is",
        ),
        pytest.param(
            using("data").labels(app="web").affinity(term(ZONE, WEB)),
            [
                bound("data", "v"),
                volume("v", requirement(ZONE, "In", "b")),
                pod("w").labels(app="web").on("a1"),
            ],
            "Note: default/w holds the group that it has to be near, and its volume is elsewhere. "
            "What to do - See whether the pods that hold the group elsewhere have volumes there",
            id="a group that has started elsewhere",
        ),
        pytest.param(
            pod("new").anti_affinity(term(HOST, WEB)).selects(**{HOST: "a1"}),
            [pod("w").labels(app="web").nominated("a1")],
            "a1 is held for default/w",
            id="a pod that is nominated there",
        ),
        pytest.param(
            pod("new").anti_affinity(term(ZONE, WEB)).selects(**{HOST: "a2"}),
            [
                pod("w").labels(app="web").priority(1).nominated("a1"),
                pod("victim").on("a1").preempted("default-w"),
            ],
            "a2 is held for default/w: pods are preempted on a1, in the same domain",
            id="a pod for which others are preempted in the zone",
        ),
        pytest.param(
            annotated(pod("new"), {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}}),
            [pod("w").labels(app="web").on("a1")],
            "2 of 3 nodes: your annotation's anti-affinity on zone, blocked by default/w in zone a",
            id="a rule of its annotation",
        ),
        pytest.param(
            pod("new").labels(app="db"),
            [annotated(pod("w").on("a1"), {"podAntiAffinity": {DURING: [term(ZONE, DB)]}})],
            "2 of 3 nodes: the anti-affinity (by annotation) of default/w on zone in zone a",
            id="a rule in the annotation of a placed pod",
        ),
        pytest.param(
            annotated(pod("new"), {"nodeAffinity": {REQUIRED: SSD_NODES}}),
            [],
            "Node affinity in your annotation does not match 3 nodes",
            id="node affinity of its annotation",
        ),
        pytest.param(
            annotated(pod("new"), {"nodeAffinity": dict.fromkeys((REQUIRED, DURING), SSD_NODES)}),
            [],
            "Node affinity in your annotation does not match 3 nodes; it asks for disk "
            "Nearest: it would fit on - 3 nodes if they had the labels",
            id="node affinity of its annotation, for scheduling and for execution",
        ),
        pytest.param(
            annotated(pod("new").requires_nodes(SSD), {"nodeAffinity": {REQUIRED: SSD_NODES}}),
            [],
            "Your node selector or node affinity does not match 3 nodes; it asks for disk "
            "Nearest: it would fit on - 3 nodes if they had the labels",
            id="node affinity of its spec and of its annotation",
        ),
        pytest.param(
            annotated(pod("new"), {"podAffinity": 7}),
            [],
            "Nearest: it would fit on - 3 nodes if its rules could be read, and allowed it",
            id="an annotation that is broken",
        ),
    ],
)
def test_what_is_remarked(new: Any, others: list[Any], said: str, explain: Explain) -> None:
    code, text = explain("new", new, *others)
    assert code in (0, 1, 4)
    assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([], True),
        ([pod("placed").labels(app="web").on("a1")], False),
        ([pod("both").labels(app="db", tier="x").affinity(term(HOST, selector(tier="x")))], True),
    ],
    ids=["two alone", "the other finds one", "another that waits for itself"],
)
def test_pods_that_wait_for_each_other_are_named(
    others: list[Any], said: bool, explain: Explain
) -> None:
    new = pod("new").labels(app="web").affinity(term(HOST, DB))
    _, text = explain("new", new, pod("db").labels(app="db").affinity(term(HOST, WEB)), *others)
    note = "Note: default/db waits as well: each has a required affinity to the other"
    assert (note in " ".join(text.split())) is said


def test_a_pod_that_may_be_the_first_of_its_group_is_not_waited_for(explain: Explain) -> None:
    new = pod("new").labels(app="web").affinity(term(HOST, DB))
    first = pod("db").labels(app="db").affinity(term(HOST, selector(requirement("app", "Exists"))))
    _, text = explain("new", new, first)
    assert "waits as well" not in text


def test_the_most_a_rule_shows(explain: Explain) -> None:
    many = [node(f"n{i:02}", {HOST: f"n{i:02}"}) for i in range(12)]
    webs = [pod(f"w-{i}").labels(app="web").on(f"n{i:02}") for i in range(12)]
    more = [pod(f"x-{i:02}").labels(app="web").on("n00") for i in range(15)]
    new = pod("new").anti_affinity(term(HOST, WEB)).selects(**{HOST: "n00"})
    _, text = explain("new", new, *many, *webs, *more)
    assert "blocked by default/w-0, default/x-00, default/x-01 and 13 more" in text
    assert "and 4 more domains; -o wide has all" in text
    _, told = explain("new -o json", new, *many, *webs, *more)
    first = next(each for each in json.loads(told)["nodes"] if each["node"] == "n00")
    assert (len(first["blockers"]), first["blockerCount"]) == (10, 16)


def test_each_node_in_a_line(explain: Explain) -> None:
    new = pod("new").anti_affinity(term(HOST, WEB))
    _, text = explain("new -o wide", new, pod("web-0").labels(app="web").on("a1"))
    rows = text.partition("\n\nNODE ")[2].splitlines()
    assert [row.split()[:2] for row in rows[1:]] == [["a1", "no"], ["a2", "yes"], ["b1", "yes"]]
    assert rows[1].endswith("default/web-0")


def test_json_and_yaml_are_the_same(explain: Explain) -> None:
    new = pod("new").anti_affinity(term(HOST, WEB))
    as_json, as_yaml = explain("new -o json", new)[1], explain("new -o yaml", new)[1]
    assert json.loads(as_json) == yaml.safe_load(as_yaml)


@pytest.mark.parametrize(
    ("owner", "labels", "told"),
    [
        pytest.param("ReplicaSet/web-5d", {"team": "old"}, True, id="of one Deployment"),
        pytest.param("ReplicaSet/other-5d", {}, False, id="of two Deployments"),
        pytest.param("", {}, True, id="as their labels tell"),
        pytest.param("", {"team": "other"}, False, id="labels that differ"),
    ],
)
def test_another_revision_is_recognised_where_binds_write_zones(
    owner: str, labels: dict[str, str], told: bool, explain: Explain
) -> None:
    new = pod("new").labels({"app": "web", HASH: "7f"}).anti_affinity(term(HOST, WEB))
    old = [
        pod(f"old-{name}").labels({"app": "web", HASH: "5d", ZONE: name[0], **labels}).on(name)
        for name in ("a1", "a2", "b1")
    ]
    if owner:
        new, old = new.owned_by("ReplicaSet/web-7f"), [each.owned_by(owner) for each in old]
    code, said = explain("new", new, *old)
    assert (code, "belong to another revision" in " ".join(said.split())) == (1, told)
