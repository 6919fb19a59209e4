"""Pods that can take a node away from each other."""

from __future__ import annotations

import pytest

from extender.core.verbs.interaction import MOST_CONDITIONS, interact, prefer
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    ZONE,
    Pod,
    model_pod,
    namespace,
    node,
    pod,
    requirement,
    selector,
    state_of,
    term,
)

NODES = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"})]
WEB = selector(app="web")
LONER = pod("loner").labels(app="web").anti_affinity(term(ZONE, WEB))
OTHER = pod("other").labels(app="web").anti_affinity(term(ZONE, WEB))
PLAIN = pod("plain").labels(app="web")
SPREAD = pod("spread").labels(app="web").prefers(-1, term(ZONE, WEB))
GROUP = pod("member").labels(app="web").affinity(term(ZONE, WEB))

ABSENT = selector(*(requirement(f"key-{n}", "Exists") for n in range(MOST_CONDITIONS)))


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        pytest.param(LONER, OTHER, True, id="both exclude each other"),
        pytest.param(LONER, PLAIN, True, id="one excludes the other"),
        pytest.param(PLAIN, pod("p").labels(app="web"), False, id="no rules"),
        pytest.param(LONER, pod("p").labels(app="db"), False, id="rules about others"),
        pytest.param(
            LONER, pod("p", "elsewhere").labels(app="web"), False, id="the same app elsewhere"
        ),
        pytest.param(
            GROUP,
            pod("m").labels(app="web").affinity(term(ZONE, WEB)),
            True,
            id="a group that both may start",
        ),
        pytest.param(
            pod("guest").affinity(term(ZONE, WEB)),
            PLAIN,
            False,
            id="a guest that cannot start the group only gains by the host",
        ),
        pytest.param(
            pod("long").anti_affinity(term(ZONE, ABSENT)),
            PLAIN,
            True,
            id="more conditions than are compared",
        ),
        pytest.param(GROUP, PLAIN, True, id="a plain pod that starts the group before its member"),
    ],
)
def test_which_pods_interact(one: Pod, two: Pod, expected: bool) -> None:
    state = state_of(NODES, [namespace("default")], [])
    first, second = model_pod(one).pod_class, model_pod(two).pod_class
    assert interact(state, first, second) is expected
    assert interact(state, second, first) is expected


def test_pods_that_a_limit_counts_together_interact() -> None:
    rule = {"podAntiAffinity": {REQUIRED: [term(ZONE, WEB, maxMatchingPods=2)]}}
    owner = Pod(annotated(pod("owner").labels(app="web"), rule)).on("a")
    web, db = (model_pod(pod(app).labels(app=app)).pod_class for app in ("web", "db"))
    for placed, expected in (((owner,), True), ((), False)):
        state = state_of(NODES, [namespace("default")], placed)
        assert interact(state, web, web) is expected
        assert not interact(state, web, db)
        assert not interact(state, db, web)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(
            SPREAD, pod("t").labels(app="web").prefers(-1, term(ZONE, WEB)), True, id="replicas"
        ),
        pytest.param(PLAIN, SPREAD, True, id="a preferred term of the one that is scored"),
        pytest.param(SPREAD, PLAIN, True, id="a preferred term of the one that is placed"),
        pytest.param(GROUP, PLAIN, True, id="a required affinity term of the one that is placed"),
        pytest.param(PLAIN, GROUP, False, id="a required term of the one that is scored"),
        pytest.param(LONER, PLAIN, False, id="anti-affinity that is required"),
        pytest.param(SPREAD, pod("p").labels(app="db"), False, id="a term about others"),
        pytest.param(
            pod("long").prefers(1, term(ZONE, ABSENT)), PLAIN, False, id="too many conditions"
        ),
    ],
)
def test_whose_place_changes_whose_scores(one: Pod, other: Pod, expected: bool) -> None:
    state = state_of(NODES, [namespace("default")], [])
    assert prefer(state, model_pod(one).pod_class, model_pod(other).pod_class) is expected
