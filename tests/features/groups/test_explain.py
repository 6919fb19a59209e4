"""What explain says of pods in groups, and of pods in profiles that are left to the scheduler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from affinityctl import cli
from extender.core.model.verdict import Verdict
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Explanation, Question
from extender.diagnosis.verbs.filters import filters
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.verbs.waiting import cause_of
from tests.builders import HOST, Pod, model_pod, node, pod, selector, state_of, term
from tests.commands.lint.asking import ours

WEB = selector(app="web")
OTHERS = [f"m{n}" for n in range(2)]


def member(name: str, scheduler: str = "default-scheduler") -> Pod:
    made = pod(name).labels(app="web").anti_affinity(term(HOST, WEB)).in_group("g")
    made["spec"]["schedulerName"] = scheduler
    return made


def told(asked: Pod, left: tuple[str, ...]) -> tuple[Explanation, dict[str, str]]:
    """Explain a pod beside two of its group that wait."""
    state = state_of([node("a", {HOST: "a"})], [], [asked, *map(member, OTHERS)])
    plugins = filters(NodeSelectionPlugin(), InterPodAffinity())
    found = explanation_of(state, Question(model_pod(asked), ["a"], plugins, left=left))
    return found, {each.kind: each.text for each in notes(state, found)}


@pytest.mark.parametrize(
    ("left", "which"),
    [
        (("groups",), "groups"),
        (("b", "a"), "a, b"),
        ((), "of a profile that is left to the scheduler"),
    ],
)
def test_a_pod_of_a_group_in_another_profile_waits_and_is_told_which_to_take(
    left: tuple[str, ...], which: str
) -> None:
    found, said = told(member("new"), left)
    assert found.indeterminate is not None
    assert said["groupInOtherProfile"] == (
        f"it waits until all pods of its group have the schedulerName {which}; as that of a pod "
        "cannot be changed, create them again"
    )


def test_in_a_profile_that_is_left_to_it_the_scheduler_decides() -> None:
    found, said = told(member("new", "groups"), ("groups",))
    assert found.indeterminate is None
    assert said["leftToScheduler"].startswith("its profile groups leaves it to the scheduler")
    assert not {"unclear", "otherScheduler", "groupInOtherProfile"} & said.keys()
    assert found.verdict is Verdict.UNKNOWN
    assert cause_of(found) == "whether its whole pod group fits is not looked at"


def test_a_profile_that_is_not_known_is_another_scheduler_s() -> None:
    _, said = told(member("new", "groups"), ())
    assert "otherScheduler" in said
    assert "leftToScheduler" not in said


def test_a_placed_pod_waits_for_nothing() -> None:
    _, said = told(member("new", "groups").on("a"), ("groups",))
    assert not {"leftToScheduler", "groupInOtherProfile"} & said.keys()


def test_the_command_knows_profiles_from_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, dump = tmp_path / "extender.yaml", tmp_path / "dump.json"
    config.write_text(json.dumps(ours("replace")))
    objects = [node("a", {HOST: "a"}), member("new", "groups")]
    dump.write_text(json.dumps({"kind": "List", "items": objects}))
    assert cli.main(["explain", "new", "--cluster", str(dump), "--config", str(config)]) == 4
    assert "its profile groups leaves it to the scheduler" in " ".join(
        capsys.readouterr().out.split()
    )
