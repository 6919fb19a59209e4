"""The command lint: what it is given, in which form it answers, and what it ends with."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from affinityctl import cli
from affinityctl.commands.lint.rulebook import BY_ID
from tests.builders import HOST, namespace, node, pod, selector, term, workload
from tests.commands.lint.asking import shipped
from tests.deploy.places import MANIFESTS, SCHEDULER_CONFIG

BROKEN = pod("web", "shop").labels(app="web").uid(None).anti_affinity(term(HOST))

TEXT = """\
{file}: Deployment shop/web
  ERROR selector-missing
    spec.template.spec.affinity.podAntiAffinity
      .requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector
      missing: matches no pod, so the term has no effect

selector-missing: A term has no labelSelector.
  why: It matches no pod: required affinity can never be met, any other term
       does nothing.
  fix: Add the labelSelector; labelSelector: {{}} matches every pod.

1 error in 1 object
{unknown}
"""
PATCH = """\
not known, so not judged: 1 object without selector or containers, taken for a
  patch: fields alone"""
UNKNOWN = """\
not known, so not judged: nodes (node selectors, topology keys, domains),
  namespaces, other pods"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a Deployment with a fault into a file, and go where it is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.json").write_text(json.dumps(workload("Deployment", "web", BROKEN)))
    return "web.json"


def test_text_for_people(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", broken]) == 1
    told = capsys.readouterr()
    assert told == (TEXT.format(file=broken, unknown=UNKNOWN), "")
    assert max(map(len, told.out.splitlines())) <= 80


def test_nothing_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", str(SCHEDULER_CONFIG)]) == 0
    assert capsys.readouterr() == ("nothing found in 3 objects\n", "")


def test_keys_without_anything_below_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "web.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, generateName: }\n"
        "spec:\n  template:\n    metadata:\n    spec:\n"
    )
    assert cli.main(["lint", str(tmp_path / "web.yaml")]) == 0
    assert capsys.readouterr() == (f"nothing found in 1 object\n{PATCH}\n", "")


def test_json_for_programs(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", broken, "-o", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    (finding,) = answer["findings"]
    assert finding["rule"] == "selector-missing"
    assert finding["object"] == "Deployment shop/web"
    assert {"what", "why", "fix", "path", "message", "level", "file"} <= finding.keys()
    unknown = answer["summary"].pop("unknown")
    assert [each.partition(" ")[0] for each in unknown] == ["nodes", "namespaces", "other"]
    assert answer["summary"] == {
        "objects": 1,
        "errors": 1,
        "warnings": 0,
        "notes": 0,
        "ignored": 0,
        "notJudged": [],
        "skipped": {},
    }


def test_sarif_for_code_scanning(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", broken, "-o", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    check_sarif(log)
    (result,) = log["runs"][0]["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "web.json"}, "region": {"startLine": 1}}
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].startswith(
        "Deployment shop/web: spec.template.spec.affinity"
    )


STREAM = """\
# A comment, and a document with nothing in it.
---
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: shop}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: web}}
            - topologyKey: failure-domain.beta.kubernetes.io/zone
              labelSelector: {matchLabels: {app: web}}
            - labelSelector:
              topologyKey: rack
      containers: [{name: c, image: i}]
"""


def test_the_line_of_a_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stream.yaml").write_text(STREAM)
    assert cli.main(["lint", str(tmp_path / "stream.yaml"), "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {each["rule"]: each["line"] for each in found} == {
        "selector-missing": 22,
        "topology-key-deprecated": 20,
    }


def check_sarif(log: dict[str, Any]) -> None:
    """Check what SARIF 2.1.0 requires of what we write: section 3 of the OASIS standard."""
    assert log["version"] == "2.1.0"
    assert re.search(r"sarif.*2\.1\.0", log["$schema"])
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", driver["semanticVersion"])
    assert [rule["id"] for rule in driver["rules"]] == list(BY_ID)
    for rule in driver["rules"]:
        assert rule["defaultConfiguration"]["level"] in {"none", "note", "warning", "error"}
        assert all(rule[text]["text"] for text in ("shortDescription", "fullDescription", "help"))
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        assert result["locations"]
        for location in result["locations"]:
            if "physicalLocation" in location:
                region = location["physicalLocation"].get("region", {"startLine": 1})
                assert region["startLine"] >= 1
                uri = location["physicalLocation"]["artifactLocation"]["uri"]
                assert "\\" not in uri


def test_rules_can_be_left_out(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", broken, "--ignore", "selector-missing"]) == 0
    assert capsys.readouterr().out == f"nothing found in 1 object; 1 ignored\n{UNKNOWN}\n"
    assert cli.main(["lint", broken, "--ignore", "selector-mising"]) == 2
    assert "there is no rule 'selector-mising'" in capsys.readouterr().err


def test_notes_alone_are_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "web.json").write_text(
        json.dumps(workload("Deployment", "web", pod("web").labels(app="web"), replicas=3))
    )
    assert cli.main(["lint", str(tmp_path / "web.json")]) == 0
    told = capsys.readouterr().out
    assert "NOTE replicas-not-spread" in told
    assert "\n1 note in 1 object\n" in told


def test_many_findings_of_a_rule_are_cut_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    things = [{**BROKEN, "metadata": {"name": f"web-{number}"}} for number in range(30)]
    file = tmp_path / "many.json"
    file.write_text(json.dumps({"kind": "List", "items": things}))
    assert cli.main(["lint", str(file)]) == 1
    told = capsys.readouterr().out
    assert "and 10 more objects; -o json has all" in told
    assert "30 errors in 30 objects" in told


OF_ONE_OWNER = """\
Deployment shop/web (Pod shop/web-5d-0 and 1 more)
  ERROR selector-missing
    spec.affinity.podAntiAffinity
      .requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector
      missing: matches no pod, so the term has no effect
    spec.affinity.podAntiAffinity
      .requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector
      missing: matches no pod, so the term has no effect

"""


def test_the_pods_of_an_owner_are_one_block_and_each_place_one_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_rule = BROKEN.labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/web-5d")
    of_two = of_rule.anti_affinity(term("rack"))
    things = [
        {**each, "metadata": {**each["metadata"], "name": f"web-5d-{number}"}}
        for number, each in enumerate([of_rule, of_two] * 15)
    ]
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": things}))
    assert cli.main(["lint", "--cluster", str(tmp_path / "dump.json")]) == 1
    told = capsys.readouterr().out
    assert told.removeprefix(f"{tmp_path}/dump.json: ").startswith(OF_ONE_OWNER)


def test_files_against_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = pod("web").labels(app="web").uid(None)
    apart = web.anti_affinity(term("rack", selector(app="web")))
    (tmp_path / "web.yaml").write_text(json.dumps(apart))
    dump = tmp_path / "dump.json.gz"
    cluster = [node("n", {HOST: "n"}), namespace("default"), BROKEN.on("n")]
    dump.write_bytes(gzip.compress(json.dumps({"kind": "List", "items": cluster}).encode()))
    assert cli.main(["lint", str(tmp_path / "web.yaml")]) == 0
    capsys.readouterr()
    assert cli.main(["lint", str(tmp_path / "web.yaml"), "--cluster", str(dump)]) == 1
    told = capsys.readouterr().out
    assert "no node has the label rack" in told
    assert "selector-missing" not in told, "the cluster's own faults are not asked about"
    assert cli.kubectl(["lint", "--cluster", str(dump)]) == 1
    assert "selector-missing" in capsys.readouterr().out


def test_files_that_are_applied_together_know_each_other(tmp_path: Path) -> None:
    apart = term(HOST, selector(app="db"))
    near = term(HOST, selector(app="db"), namespaces=["new"])
    files = [
        workload("Deployment", "web", pod("x").labels(app="web").avoids(1, apart), replicas=2),
        workload("Deployment", "db", pod("x").labels(app="db"), replicas=1),
        workload("Deployment", "api", pod("x").labels(app="api").affinity(near), replicas=1),
        workload("Deployment", "db", pod("x", "new").labels(app="db"), replicas=1),
        namespace("new"),
    ]
    cluster = [*(node(name, {HOST: name}) for name in "abc"), namespace("default"), pod("other")]
    for name, items in (("new.json", files), ("dump.json", cluster)):
        (tmp_path / name).write_text(json.dumps({"kind": "List", "items": items}))
    dump = str(tmp_path / "dump.json")
    assert cli.main(["lint", str(tmp_path / "new.json"), "--cluster", dump]) == 0


def test_a_mode_that_a_flag_of_the_extender_sets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(MANIFESTS / "base" / "config.yaml")
    scheduler = shipped("replace")
    del scheduler["profiles"][1:]  # what they need is refused in mode assist
    replace = tmp_path / "replace.yaml"
    replace.write_text(json.dumps(scheduler))
    assert cli.main(["lint", str(replace), "--config", config]) == 1
    assert "hard-rules-off" in capsys.readouterr().out
    assert cli.main(["lint", str(replace), "--config", config, "--mode", "replace"]) == 0


def test_in_a_folder_what_is_no_manifest_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("values.yaml", "values-more.yaml", "values-most.yaml"):
        (tmp_path / name).write_text("replicas: 3\n")
    (tmp_path / "pod.yaml").write_text(json.dumps(pod("web").uid(None)))
    assert cli.main(["lint", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out == f"nothing found in 1 object\n{UNKNOWN}\n"
    (line,) = told.err.splitlines()
    assert ": passed over: 3 other files; the first: " in line
    assert line.endswith("values-more.yaml: kind: an object needs a kind")


SKIPPED = """\
nothing found in 0 objects
skipped: 1 AllowList, 1 Deployment (example.com/v1), 1 Role
  (iam.aws.crossplane.io/v1beta1)
"""


def test_custom_resources_are_skipped_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crossplane.yaml").write_text(
        "apiVersion: iam.aws.crossplane.io/v1beta1\nkind: Role\nspec: [odd]\n"
        "---\napiVersion: policy.example.com/v1\nkind: AllowList\nmetadata: {name: all}\n"
        "---\napiVersion: example.com/v1\nkind: Deployment\nspec: 5\n"
    )
    assert cli.main(["lint", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == (SKIPPED, "")


@pytest.mark.parametrize(
    ("kinds", "unknown"),
    [
        pytest.param(("Pod",), ["nodes", "namespaces", "workloads"], id="pods alone"),
        pytest.param(("Pod", "Node"), ["namespaces", "workloads"], id="with nodes"),
        pytest.param(("Deployment",), ["nodes", "namespaces"], id="workloads alone"),
    ],
)
def test_what_a_dump_lacks_is_not_judged(
    kinds: tuple[str, ...],
    unknown: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    things = [
        pod("web"),
        node("n", {HOST: "n"}),
        workload("Deployment", "web", pod("web").labels(a="b")),
    ]
    items = [each for each in things if each["kind"] in kinds]
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": items}))
    assert cli.main(["lint", "--cluster", str(tmp_path / "dump.json")]) == 0
    told = " ".join(capsys.readouterr().out.split()).partition("not known, so not judged: ")[2]
    named = [each for each in ("nodes", "namespaces", "other pods", "workloads") if each in told]
    assert named == unknown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(["values.yaml"], 2, "an object needs a kind", id="no manifest"),
        pytest.param(["absent.yaml"], 3, "No such file", id="no file"),
        pytest.param(["none.yaml"], 2, "no object is in the files", id="no object"),
        pytest.param(["ours.yaml"], 2, "mode", id="a broken configuration"),
        pytest.param(["scheduler.yaml"], 2, "extenders", id="a broken scheduler's file"),
        pytest.param(
            ["fine.yaml", "--cluster", "web.yaml"],
            2,
            "web.yaml: object 0 (Node)",
            id="a broken node around files",
        ),
        pytest.param(["nowhere.yaml"], 2, "extenders[0].urlPrefix", id="a broken address"),
        pytest.param(["old.yaml"], 2, "v1beta3' is not", id="a scheduler's file of long ago"),
        pytest.param(["late.yaml"], 2, "httpTimeout: '5' is no", id="a number for a duration"),
        pytest.param(["slip.yaml"], 2, "[0].filterverb: kube-sch", id="a field in other letters"),
        pytest.param(["typo.yaml"], 2, "extender: kube-scheduler knows", id="a misspelt field"),
        pytest.param(
            ["ours.yaml", "--scheduler-version", "new"], 2, "ours.yaml", id="two mistakes"
        ),
        pytest.param(["--config", "absent.yaml", "fine.yaml"], 3, "absent", id="no configuration"),
        pytest.param(["fine.yaml", "--scheduler-version", "new"], 2, "1.37", id="no version"),
        pytest.param(
            ["fine.yaml", "--scheduler-version", "v1.37"], 2, "1.37", id="more than a version"
        ),
        pytest.param(["--cluster", "service.yaml"], 2, "no node, pod or workload", id="no cluster"),
        pytest.param(
            ["fine.yaml", "--cluster", "namespace.yaml"],
            2,
            "no node, pod or workload",
            id="no cluster around files",
        ),
    ],
)
def test_what_cannot_be_looked_at(
    *,
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    kind = {"apiVersion": "affinity-extender.io/v1", "kind": "AffinityExtenderConfiguration"}
    group = "kubescheduler.config.k8s.io"
    scheduler = {"apiVersion": f"{group}/v1", "kind": "KubeSchedulerConfiguration"}
    texts = {
        "values.yaml": {"replicas": 3},
        "none.yaml": {"apiVersion": "v1", "kind": "List", "items": []},
        "service.yaml": {"apiVersion": "v1", "kind": "Service"},
        "ours.yaml": {**kind, "mode": "both"},
        "scheduler.yaml": {**scheduler, "extenders": {}},
        "nowhere.yaml": {**scheduler, "extenders": [{"urlPrefix": "http://[::1"}]},
        "old.yaml": {**scheduler, "apiVersion": f"{group}/v1beta3"},
        "late.yaml": {**scheduler, "extenders": [{"httpTimeout": "5"}]},
        "slip.yaml": {**scheduler, "extenders": [{"filterverb": "filter"}]},
        "typo.yaml": {**scheduler, "extender": []},
        "web.yaml": {"kind": "Node", "metadata": {"name": 5}},
        "fine.yaml": pod("web"),
        "namespace.yaml": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    }
    for name, content in texts.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert cli.main(["lint", *arguments]) == code
    assert said in capsys.readouterr().err
