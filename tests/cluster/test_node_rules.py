"""What is kept of node affinity, against the rules tried one by one, whatever the events were."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from extender.cluster.audits.node_rules import rule_mismatches
from extender.cluster.audits.recount import audit
from extender.cluster.counts import node_rules
from extender.cluster.state import ClusterState
from extender.model import memory
from extender.model.node_affinity import NodeRule
from tests import strategies
from tests.builders import (
    Json,
    Pod,
    model_node,
    model_pod,
    node,
    node_term,
    pod,
    requirement,
    state_of,
)
from tests.node_oracle import node_refusals, raw_node_scores
from tests.oracle import Cluster

POD_NAMES = ("p0", "p1", "p2", "p3")


class NodeEvents(RuleBasedStateMachine):
    """Nodes come, go and get other labels, pods with node affinity come and go.

    Each step asks again what was asked before: a column must not go stale, nor stay when the last
    pod with its rule is gone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState()
        self.nodes: dict[str, Json] = {}
        self.pods: dict[str, Pod] = {}
        self.asked: list[Pod] = []

    @initialize(capacity=st.sampled_from([1, 2, 1024]), budget=st.sampled_from([1 << 14, 1 << 24]))
    def start(self, capacity: int, budget: int) -> None:
        """Begin with room for few nodes, or few columns, or many."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_rules, "FIRST_CAPACITY", capacity)
            patch.setattr(memory, "NODE_RULES", budget)
            self.state = ClusterState()

    @rule(drawn=st.sampled_from(strategies.NODE_NAMES).flatmap(strategies.nodes))
    def put_node(self, drawn: Json) -> None:
        """Add a node, or change its labels."""
        self.nodes[drawn["metadata"]["name"]] = drawn
        self.state.upsert_node(model_node(drawn))

    @rule(name=st.sampled_from(strategies.NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """Remove a node, known or not."""
        self.nodes.pop(name, None)
        self.state.remove_node(name)

    @rule(
        name=st.sampled_from(POD_NAMES),
        data=st.data(),
        place=st.sampled_from([None, *strategies.NODE_NAMES]),
    )
    def put_pod(self, name: str, data: st.DataObject, place: str | None) -> None:
        """Add a pod, perhaps placed, or in the place of another; it may be one more replica."""
        likes = st.sampled_from([*self.pods.values(), *self.asked]) if self.asked else st.nothing()
        drawn = data.draw(likes | strategies.with_node_affinity(pod("x")))
        made = strategies.named(drawn, name, "default", f"uid-{data.draw(st.integers(0, 1))}")
        self.pods[name] = made if place is None else made.on(place)
        self.state.upsert_pod(model_pod(self.pods[name]))

    @rule(name=st.sampled_from(POD_NAMES), ended=st.booleans())
    def end_pod(self, name: str, *, ended: bool) -> None:
        """Let a pod finish, or take it away."""
        if name in self.pods:
            gone = self.pods.pop(name)
            if ended:
                self.state.upsert_pod(model_pod(gone.phase("Succeeded")))
            else:
                self.state.remove_pod(f"default/{name}", gone["metadata"]["uid"])

    @rule(drawn=strategies.with_node_affinity(pod("new")))
    def ask(self, drawn: Pod) -> None:
        """Ask about a pod for the first time."""
        self.asked = [drawn, *self.asked][:4]

    @invariant()
    def answers_are_right(self) -> None:
        """Each rule says of each node what the naive evaluator says of it."""
        cluster, names = Cluster([*self.nodes.values()], [], []), [*self.nodes]
        for raw in self.asked:
            affinity = model_pod(raw).node_affinity
            if affinity is None:
                continue
            refused = node_refusals(cluster, raw, names)
            assert self.said(affinity.required, names, 1) == {
                name: int(name not in refused) for name in names
            }
            assert self.said(affinity.preferred, names, 0) == raw_node_scores(cluster, raw, names)

    def said(self, asked: NodeRule | None, names: list[str], otherwise: int) -> dict[str, int]:
        """Ask what a rule says of each node, all in one question and one by one."""
        if asked is None:
            return dict.fromkeys(names, otherwise)
        judged = self.state.node_rules.judge(asked)
        found = dict(zip(names, judged.values(self.state.nodes.asked(names)), strict=True))
        assert found == {name: judged.of(name) for name in names}
        assert judged.matching == sum(map(bool, found.values()))
        assert judged.of("nobody") == 0
        return found

    @invariant()
    def nothing_differs_from_a_recount(self) -> None:
        """Columns and counts are what trying every rule says, and the audit agrees."""
        assert rule_mismatches(self.state) == []
        assert [finding for finding in audit(self.state) if finding is not None] == []

    def teardown(self) -> None:
        """Take the pods away: nobody's rules are left."""
        for name, there in self.pods.items():
            self.state.remove_pod(f"default/{name}", there["metadata"]["uid"])
        assert self.state.node_rules.in_use == {}


TestNodeEvents = NodeEvents.TestCase

SSD = pod("new").requires_nodes(node_term(requirement("disk", "In", "ssd")))
NODES = [node("a", {"disk": "ssd"}), node("b", {"disk": "hdd"})]


def required(raw: Pod) -> NodeRule:
    """Return what a pod requires of nodes."""
    affinity = model_pod(raw).node_affinity
    assert affinity is not None
    assert affinity.required is not None
    return affinity.required


def test_a_column_goes_with_the_last_pod_that_has_its_rule() -> None:
    state = state_of(NODES, [], [SSD, SSD.uid("2").on("a") | {"metadata": {"name": "placed"}}])
    state.node_rules.judge(required(SSD))
    assert len(state.node_rules) == 1
    state.remove_pod("default/new", "default-new")
    assert len(state.node_rules) == 1
    state.remove_pod("default/placed", "default/placed")
    assert len(state.node_rules) == 0
    state.upsert_node(model_node(node("a", {"disk": "hdd"})))
    assert state.node_rules.judge(required(SSD)).matching == 0


def test_a_rule_outlives_the_pod_that_is_replaced_by_another_with_it() -> None:
    state = state_of(NODES, [], [SSD])
    column = state.node_rules.judge(required(SSD))
    state.upsert_pod(model_pod(SSD.uid("again")))
    assert state.node_rules.judge(required(SSD)) is column


def test_rules_that_name_their_nodes_take_no_room() -> None:
    state = state_of(NODES, [], [])
    for name in "abc":
        rule = required(pod("new").requires_nodes(node_term(In=name)))
        assert state.node_rules.judge(rule).matching == (name != "c")
    assert len(state.node_rules) == 0


def test_columns_stay_within_their_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "NODE_RULES", 1 << 16)
    state = state_of(NODES, [], [])
    for number in range(100):
        rule = required(pod("new").selects(disk="ssd", number=str(number)))
        assert state.node_rules.judge(rule).matching == 0
    assert 10 < len(state.node_rules) < 40
    state.upsert_node(model_node(node("a", {"disk": "ssd", "number": "99"})))
    assert rule_mismatches(state) == []
    assert state.node_rules.judge(required(SSD.selects(number="99"))).matching == 1


def test_a_column_that_says_wrong_is_noticed() -> None:
    state = state_of(NODES, [], [SSD])
    column = next(iter(state.node_rules), None)
    assert column is None, "nobody has asked"
    state.node_rules.judge(required(SSD))
    (column,) = state.node_rules
    column.by_number[state.nodes.number_of("b")] = 1
    assert "node affinity on b" in list(audit(state))
    wrong: list[Any] = rule_mismatches(state)
    assert wrong[0] == "b"
    state._node_rules.count(model_pod(SSD).node_affinity, 1)
    assert rule_mismatches(state)[-1] == "pods by node affinity"
