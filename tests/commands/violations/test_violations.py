"""The command violations: what it finds in a file, and how it says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from affinityctl.cli import main
from extender.core.config import API_VERSION, KIND
from extender.core.config.features import about_places
from tests.annotating import annotated
from tests.beside import AFFINITY_ANNOTATION
from tests.builders import (
    HOST,
    Pod,
    budget,
    namespace,
    node,
    node_term,
    pod,
    requirement,
    selector,
    term,
)

pytestmark = pytest.mark.skipif(
    about_places() is None, reason="no feature knows of the places of running pods"
)

ROOM = {"pods": "10"}
SSD = {"disk": "ssd"}
ON_SSD = pod("disk").requires_nodes(node_term(requirement("disk", "In", "ssd")))
SOLO = pod("solo").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
OWNED = ON_SSD.labels(app="disk").owned_by("ReplicaSet/disk")
NODES = [node("a", {HOST: "a"}, ROOM), node("b", {HOST: "b"} | SSD, ROOM)]


def dumped(folder: Path, *objects: Any) -> str:
    """Write what kubectl would have printed."""
    path = folder / "dump.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    return str(path)


def counting(folder: Path, chosen: Any) -> tuple[str, str]:
    """Write a configuration where annotations count; return the flags for it."""
    path = folder / "extender.json"
    head = {"apiVersion": API_VERSION, "kind": KIND}
    path.write_text(json.dumps(head | {"annotations": {"namespaceSelector": chosen}}))
    return "--config", str(path)


def found(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and its answer."""
    code = main(["violations", "-o", "json", *flags])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, answer


def named(raw: Pod, name: str) -> Pod:
    return Pod({**raw, "metadata": {**raw["metadata"], "name": name, "uid": name}})


def test_what_node_affinity_asks_for_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["violations", "--cluster", dumped(tmp_path, *NODES, OWNED.on("a"))]) == 1
    said = capsys.readouterr().out
    assert "required node affinity (disk in (ssd)) is not met by the labels of node a" in said


def test_a_namespace_without_pods_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dumped(tmp_path, *NODES, OWNED.on("a"))
    assert main(["violations", "-n", "defualt", "-n", "default", "--cluster", dump]) == 1
    said = "affinity-extender: note: no pod is in namespace defualt; did you mean default?\n"
    assert capsys.readouterr().err == said


def test_a_pod_that_breaks_its_node_affinity_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = found(capsys, "--cluster", dumped(tmp_path, *NODES, OWNED.on("a")))
    (one,) = answer["pods"]
    assert (code, one["pod"], one["outcome"]) == (1, "default/disk", "notEnforced")
    assert one["rules"] == [{"kind": "nodeAffinity", "source": "spec"}]
    assert one["since"] is None


@pytest.mark.parametrize(
    ("objects", "outcome"),
    [
        ([*NODES, OWNED.on("a")], "goes"),
        ([*NODES, ON_SSD.on("a")], "noController"),
        ([NODES[0], OWNED.on("a")], "noOtherNode"),
        ([*NODES, OWNED.on("a"), budget("none", selector(app="disk"), 0)], "budget"),
        ([*NODES, OWNED.being_deleted().on("a")], "deleting"),
    ],
    ids=["one that can move", "a bare pod", "nowhere to go", "a budget", "one that goes anyway"],
)
def test_it_is_said_what_would_become_of_a_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], objects: list[Any], outcome: str
) -> None:
    dump = dumped(tmp_path, namespace("default"), *objects)
    code, answer = found(capsys, "--cluster", dump, "--plain-rules", "")
    assert (code, [each["outcome"] for each in answer["pods"]]) == (1, [outcome])


def test_who_is_in_the_way_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = dumped(tmp_path, *NODES, named(SOLO, "one").on("a"), named(SOLO, "two").on("a"))
    _, answer = found(capsys, "--cluster", dump)
    assert [(each["pod"], each["inTheWay"]) for each in answer["pods"]] == [
        ("default/one", ["default/two"]),
        ("default/two", ["default/one"]),
    ]
    assert answer["pods"][0]["rules"][0]["domain"] == {"key": HOST, "value": "a"}


def test_rules_hold_in_the_chosen_namespaces_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dumped(tmp_path, *NODES, namespace("default", {"team": "red"}), OWNED.on("a"))
    outcomes = {}
    for chosen in ("team=red", "team", "team=blue", "!team"):
        _, answer = found(capsys, "--cluster", dump, "--plain-rules", chosen)
        outcomes[chosen] = answer["pods"][0]["outcome"]
    assert outcomes == {
        "team=red": "goes",
        "team": "goes",
        "team=blue": "notEnforced",
        "!team": "notEnforced",
    }


def test_a_lawful_cluster_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = dumped(tmp_path, *NODES, OWNED.on("b"), SOLO.on("a"))
    assert main(["violations", "--cluster", dump]) == 0
    assert capsys.readouterr().out == "no placed pod breaks a required rule\n"


def test_the_table_names_pod_node_and_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dumped(tmp_path, *NODES, OWNED.on("a"))
    assert main(["violations", "--cluster", dump, "--plain-rules", ""]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.split() == ["POD", "NODE", "OUTCOME", "BROKEN"]
    assert second.split()[:3] == ["default/disk", "a", "goes"]


def test_the_table_has_a_row_for_a_rule_of_a_workload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web = SOLO.owned_by("ReplicaSet/web-5d").labels(**{"pod-template-hash": "5d"})
    pods = [named(web, f"web-5d-{i}").on("ab"[i % 2]) for i in range(6)]
    pods += [named(SOLO, "bare").on("a")]
    assert main(["violations", "--cluster", dumped(tmp_path, *NODES, *pods)]) == 1
    _, first, second, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("default/bare ")
    assert second.startswith("default/web-5d-0 and 5 more of deployment default/web   a      not")
    assert rest == ["", "PODS   OUTCOME       MEANS", f"7      {rest[2].split(maxsplit=1)[1]}"]


BROKEN: dict[str, Any] = {"podAntiAffinity": {"requiredDuringExecution\x1b[31m\n": []}}
FIELD = f"metadata.annotations[{AFFINITY_ANNOTATION}].podAntiAffinity"


def test_pods_whose_annotation_cannot_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dumped(tmp_path, *NODES, annotated(OWNED.on("b"), BROKEN))
    config = counting(tmp_path, {})
    assert main(["violations", "--cluster", dump, *config]) == 1
    said = capsys.readouterr().out
    assert "no placed pod breaks a required rule that can be read" in said
    (line,) = (each for each in said.splitlines() if "default/disk" in each)
    assert line.split()[:3] == ["default/disk", "b", f"{FIELD}:"]
    assert "unknown field" in line
    assert r"\x1b[31m" in line
    code, answer = found(capsys, "--cluster", dump, *config)
    (one,) = answer["brokenAnnotations"]
    assert (code, answer["pods"]) == (1, [])
    assert (one["pod"], one["node"], one["field"]) == ("default/disk", "b", FIELD)
    assert "unknown field" in one["fault"]


def test_pods_that_break_rules_are_shown_beside_those_whose_annotation_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = annotated(named(ON_SSD, "broken").on("a"), BROKEN)
    dump = dumped(tmp_path, *NODES, OWNED.on("a"), broken)
    code, answer = found(capsys, "--cluster", dump, *counting(tmp_path, {}))
    # Ordinary rules of its spec are judged all the same.
    assert (code, [each["pod"] for each in answer["pods"]]) == (
        1,
        ["default/broken", "default/disk"],
    )
    assert [each["pod"] for each in answer["brokenAnnotations"]] == ["default/broken"]


@pytest.mark.parametrize(
    ("raw", "flags"),
    [
        pytest.param(OWNED, (), id="one that waits: nobody places it"),
        pytest.param(OWNED.on("b").phase("Failed"), (), id="one that has ended"),
        pytest.param(OWNED.on("b"), ("-n", "other"), id="one of another namespace"),
    ],
)
def test_nothing_is_said_of_a_broken_annotation_of(
    raw: Pod, flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dumped(tmp_path, *NODES, annotated(raw, BROKEN))
    config = counting(tmp_path, {})
    code, answer = found(capsys, "--cluster", dump, *config, *flags)
    assert (code, answer["brokenAnnotations"]) == (0, [])


def test_other_namespaces_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = dumped(tmp_path, *NODES, OWNED.on("a"))
    code, answer = found(capsys, "--cluster", dump, "-n", "other")
    assert (code, answer) == (0, {"pods": [], "count": 0, "brokenAnnotations": []})
    assert found(capsys, "--cluster", dump, "-n", "default")[0] == 1


@pytest.mark.parametrize("wrong", ["!a=b", "!", "=b"])
def test_a_selector_that_cannot_be_read_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str
) -> None:
    dump = dumped(tmp_path, *NODES)
    assert main(["violations", "--cluster", dump, f"--plain-rules={wrong}"]) == 2
    assert "--plain-rules" in capsys.readouterr().err


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    assert main(["violations", "--cluster", str(tmp_path / "none.json")]) == 3


def test_rules_in_annotations_count_where_the_configuration_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = {"nodeSelectorTerms": [node_term(requirement("disk", "In", "ssd"))]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingRequiredDuringExecution": asks}}
    spaces = [namespace(name, {"team": name}) for name in ("shop", "office")]
    pods = [
        Pod(annotated(pod("disk", name).owned_by("ReplicaSet/disk"), rules)).on("a")
        for name in ("shop", "office")
    ]
    dump = dumped(tmp_path, *NODES, *spaces, *pods)
    assert main(["violations", "-o", "json", "--cluster", dump]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["pods"] == []
    assert "note: rules in annotations of 2 pods are ignored" in said.err
    config = counting(tmp_path, {"matchLabels": {"team": "shop"}})
    code, answer = found(capsys, "--cluster", dump, *config)
    assert (code, [(each["pod"], each["outcome"]) for each in answer["pods"]]) == (
        1,
        [("shop/disk", "goes")],
    )
