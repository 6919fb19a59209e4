"""A patch that lint proposes puts right what it is for, and breaks nothing else."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from affinityctl.commands.lint.linting import lint
from affinityctl.commands.lint.patching import merged, script
from affinityctl.commands.lint.rulebook import BY_ID
from affinityctl.commands.lint.template import Surroundings
from tests.builders import HOST, ZONE, Json, Pod, node, pod, selector, term
from tests.commands.lint.asking import found, linted, objects_of
from tests.commands.lint.test_planted_workloads import (
    CLUSTER,
    DATABASE,
    FAULTS,
    WEB,
    budget,
    of,
    surge,
    web,
    with_claim,
)
from tests.deploy.places import EXAMPLES, ROOT

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
BY_OLD_ZONE = term(OLD_ZONE, selector(app="db"))
APART = web().anti_affinity(term(ZONE, WEB))


def patched(thing: Json, patch: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Apply a JSON patch, as RFC 6902 has it, of additions and removals."""
    changed = copy.deepcopy(dict(thing))
    for each in patch:
        *parents, last = each["path"].removeprefix("/").split("/")
        at: Any = changed
        for step in parents:
            at = at[int(step) if isinstance(at, list) else step]
        if each["op"] == "remove":
            del at[int(last) if isinstance(at, list) else last]
        elif isinstance(at, list):
            assert last == "-"
            at.append(each["value"])
        else:
            at[last] = each["value"]
    return changed


def with_constraint(made: Pod, label_selector: Json) -> Pod:
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": label_selector,
    }
    made["spec"]["topologySpreadConstraints"] = [constraint]
    return made


CURED = [
    pytest.param(
        of("Deployment", APART, replicas=3),
        ["rollout-stuck"],
        id="an old pod first, and label keys",
    ),
    pytest.param(
        of("Deployment", web().host_port(80), replicas=6, strategy=surge(2, 0)),
        ["rollout-stuck"],
        id="old pods give their host ports back first",
    ),
    pytest.param(
        of("Deployment", APART, replicas=5),
        ["more-replicas-than-domains"],
        id="spread instead of anti-affinity",
    ),
    pytest.param(
        of("StatefulSet", with_constraint(web().anti_affinity(term(ZONE, WEB)), WEB), replicas=4),
        ["more-replicas-than-domains"],
        id="beside a constraint that is there",
    ),
    pytest.param(
        of("Deployment", web().anti_affinity(term(ZONE, WEB), term(HOST, WEB)), replicas=7),
        ["more-replicas-than-domains", "term-implied"],
        id="two terms of one list",
    ),
    pytest.param(
        of("Deployment", web(), replicas=2, selector=WEB), ["replicas-not-spread"], id="spread"
    ),
    pytest.param(
        of("ReplicationController", web(), replicas=2, selector={"app": "web"}),
        ["replicas-not-spread"],
        id="spread, by a selector of long ago",
    ),
    pytest.param(
        of("StatefulSet", with_constraint(web(), selector(app="wbe")), replicas=2),
        ["selector-misses-own-pods"],
        id="a constraint about other pods",
    ),
    pytest.param(
        of("Deployment", web().avoids(2, term(HOST, selector(app="wbe"))), replicas=2),
        ["selector-misses-own-pods"],
        id="preferred anti-affinity to nobody",
    ),
    pytest.param(
        of("DaemonSet", web().host_port(80), updateStrategy=surge(1, 0)),
        ["daemonset-excludes-itself"],
        id="daemons with host ports",
    ),
    pytest.param(
        of("Deployment", with_claim("once")), ["claim-for-one-node"], id="a disk of one node"
    ),
    pytest.param(
        of("DaemonSet", APART), ["daemonset-excludes-itself"], id="daemons that keep apart"
    ),
    pytest.param(
        of("CronJob", web().avoids(1, BY_OLD_ZONE)),
        ["topology-key-deprecated", "topology-key-unknown"],
        id="an old key",
    ),
    pytest.param(
        of("DaemonSet", web().avoids(1, *[term(HOST, selector(app="db"))] * 3)),
        ["term-repeated"],
        id="a term that is there three times",
    ),
    pytest.param(
        of(
            "DaemonSet",
            web()
            .anti_affinity(term(HOST, selector(app="db")))
            .avoids(9, term(HOST, selector(app="db"))),
        ),
        ["preferred-already-required"],
        id="a preference for what is required",
    ),
]


def test_a_budget_is_cured() -> None:
    there, strict = of("StatefulSet", APART, replicas=2), budget(minAvailable=2)
    before = linted(*CLUSTER, there, strict)
    assert found(before) == ["budget-allows-none"]
    cured = patched(strict, merged(before.findings))
    assert cured["spec"] == {"selector": WEB, "maxUnavailable": 1}
    assert found(linted(*CLUSTER, there, cured)) == []


@pytest.mark.parametrize(("thing", "faults"), CURED)
def test_a_patch_cures(thing: Json, faults: list[str]) -> None:
    before = linted(*CLUSTER, DATABASE, thing)
    assert found(before) == faults
    assert found(linted(*CLUSTER, DATABASE, patched(thing, merged(before.findings)))) == []


def test_every_rule_with_a_patch_is_tried() -> None:
    with_patch = {
        each.rule.id
        for _, thing in FAULTS
        for each in linted(*CLUSTER, node("old", {OLD_ZONE: "z"}), DATABASE, thing).findings
        if each.patch
    }
    tried = {rule for each in CURED for rule in each.values[1]}  # type: ignore[union-attr]
    assert with_patch <= tried


def test_the_notes_about_the_examples_of_the_docs_are_cured() -> None:
    things = [
        each
        for file in sorted(EXAMPLES.rglob("*.yaml"))
        for each in yaml.safe_load_all(file.read_text())
        if each and each["kind"] == "Deployment"
    ]
    cured = 0
    for thing in things:
        (report,) = [lint(objects_of([thing]), (), Surroundings())]
        if "replicas-not-spread" in found(report):
            again = lint(objects_of([patched(thing, merged(report.findings))]), (), Surroundings())
            assert found(again) == []
            cured += 1
    assert cured > 1


def test_the_command_of_the_docs() -> None:
    documented = (ROOT / "docs" / "lint.md").read_text()
    made = of("Deployment", pod("of-template", "shop").labels(app="web"), replicas=3)
    made["metadata"]["name"] = "web"
    made["spec"]["template"]["spec"] = APART["spec"]
    assert f"\n    {script(linted(*CLUSTER, made)).splitlines()[-1]}\n" in documented


def test_an_update_that_is_stuck_goes_on_with_its_patch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = ROOT / "tests" / "puzzles" / "an-update-waits-for-its-own-old-pods.json"
    things = json.loads(recorded.read_text())["items"]
    (deployment,) = [each for each in things if each["kind"] == "Deployment"]
    patch = merged(linted(*things).findings)
    dump, written = tmp_path / "dump.json", tmp_path / "patched.json"
    dump.write_text(json.dumps({"kind": "List", "items": things}))
    stuck = {}
    for operations in (patch, [each for each in patch if each["path"] != "/spec/strategy"]):
        written.write_text(json.dumps(patched(deployment, operations)))
        code = cli.main(["simulate", "--roll", str(written), "--cluster", str(dump)])
        stuck[len(operations)] = (code, "stuck" in capsys.readouterr().out)
    assert stuck == {2: (0, False), 1: (1, True)}


def test_a_command_says_that_old_pods_keep_their_rule() -> None:
    made = of("StatefulSet", web().anti_affinity(term(ZONE, WEB)), replicas=4)
    *told, command = script(linted(*CLUSTER, made)).splitlines()
    assert command.startswith("kubectl patch statefulset it ")
    assert "keep the anti-affinity" in " ".join(line.removeprefix("# ") for line in told)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    things = [
        of("Deployment", pod("web", "shop").labels(app="web"), replicas=2),
        web("alone").anti_affinity(term(HOST)),
    ]
    (tmp_path / "two.json").write_text(json.dumps({"kind": "List", "items": things}))
    assert cli.main(["lint", str(tmp_path / "two.json"), "--fix"]) == 1
    first, *fix, command, last = capsys.readouterr().out.splitlines()
    assert first == "# Deployment shop/it: replicas-not-spread"
    told = " ".join(line.removeprefix("# ") for line in fix)
    assert told == f"replicas-not-spread: {BY_ID['replicas-not-spread'].fix}"
    assert last == "# Pod default/alone: no patch for selector-missing"
    *words, patch = shlex.split(command)
    assert words == [
        *("kubectl", "patch", "deployment", "it", "--namespace", "shop", "--type", "json"),
        "--patch",
    ]
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    path = "/spec/template/spec/topologySpreadConstraints"
    assert json.loads(patch) == [
        {"op": "add", "path": path, "value": []},
        {"op": "add", "path": f"{path}/-", "value": constraint},
    ]
