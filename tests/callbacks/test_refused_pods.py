"""The pods that filter refused everywhere, as people see them."""

from __future__ import annotations

import json

import pytest

from extender.core.callbacks import refused_pods
from extender.core.callbacks.filtering import Filters, Listeners
from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.model.verdict import Reason
from tests.answering import ANNOTATIONS, Answering, requests_of
from tests.builders import HOST, model_pod, node, pod, selector, state_of, term

REFUSED = ((Reason.ANTI_AFFINITY, ["b"]), (Reason.AFFINITY, ["c", "d"]))


def test_the_last_one_asked_about_comes_first_with_the_commonest_reason() -> None:
    now = [0.0]
    first, second = pod("first"), pod("second")
    state = state_of([node("a", {HOST: "a"})], [], [first, second])
    known = RefusedPods(state, lambda: now[0])
    for at, name in ((1.0, first), (2.0, second), (3.0, first)):
        now[0] = at
        known.refused(model_pod(name), REFUSED)
    found = known.latest()
    assert [(each.key, each.since, each.last, each.times) for each in found] == [
        ("default/first", 1.0, 3.0, 2),
        ("default/second", 2.0, 2.0, 1),
    ]
    assert found[0].reasons == ((Reason.AFFINITY.value, 2), (Reason.ANTI_AFFINITY.value, 1))


def test_who_is_admitted_placed_or_gone_is_forgotten() -> None:
    names = ["admitted", "placed", "gone", "waits"]
    state = state_of([node("a", {HOST: "a"})], [], [pod(name) for name in names])
    known = RefusedPods(state)
    for name in names:
        known.refused(model_pod(pod(name)), REFUSED)
    known.admitted(model_pod(pod("admitted")))
    state.upsert_pod(model_pod(pod("placed").on("a")))
    state.remove_pod("default/gone", "default-gone")
    assert [each.key for each in known.latest()] == ["default/waits"]


def test_there_are_so_many_and_no_more() -> None:
    number = refused_pods.MOST + 5
    state = state_of([], [], [pod(f"p{each}") for each in range(number)])
    known = RefusedPods(state)
    for each in range(number):
        known.refused(model_pod(pod(f"p{each}")), REFUSED)
    # Each takes its share of the bytes as well.
    assert 250 < len(known.latest()) <= refused_pods.MOST


async def test_a_pod_that_no_rule_is_about_is_refused_nowhere() -> None:
    """In `assist`, where the scheduler has all other rules itself."""
    state = state_of([node("a", {HOST: "a"})], [], [pod("plain")])
    known = RefusedPods(state)
    listeners = Listeners(helpers=[known])
    filters = Filters(requests_of(state), ANNOTATIONS, resolvable=False, listeners=listeners)
    body = {"Pod": pod("plain"), "Nodes": None, "NodeNames": ["a"]}
    await filters.answer(json.dumps(body).encode())
    assert known.latest() == []


@pytest.mark.parametrize(
    "places", [["a"], ["a", "b"]], ids=["it fits somewhere", "it fits nowhere"]
)
async def test_each_of_several_helpers_hears_what_becomes_of_a_pod(places: list[str]) -> None:
    loner = pod("loner").anti_affinity(term(HOST, selector(app="web")))
    taken = [pod(f"web-{name}").labels(app="web").on(name) for name in places]
    state = state_of([node(name, {HOST: name}) for name in "ab"], [], [loner, *taken])
    helpers = [RefusedPods(state) for _ in range(3)]
    for each in helpers:
        each.refused(model_pod(loner), REFUSED)
    body = {"Pod": loner, "Nodes": None, "NodeNames": ["a", "b"]}
    await Answering(state, helpers=helpers).filter(json.dumps(body).encode())
    heard = [[pod.times for pod in each.latest()] for each in helpers]
    assert heard == [[] if places == ["a"] else [2]] * len(helpers)
