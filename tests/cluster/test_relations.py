"""What dear rules have to do with other pods is remembered, in steps, and stays true."""

from __future__ import annotations

import gc

import pytest

from extender.cluster.counts import relations
from extender.cluster.state import ClusterState
from extender.cluster.view import AT_ONCE
from extender.model.objects import PodClass
from extender.verbs.interaction import attracted, interact, repelled_keys
from tests.builders import HOST, Pod, model_namespace, model_node, model_pod, namespace, node, pod
from tests.hostile import crowded, hostile, narrow, unlike_anything

TERMS = 300
NOMINATED = 40
STEP = 100


@pytest.fixture
def state() -> ClusterState:
    """A cluster with nominated pods, each of a workload of its own."""
    cluster = crowded(classes=6, pods=12, nodes=4)
    for number in range(NOMINATED):
        each = pod(f"x{number}", "ns1").labels(app=f"x{number}").priority(10).nominated("n1")
        cluster.upsert_pod(model_pod(each))
    return cluster


def class_of(raw: Pod) -> PodClass:
    return model_pod(raw).pod_class


def test_many_rules_and_nominated_pods_are_compared_in_steps(state: ClusterState) -> None:
    asking = model_pod(pod("new", "ns0").anti_affinity(*narrow(TERMS)))
    steps = list(state.preparing(asking.pod_class, STEP))
    assert max(steps) <= STEP + 3 * TERMS + 20
    assert sum(steps) >= NOMINATED * TERMS > AT_ONCE
    assert sum(state.preparing(asking.pod_class, STEP)) == 0


def test_a_nominated_pod_with_many_rules_is_compared_in_steps(state: ClusterState) -> None:
    state.upsert_pod(model_pod(hostile(AT_ONCE).priority(10).nominated("n2")))
    asking = model_pod(pod("new", "ns1").labels(app="new"))
    assert max(state.preparing(asking.pod_class, STEP)) <= STEP + 20
    assert sum(state.preparing(asking.pod_class, STEP)) == 0
    state.remove_pod("ns0/hostile", "ns0-hostile")
    assert sum(state.preparing(class_of(pod("another", "ns1")), STEP)) == 0


@pytest.mark.parametrize("number", [0, 7, TERMS + 1])
def test_what_is_remembered_is_what_every_term_says(state: ClusterState, number: int) -> None:
    other = class_of(pod("other", "ns1").labels(app=f"a{number}"))
    apart = class_of(pod("x", "ns0").anti_affinity(*narrow(TERMS), *narrow(TERMS, key="nobody's")))
    near = class_of(pod("y", "ns0").affinity(*unlike_anything(TERMS)))
    picky = class_of(pod("z", "ns0").affinity(*narrow(TERMS)))
    for _ in range(2):
        assert repelled_keys(state, apart, other) == ({HOST} if number < TERMS else set())
        assert interact(state, apart, other)
        assert attracted(state, other, near)
        assert not attracted(state, other, picky)


def test_new_labels_of_namespaces_and_nodes_are_heeded(state: ClusterState) -> None:
    teams = [
        {**each, "namespaceSelector": {"matchLabels": {"team": "blue"}}}
        for each in narrow(TERMS, key="rack")
    ]
    owner = class_of(pod("x", "ns0").anti_affinity(*teams))
    other = class_of(pod("other", "ns1").labels(app="a1"))
    assert repelled_keys(state, owner, other) == set()
    state.upsert_node(model_node(node("n1", {HOST: "n1", "rack": "r1"})))
    assert repelled_keys(state, owner, other) == set()
    state.upsert_namespace(model_namespace(namespace("ns1", {"team": "blue"})))
    assert repelled_keys(state, owner, other) == {"rack"}
    state.upsert_namespace(model_namespace(namespace("ns1", {"team": "red"})))
    assert repelled_keys(state, owner, other) == set()


def test_one_during_which_a_namespace_changes_is_found_out_again(state: ClusterState) -> None:
    owner, other = class_of(hostile(TERMS)), class_of(pod("other", "ns1").labels(app="a1"))
    steps = state.relations.finding(owner, other, STEP)
    next(steps)
    state.upsert_namespace(model_namespace(namespace("ns1", {"team": "new"})))
    assert list(steps) == []
    assert sum(state.relations.preparing([(owner, other)], STEP)) > 0
    assert repelled_keys(state, owner, other) == {HOST}
    assert sum(state.relations.preparing([(owner, other)], STEP)) == 0


def test_little_is_remembered_and_nothing_of_what_is_gone(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "MOST_RELATIONS", 10)
    owner = class_of(hostile(TERMS))
    others = [class_of(pod("p", "ns1").labels(app=f"b{number}")) for number in range(25)]
    for other in others:
        assert repelled_keys(state, owner, other) == {HOST}
        assert sum(state.relations.preparing([(owner, other)], STEP)) == 0
    known = state.relations._known
    assert 0 < len(known[owner]) <= 10
    others.clear()
    gc.collect()
    assert len(known[owner]) <= 1, "the loop has one left"
    del owner
    gc.collect()
    assert len(known) == 0
    assert len(state.relations._same) == 0


def test_equal_rules_are_compared_once_however_often_they_are_asked_about(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again = class_of(hostile(TERMS)), class_of(hostile(TERMS))
    others = [class_of(pod("p", "ns1").labels(app=f"b{number}")) for number in range(25)]
    for other in others:
        repelled_keys(state, first, other)
    compared = 0
    equal = PodClass.__eq__

    def counting(one: PodClass, other: object) -> bool:
        nonlocal compared
        compared += other is not one and isinstance(other, PodClass) and other.affinity.is_expensive
        return equal(one, other)

    monkeypatch.setattr(PodClass, "__eq__", counting)
    for other in others:
        assert repelled_keys(state, again, other) == {HOST}
    assert compared == 1
