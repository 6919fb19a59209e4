"""What explain says of pods in groups, and of pods in profiles that are left to the scheduler."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from affinityctl import cli
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.model.verdict import Verdict
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import FilterPlugin
from extender.core.verbs.rules import Rule
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Explanation, Question
from extender.diagnosis.verbs.filters import filters
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.verbs.waiting import cause_of
from tests import builders
from tests.builders import HOST, model_pod, node, pod, selector, state_of, term
from tests.commands.lint.asking import ours, shipped
from tests.features.groups.example import VALUES


def member(name: str, scheduler: str = "default-scheduler") -> builders.Pod:
    made = pod(name).in_group("g")
    made["spec"]["schedulerName"] = scheduler
    return made


@dataclass(frozen=True, slots=True)
class Elsewhere(FilterPlugin):
    """Says that a pod of a group cannot be judged, but for one profile."""

    name: ClassVar[str] = "Elsewhere"

    def rules(self, state: ClusterState, pod: Pod) -> tuple[Rule, ...]:
        del state, pod
        return ()

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        del state
        return None if pod.spec.requirements.scheduler == "groups" else "it is in a group"


def told(asked: builders.Pod, *left: str) -> tuple[Explanation, dict[str, str]]:
    state = state_of([node("a", {HOST: "a"})], [], [asked])
    plugins = filters(NodeSelectionPlugin(), InterPodAffinity(), (Elsewhere(),))
    found = explanation_of(state, Question(model_pod(asked), ["a"], plugins, left=left))
    return found, {each.kind: each.text for each in notes(state, found)}


@pytest.mark.parametrize(("left", "which"), [(["groups"], "groups"), (["b", "a"], "a, b")])
def test_a_pod_of_a_group_in_another_profile_waits_and_is_told_which_to_take(
    left: list[str], which: str
) -> None:
    found, said = told(member("new"), *left)
    assert found.indeterminate is not None
    assert said["groupInOtherProfile"] == (
        f"it waits until all pods of its group are created again with the schedulerName {which}: "
        "that of a pod cannot be changed"
    )


def test_where_no_profile_is_for_groups_the_reason_says_what_to_do() -> None:
    assert told(member("new"))[1].keys() == {"unclear"}


def test_in_a_profile_that_is_left_to_it_the_scheduler_decides() -> None:
    found, said = told(member("new", "groups"), "groups")
    assert found.indeterminate is None
    assert said["leftToScheduler"].startswith("its profile groups leaves it to the scheduler")
    assert not {"unclear", "otherScheduler", "groupInOtherProfile"} & said.keys()
    assert found.verdict is Verdict.UNKNOWN
    assert cause_of(found) == "whether its whole pod group fits is not looked at"


def test_a_profile_that_is_not_known_is_another_scheduler_s() -> None:
    _, said = told(member("new", "groups"))
    assert "otherScheduler" in said
    assert "leftToScheduler" not in said


def test_a_placed_pod_waits_for_nothing() -> None:
    _, said = told(member("new", "groups").on("a"), "groups")
    assert not {"leftToScheduler", "groupInOtherProfile"} & said.keys()


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        ("groups", ["its profile groups leaves it to the scheduler"]),
        (
            "default-scheduler",
            [
                "the extender cannot judge it: it is in pod group default/g",
                "created again with the schedulerName groups",
            ],
        ),
    ],
)
def test_the_command_knows_profiles_from_the_configuration(
    scheduler: str, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, dump = tmp_path / "extender.yaml", tmp_path / "dump.json"
    config.write_text(json.dumps(ours("replace")))
    objects = [node("a", {HOST: "a"}), member("new", scheduler)]
    dump.write_text(json.dumps({"kind": "List", "items": objects}))
    assert cli.main(["explain", "new", "--cluster", str(dump), "--config", str(config)]) == 4
    text = " ".join(capsys.readouterr().out.split())
    assert all(each in text for each in said), text


@pytest.mark.parametrize(("profiles", "is_another"), [(VALUES, False), ({"profiles": []}, True)])
def test_a_profile_that_is_left_to_the_scheduler_is_no_other_scheduler_to_a_simulation(
    profiles: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    is_another: bool,
) -> None:
    config, dump = tmp_path / "extender.yaml", tmp_path / "dump.json"
    config.write_text(json.dumps(ours("replace", **profiles)))
    objects = [node("a", {HOST: "a"}), member("new", "groups")]
    dump.write_text(json.dumps({"kind": "List", "items": objects}))
    cli.main(["simulate", "--cluster", str(dump), "--config", str(config)])
    assert ("another scheduler places" in " ".join(capsys.readouterr().out.split())) is is_another


@pytest.mark.parametrize(("profiles", "code"), [(VALUES, 0), ({"profiles": []}, 1)])
def test_rules_that_are_off_in_a_profile_that_is_left_to_the_scheduler_are_off(
    profiles: dict[str, Any], code: int, tmp_path: Path
) -> None:
    alone = pod("new").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
    alone["spec"]["schedulerName"] = "groups"
    objects = [node("a", {HOST: "a"}), pod("web").labels(app="web").on("a"), alone]
    scheduler = shipped("replace")
    scheduler["profiles"][1]["plugins"] = scheduler["profiles"][0]["plugins"]
    files = {
        "--cluster": {"kind": "List", "items": objects},
        "--config": ours("replace", **profiles),
        "--scheduler-config": scheduler,
    }
    arguments = []
    for flag, document in files.items():
        file = tmp_path / f"{flag.strip('-')}.json"
        file.write_text(json.dumps(document))
        arguments += [flag, str(file)]
    assert cli.main(["explain", "new", *arguments]) == code


@pytest.mark.parametrize(("mode", "code"), [("replace", 0), (None, 4)])
@pytest.mark.parametrize("command", ["explain new", "simulate"])
def test_a_profile_of_the_configuration_is_a_scheduler(
    command: str, mode: str | None, code: int, tmp_path: Path
) -> None:
    waits = pod("new")
    waits["spec"]["schedulerName"] = "groups"
    config, dump = tmp_path / "extender.yaml", tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": [node("a", {HOST: "a"}), waits]}))
    line = [*command.split(), "--cluster", str(dump)]
    if mode is not None:
        config.write_text(json.dumps(ours(mode) | VALUES))
        line += ["--config", str(config)]
    assert cli.main(line) == code
