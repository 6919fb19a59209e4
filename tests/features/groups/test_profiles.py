"""Which of its verbs a pod meets by its schedulerName: those of the mode, or those of `bind`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from extender.core.config import Config
from extender.core.web.app import Callback
from extender.core.wire.extender_args import read_scheduler
from extender.features.groups.judging import plugin
from tests.annotating import moved
from tests.beside import needs_rules
from tests.builders import ZONE, Pod, model_pod, node, pod, selector, state_of, term
from tests.config.test_decoding import load_fields
from tests.wired import wired

GROUPS = [{"schedulerName": "groups", "mode": "bind"}]
NODES = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"})]
DB = selector(app="db")
OLD = pod("old").labels(app="db").on("a")
APART = pod("apart").anti_affinity(term(ZONE, DB))


def scheduled_by(raw: Pod, name: str) -> Pod:
    raw["spec"]["schedulerName"] = name
    return raw


def loaded(**fields: Any) -> Config:
    return load_fields(fields)


def callbacks(*pods: Pod, profiles: Any = GROUPS, **settings: Any) -> Mapping[str, Callback]:
    config = loaded(**{"mode": "replace", "profiles": profiles, **settings})
    return wired(config, state_of(NODES, [], [OLD, *pods]))


async def ask(verbs: Mapping[str, Callback], verb: str, body: Any) -> Any:
    return json.loads(await verbs[verb].answer(json.dumps(body).encode()))


async def filtered(verbs: Mapping[str, Callback], raw: Pod) -> Any:
    return await ask(verbs, "filter", {"Pod": raw, "NodeNames": ["a", "b"]})


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        pytest.param("groups", ["a", "b"], id="bind: the scheduler refuses by its own plugin"),
        pytest.param("default-scheduler", ["b"], id="any other profile: as the mode says"),
        pytest.param("", ["b"], id="no name"),
    ],
)
async def test_a_rule_in_a_spec_refuses_by_profile(name: str, fit: list[str]) -> None:
    answer = await filtered(callbacks(), scheduled_by(pod("x").anti_affinity(term(ZONE, DB)), name))
    assert (answer["NodeNames"], answer["Error"]) == (fit, "")


@pytest.mark.parametrize(("name", "scores"), [("groups", 0), ("default-scheduler", 1)])
async def test_a_pod_of_mode_bind_has_no_scores_of_ours(name: str, scores: int) -> None:
    liked = scheduled_by(pod("x").prefers(100, term(ZONE, DB)), name)
    answer = await ask(callbacks(), "prioritize", {"Pod": liked, "NodeNames": ["a", "b"]})
    assert len(answer) == scores


@pytest.mark.parametrize(("name", "left"), [("groups", ["a", "b"]), ("default-scheduler", ["b"])])
async def test_the_schedulers_victims_are_left_alone_by_profile(name: str, left: list[str]) -> None:
    important = scheduled_by(pod("x").priority(10).anti_affinity(term(ZONE, DB)), name)
    least = pod("least").priority(-1).on("b")
    rock = Pod(OLD).priority(20)
    victims = {each: {"Pods": [{"UID": "default-least"}]} for each in "ab"}
    body = {"Pod": important, "NodeNameToMetaVictims": victims}
    answer = await ask(callbacks(rock, least), "preempt", body)
    assert sorted(answer["NodeNameToMetaVictims"]) == left


@needs_rules
async def test_a_rule_in_an_annotation_refuses_in_mode_bind() -> None:
    verbs = callbacks(annotations={"namespaceSelector": {}})
    answer = await filtered(verbs, Pod(moved(scheduled_by(APART, "groups"))))
    assert answer["NodeNames"] == ["b"]


@needs_rules
async def test_rules_in_annotations_among_members_are_an_error() -> None:
    twins = [
        scheduled_by(pod(name).labels(app="web").in_group("gang"), "groups").anti_affinity(
            term(ZONE, selector(app="web"))
        )
        for name in ("one", "two")
    ]
    stored = [Pod(moved(each)) for each in twins]
    verbs = callbacks(*stored, annotations={"namespaceSelector": {}})
    assert "put these rules into their specs" in (await filtered(verbs, stored[0]))["Error"]
    verbs = callbacks(*twins, annotations={"namespaceSelector": {}})
    assert (await filtered(verbs, twins[0]))["Error"] == ""


@pytest.mark.parametrize(
    ("profiles", "says"),
    [
        pytest.param(GROUPS, "give all pods of the group schedulerName groups", id="one to use"),
        pytest.param([], "they need a profile in mode bind, see docs/groups.md", id="none"),
    ],
)
async def test_a_member_in_a_profile_of_mode_replace_waits_and_is_told(
    profiles: Any, says: str
) -> None:
    error = (await filtered(callbacks(profiles=profiles), pod("x").in_group("gang")))["Error"]
    assert error == (
        "it is in pod group default/gang, and no extender is told where the pods of a group are "
        f"about to go: {says}"
    )


@pytest.mark.parametrize(
    ("name", "waits"), [("groups", False), ("trains", False), ("default-scheduler", True)]
)
def test_a_member_may_be_bound_by_its_profile(name: str, *, waits: bool) -> None:
    two = [{"schedulerName": each, "mode": "bind"} for each in ("groups", "trains")]
    judge = plugin(loaded(mode="replace", profiles=two))
    member = model_pod(scheduled_by(pod("x").in_group("gang"), name))
    assert (judge.indeterminate(state_of([], [], []), member) is not None) is waits


async def test_a_member_in_mode_assist_is_the_schedulers() -> None:
    verbs = callbacks(mode="assist", profiles=[])
    assert (await filtered(verbs, pod("x").in_group("gang")))["NodeNames"] == ["a", "b"]


async def test_shadow_compares_no_members() -> None:
    judge = plugin(loaded(mode="shadow"))
    member = model_pod(scheduled_by(pod("x").in_group("gang"), "groups"))
    assert judge.indeterminate(state_of([], [], []), member) is not None
    assert judge.indeterminate(state_of([], [], []), model_pod(pod("x"))) is None


async def test_a_broken_body_is_answered_as_in_any_profile() -> None:
    answer = await ask(
        callbacks(), "filter", {"Pod": {"spec": {"schedulerName": 7}}, "NodeNames": []}
    )
    assert answer["Error"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"Pod":{"spec":{"schedulerName":"groups"}},"NodeNames":["a"]}', "groups"),
        (b'{"pod":{"spec":{"schedulerName":"groups"}},"nodenames":["a"]}', "groups"),
        (b'{"Pod":{"spec":{}},"NodeNames":["a"]}', ""),
        (b'{"Pod":null,"NodeNames":["a"]}', None),
        (b'{"Pod":{"spec":{"schedulerName":7}}}', None),
        (b"[]", None),
        (b"{", None),
    ],
    ids=[
        "upstream's spelling",
        "another case",
        "no name",
        "no pod",
        "a number",
        "a list",
        "broken",
    ],
)
def test_which_scheduler_a_request_is_from(body: bytes, expected: str | None) -> None:
    assert read_scheduler(body) == expected
