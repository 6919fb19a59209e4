"""The command explain: what it tells, in which form, and what it ends with."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from extender import cli
from tests.annotating import DURING, REQUIRED, annotated
from tests.builders import (
    HOST,
    ZONE,
    crossing,
    node,
    node_term,
    pod,
    quota,
    requirement,
    selector,
    term,
    workload,
)

WEB, DB = selector(app="web"), selector(app="db")
ALL: dict[str, Any] = {"namespaceSelector": {}}
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
]
HASH = "pod-template-hash"
SSD = node_term(requirement("disk", "Exists"))
SSD_NODES = {"nodeSelectorTerms": [SSD]}

Explain = Callable[..., tuple[int, str]]


@pytest.fixture
def explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """Run the command on a cluster of three nodes; return its exit code and what it said."""

    def run(line: str, *objects: Any, manifest: Any = None) -> tuple[int, str]:
        dump = tmp_path / "dump.json"
        dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *objects]}))
        arguments = ["explain", *line.split(), "--cluster", str(dump)]
        if manifest is not None:
            path = tmp_path / "manifest.yaml"
            path.write_text(manifest if isinstance(manifest, str) else yaml.safe_dump(manifest))
            arguments += ["-f", str(path)]
        code = cli.main(arguments)
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


REFUSED = """\
default/new fits on no node
3 nodes: 2 your anti-affinity on zone, blocked by default/web-0 in zone a; 1
  node affinity

Your anti-affinity over topology.kubernetes.io/zone refuses 2 nodes
  about       pods with app in (web)
  namespaces  default, its own
  matches     1 placed pod
  zone a   2 nodes   blocked by default/web-0

Your node selector or node affinity does not match 1 node

Nearest: it would fit on
  - 2 nodes in zone a if default/web-0 was not there
  - 1 node with labels that the node affinity asks for
"""


def test_a_pod_that_fits_nowhere(explain: Explain) -> None:
    new = pod("new").anti_affinity(term(ZONE, WEB)).selects(**{ZONE: "a"})
    web = pod("web-0").labels(app="web").on("a1")
    assert explain("new", new, web) == (1, REFUSED)


FITS = """\
default/new fits on 2 of 3 nodes
3 nodes: 2 fit; 1 the anti-affinity of shop/lone on hostname on a1

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
            "default/new is not one of the pods with app in (web) in namespaces default either",
            id="no pod of the group, and it cannot start one",
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
                pod("w").labels(app="web", **{HASH: "1"}).on("a1"),
                pod("v").labels(app="web", **{HASH: "1"}).on("b1"),
            ],
            "(pod-template-hash 1): add matchLabelKeys: [pod-template-hash]",
            id="an older revision in the way, by the new pod's rule",
        ),
        pytest.param(
            pod("new").labels(app="web", **{HASH: "2"}),
            [
                pod(n).labels(app="web", **{HASH: "1"}).anti_affinity(term(ZONE, WEB)).on(at)
                for n, at in (("w", "a1"), ("v", "b1"))
            ],
            "what the older pods require stays as it is",
            id="an older revision in the way, by its own rule",
        ),
        pytest.param(
            pod("new").priority(5).anti_affinity(term(HOST, WEB)).selects(**{HOST: "a1"}),
            [pod("w").labels(app="web").on("a1")],
            "default/w on a1 would be preempted for this pod",
            id="a less important pod in the way",
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
            "3 nodes with labels that the node affinity asks for",
            id="node affinity",
        ),
        pytest.param(
            pod("new").anti_affinity(term(HOST, WEB)).selects(**{HOST: "a1"}),
            [pod("w").labels(app="web").nominated("a1")],
            "a1 is held for default/w",
            id="a pod that is nominated there",
        ),
        pytest.param(
            annotated(pod("new"), {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB)]}}),
            [pod("w").labels(app="web").on("a1")],
            "2 your annotation's anti-affinity on zone, blocked by default/w in zone a",
            id="a rule of its annotation",
        ),
        pytest.param(
            pod("new").labels(app="db"),
            [annotated(pod("w").on("a1"), {"podAntiAffinity": {DURING: [term(ZONE, DB)]}})],
            "2 the anti-affinity (by annotation) of default/w on zone in zone a",
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
            "Node affinity in your annotation does not match 3 nodes "
            "Nearest: it would fit on - 3 nodes with labels",
            id="node affinity of its annotation, for scheduling and for execution",
        ),
        pytest.param(
            annotated(pod("new").requires_nodes(SSD), {"nodeAffinity": {REQUIRED: SSD_NODES}}),
            [],
            "Your node selector or node affinity does not match 3 nodes "
            "Nearest: it would fit on - 3 nodes with labels",
            id="node affinity of its spec and of its annotation",
        ),
        pytest.param(
            annotated(pod("new"), {"podAffinity": 7}),
            [],
            "filter answers with an error instead: metadata.annotations",
            id="an annotation that is broken",
        ),
        pytest.param(
            pod("new").in_group("g").labels(app="web").anti_affinity(term(ZONE, WEB)),
            [pod("more").in_group("g").labels(app="web")],
            "filter answers with an error instead",
            id="a pod of a group",
        ),
    ],
)
def test_what_is_remarked(new: Any, others: list[Any], said: str, explain: Explain) -> None:
    code, text = explain("new", new, *others)
    assert code in (0, 1)
    assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


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


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"])
def test_a_workload_from_a_manifest(kind: str, explain: Explain) -> None:
    template = pod("t", "shop").anti_affinity(term(ZONE, WEB))
    web = pod("web-0", "shop").labels(app="web")
    manifest = workload(kind, "new", template)
    code, text = explain(
        "", web.on("a1"), web.on("b1") | {"metadata": web["metadata"]}, manifest=manifest
    )
    assert (code, text.splitlines()[0]) == (0, f"shop/{kind.lower()}/new fits on 2 of 3 nodes")


def test_several_manifests_and_the_namespace_they_lack(explain: Explain) -> None:
    fits, not_ = pod("fits"), pod("not").selects(disk="ssd")
    for each in (fits, not_):
        del each["metadata"]["namespace"]
    both = yaml.safe_dump_all([dict(fits), dict(not_), {"kind": "Service", "metadata": {}}])
    code, text = explain("-n shop", manifest=both)
    assert code == 1
    assert "shop/fits fits on 3 of 3 nodes" in text
    assert "shop/not fits on no node" in text
    assert "1 Service cannot be explained" in text
    told = json.loads(explain("-n shop -o json", manifest=both)[1].partition("\naffinity")[0])
    assert [each["pod"] for each in told] == ["shop/fits", "shop/not"]


def test_a_manifest_from_standard_input(explain: Explain, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(json.dumps(pod("new")).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    assert explain("-f -")[1].startswith("default/new fits on 3 of 3 nodes")


def test_a_replica_of_a_workload_in_the_dump(explain: Explain) -> None:
    deployment = workload("Deployment", "web", pod("t", "shop").labels(app="web"), replicas=2)
    code, text = explain("deployment/web -n shop", deployment)
    assert (code, text.splitlines()[0]) == (0, "shop/deployment/web[0] fits on 3 of 3 nodes")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("new --node a1", 1, "default/new does not fit on a1", id="not there"),
        pytest.param("new --node b1", 0, "default/new fits on b1", id="there"),
        pytest.param("new --node a11", 2, "no node a11; did you mean a1", id="no such node"),
        pytest.param("pod/new", 0, "default/new fits on 1 of 3", id="as kubectl prints it"),
        pytest.param("nwe", 2, "no pod nwe in namespace default; did you mean new?", id="a slip"),
        pytest.param("new -n shop", 2, "no pod new in namespace shop, but in default", id="where?"),
        pytest.param("", 2, "name a pod, or give a manifest with -f", id="nothing asked"),
    ],
)
def test_names(line: str, code: int, said: str, explain: Explain) -> None:
    new = pod("new").anti_affinity(term(ZONE, WEB))
    got, text = explain(line, new, pod("web-0").labels(app="web").on("a1"))
    assert (got, said in text) == (code, True), text


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param("kind: Service", "only 1 Service in it", id="nothing to explain"),
        pytest.param("{", "not valid JSON", id="no JSON"),
        pytest.param("a: [", "line 2: did not find", id="no YAML"),
        pytest.param({"kind": "Pod", "metadata": {}}, "metadata.name", id="a pod without a name"),
        pytest.param(
            workload("Job", "j", pod("t").selects(disk=7)),  # type: ignore[arg-type]
            "Job default/j: template.spec.nodeSelector",
            id="a broken template",
        ),
    ],
)
def test_broken_manifests(manifest: Any, said: str, explain: Explain) -> None:
    code, text = explain("", manifest=manifest)
    assert (code, said in text) == (2, True), text


CONFIGURED: dict[str, tuple[dict[str, Any], int, str]] = {
    "added affinity": (
        {
            "plugins": ["InterPodAffinity", "NodeAffinity"],
            "nodeAffinity": {"addedAffinity": {REQUIRED: SSD_NODES}},
        },
        1,
        "3 nodes: 3 node affinity that the scheduler adds",
    ),
    "hard weight": (
        {"interPodAffinity": {"hardPodAffinityWeight": 0}},
        0,
        "BEST NODES   SCORE\na1           0\n",
    ),
    "the defaults": ({}, 0, "a1           20 "),
    "quota": (
        {
            "plugins": ["InterPodAffinity", "CrossNamespacePodAffinity"],
            "crossNamespacePodAffinity": {"limitedByDefault": True},
        },
        1,
        "3 no quota allows affinity across namespaces",
    ),
    "gates": ({"featureGates": {"PodAffinityNamespaceSelector": False}}, 0, "fits on 3 of 3"),
}


@pytest.mark.parametrize("case", CONFIGURED)
def test_arguments_of_plugins_come_from_an_extenders_file(
    case: str, explain: Explain, tmp_path: Path
) -> None:
    config, code, said = CONFIGURED[case]
    head = {"apiVersion": "affinity-extender.io/v1alpha1", "kind": "AffinityExtenderConfiguration"}
    path = tmp_path / "extender.yaml"
    path.write_text(yaml.safe_dump(head | config))
    new = pod("new").labels(app="web")
    if case in {"quota", "gates"}:
        new = new.affinity(term(ZONE, WEB, **ALL))
    near = pod("near").labels(app="db").affinity(term(HOST, WEB, **ALL)).on("a1")
    found = explain(f"new --config {path}", new, near)
    assert (found[0], said in found[1]) == (code, True), found[1]


def test_a_file_with_a_fault_is_named(explain: Explain, tmp_path: Path) -> None:
    path = tmp_path / "extender.yaml"
    path.write_text("kind: Other")
    code, said = explain(f"new --config {path}", pod("new"))
    assert (code, "apiVersion" in said) == (2, True)
