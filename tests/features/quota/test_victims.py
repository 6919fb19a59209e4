"""No pod is evicted to make room in a quota."""

from __future__ import annotations

from extender.core.verbs.victims import ineligible, on_node
from extender.features.quota.rules import CrossNamespacePodAffinity
from tests.builders import HOST, crossing, model_pod, put, quota, state_of, term
from tests.verbs.judging import AFFINITY
from tests.verbs.test_victims import APART, DB, NEW, NODES, db, everywhere, look, named


def test_nobody_goes_for_a_quota() -> None:
    across = APART.anti_affinity(term(HOST, DB, namespaces=["other"]))
    state = state_of(NODES, [], [db("x"), *everywhere("a1")])
    plugins = (*AFFINITY, CrossNamespacePodAffinity(limited=True))
    assert named(look(state, APART, plugins)) == {"a1": ["x"]}
    assert look(state, across, plugins) == {}
    assert on_node(state, model_pod(across), plugins, "a1") is None


def test_nobody_goes_for_the_sake_of_a_quota_that_it_uses_itself() -> None:
    across = term(HOST, DB, namespaces=["other", "default"])
    pods = [db("x").anti_affinity(across), *everywhere("a1")]
    state = state_of(NODES, [], pods, [quota("q", {"pods": "1"}, crossing())])
    plugins = (*AFFINITY, CrossNamespacePodAffinity())
    asked = NEW.anti_affinity(across)
    assert look(state, asked, plugins) == {}
    assert on_node(state, model_pod(asked), plugins, "a1") is None
    put(state, quota("q", {"pods": "2"}, crossing()))
    assert named(look(state, asked, plugins)) == {"a1": ["x"]}


def test_a_pod_waits_for_no_victims_where_a_quota_keeps_it_out_whoever_goes() -> None:
    across = APART.anti_affinity(term(HOST, DB, namespaces=["other"]))
    state = state_of(NODES, [], [db("x").preempted()])
    plugins = (*AFFINITY, CrossNamespacePodAffinity(limited=True))
    assert ineligible(state, model_pod(APART.nominated("a1")), plugins) is not None
    assert ineligible(state, model_pod(across.nominated("a1")), plugins) is None
