"""What lint says of profiles that are left to the scheduler, and of pods in groups."""

from __future__ import annotations

from typing import Any

import pytest

from affinityctl.commands.lint.finding import Report
from tests.builders import Json, Pod, namespace, pod, workload
from tests.commands.lint.asking import found, linted, ours, shipped
from tests.features.groups.example import VALUES

OFF = {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}}
FILTER_OFF = {"preFilter": OFF["multiPoint"], "filter": OFF["multiPoint"]}


def member(scheduler: str | None = None) -> Pod:
    made = pod("a").in_group("g").uid(None)
    if scheduler is not None:
        made["spec"]["schedulerName"] = scheduler
    return made


def file_of(*profiles: Json) -> Json:
    return shipped("replace") | {"profiles": [*profiles]}


def profile(name: str, plugins: Json | None = None) -> Json:
    return {"schedulerName": name, "plugins": plugins or {}}


DEFAULT, GROUPS = profile("default-scheduler", OFF), profile("groups")


@pytest.mark.parametrize(
    ("profiles", "fields", "expected"),
    [
        pytest.param([DEFAULT, GROUPS], VALUES, [], id="both name it"),
        pytest.param([GROUPS, DEFAULT], {"profiles": []}, ["profile-not-named"], id="only there"),
        pytest.param([DEFAULT], VALUES, ["profile-missing"], id="only here"),
        pytest.param(
            [DEFAULT, profile("other")],
            VALUES,
            ["profile-missing", "profile-not-named"],
            id="another name",
        ),
        pytest.param(
            [DEFAULT, profile("groups", OFF)],
            VALUES,
            ["hard-rules-off", "soft-rules-off"],
            id="nothing enforces rules",
        ),
        pytest.param(
            [DEFAULT, profile("batch", OFF)], {"profiles": []}, [], id="both are the extender's"
        ),
        pytest.param(
            [profile("default-scheduler")],
            {"profiles": []},
            ["hard-rules-twice", "soft-rules-twice"],
            id="on in the only one",
        ),
        pytest.param(
            [DEFAULT, profile("batch", FILTER_OFF)],
            {"profiles": []},
            ["soft-rules-twice"],
            id="on in part is not meant so",
        ),
    ],
)
def test_a_profile(profiles: list[Json], fields: Json, expected: list[str]) -> None:
    assert found(linted(file_of(*profiles), ours("replace", **fields))) == expected


def test_what_only_the_scheduler_goes_by_is_its_own_in_a_profile_that_is_left_to_it() -> None:
    weighted = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}
    sampled = {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 100}}
    default = {**DEFAULT, "pluginConfig": [sampled]}
    file = file_of(default, {**GROUPS, "pluginConfig": [weighted]})
    config = ours("replace", schedulerVersion="1.38")
    assert found(linted(file, config)) == []
    file = file_of({**default, "pluginConfig": [weighted]}, GROUPS)
    assert found(linted(file, config)) == ["arguments-differ", "candidates-sampled"]


def messages(report: Report) -> list[str]:
    return [f"{each.path}: {each.message}" for each in report.findings]


def test_it_says_what_to_write() -> None:
    report = linted(file_of(DEFAULT, profile("gangs")), ours("replace", profiles=[]))
    (said,) = messages(report)
    assert said == (
        "profiles[1].schedulerName: InterPodAffinity is on, and off in another profile: write "
        "profiles: [{schedulerName: gangs, mode: bind}]"
    )


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        pytest.param(
            member(),
            "spec.schedulerName: default-scheduler, for pods of group g: take groups",
            id="a pod that names none",
        ),
        pytest.param(
            workload("Job", "it", member("affinity-scheduler")),
            "spec.template.spec.schedulerName: affinity-scheduler, for pods of group g: "
            "take groups",
            id="the second scheduler",
        ),
        pytest.param(member("groups"), None, id="as it is to be"),
        pytest.param(member("x"), None, id="a scheduler without us"),
        pytest.param(pod("a").uid(None), None, id="a pod of no group"),
    ],
)
def test_a_pod(thing: Json, expected: str | None) -> None:
    assert messages(linted(thing, ours("replace"), whole=False)) == ([expected] if expected else [])


def test_without_a_profile_it_says_so() -> None:
    report = linted(member(), ours("replace", profiles=[]), whole=False)
    (said,) = messages(report)
    assert said.endswith("for pods of group g: no profile is for pod groups")


def test_profiles_of_other_schedulers_are_known_by_their_files() -> None:
    thing = member("batch")
    file = file_of(profile("batch", OFF), GROUPS)
    assert found(linted(thing, file, ours("replace"), whole=False)) == ["group-in-other-profile"]


@pytest.mark.parametrize("mode", ["assist", "shadow"])
def test_in_other_modes_the_scheduler_keeps_the_rules_of_groups(mode: str) -> None:
    assert found(linted(member(), ours(mode), whole=False)) == []


POLICY: Json = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingAdmissionPolicy",
    "metadata": {"name": "x-affinity-extender-groups"},
}


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param([POLICY], [], id="namespaces are not known"),
        pytest.param(
            [POLICY, namespace("default", {"affinity-extender.io/groups": "x"})], [], id="opted in"
        ),
        pytest.param([POLICY, namespace("default")], ["group-in-other-profile"], id="not opted in"),
        pytest.param([namespace("default")], ["group-in-other-profile"], id="no policy"),
    ],
)
def test_where_the_policy_chooses_the_profile(things: list[Any], expected: list[str]) -> None:
    job = workload("Job", "it", member())
    assert found(linted(job, *things, ours("replace"))) == expected
    stored = pod("a").in_group("g").stored_at("7")
    assert found(linted(stored, *things, ours("replace"))) == ["group-in-other-profile"]
