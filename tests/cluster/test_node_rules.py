"""What is kept of node affinity, against the rules tried one by one, whatever the events were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from extender.core.cluster.counts import node_rules
from extender.core.cluster.counts.node_rules import AT_ONCE
from extender.core.cluster.state import ClusterState
from extender.core.model import memory
from extender.core.model.node_selection import NodeRule
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


def rule_mismatches(state: ClusterState) -> list[str]:
    """Return what is wrong with the columns and the counts of pods by rule."""
    wrong, labels = [], state.nodes.labels
    for column in state.node_rules:
        judge = column.rule.judge
        wrong += [name for name in state.nodes if column.of(name) != judge(name, labels(name))]
        if column.matching != sum(bool(column.of(name)) for name in state.nodes):
            wrong.append(f"nodes that match {column.rule}")
    affinities = [pod.node_selection for pod in state.pods.values()]
    truth = Counter(rule for each in affinities if each is not None for rule in each.rules)
    return wrong if state.node_rules._pods == truth else [*wrong, "pods by node affinity"]


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
        self.preparing: list[tuple[Pod, Iterator[None]]] = []

    @initialize(capacity=st.sampled_from([1, 2, 1024]), budget=st.sampled_from([1 << 14, 1 << 24]))
    def start(self, capacity: int, budget: int) -> None:
        """Begin with room for few nodes, or few columns, or many."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_rules, "FIRST_CAPACITY", capacity)
            patch.setattr(memory, "NODE_RULES", budget)
            self.state = ClusterState()
            assert len(self.state.node_rules) == 0

    @rule(capacity=st.sampled_from([1, 2, 1024]))
    def ask_late(self, capacity: int) -> None:
        """Make the columns as where nothing has asked for one before."""
        self.preparing.clear()
        del vars(self.state)["node_rules"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_rules, "FIRST_CAPACITY", capacity)
            assert len(self.state.node_rules) == 0

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

    @rule(drawn=strategies.with_node_affinity(pod("new")))
    def prepare(self, drawn: Pod) -> None:
        """Begin to judge the nodes for a pod that is asked about when that is done."""
        affinity = model_pod(drawn).node_selection
        for each in affinity.rules if affinity is not None else ():
            self.preparing.append((drawn, self.state.node_rules.preparing(each)))

    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        """Take a step of what was begun, or give it up."""
        if not self.preparing:
            return
        position = data.draw(st.integers(0, len(self.preparing) - 1))
        drawn, steps = self.preparing[position]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_rules, "AT_ONCE", 1)
            patch.setattr(NodeRule, "conditions", 1)
            done = next(steps, steps) is steps
        if done or data.draw(strategies.rarely(5)):
            del self.preparing[position], steps
            self.asked = [drawn, *self.asked][:4]

    @invariant()
    def what_is_unfinished_is_being_prepared(self) -> None:
        """Nothing stays of what was done or given up."""
        assert len(self.state.node_rules._unfinished) <= len(self.preparing)

    @invariant()
    def answers_are_right(self) -> None:
        """Each rule says of each node what the naive evaluator says of it."""
        cluster, names = Cluster([*self.nodes.values()], [], []), [*self.nodes]
        for raw in self.asked:
            affinity = model_pod(raw).node_selection
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
        """Columns and counts are what trying every rule says."""
        assert rule_mismatches(self.state) == []

    def teardown(self) -> None:
        """Take the pods away: nobody's rules are left."""
        for name, there in self.pods.items():
            self.state.remove_pod(f"default/{name}", there["metadata"]["uid"])
        assert self.state.node_rules._pods == {}


TestNodeEvents = pytest.mark.thorough(NodeEvents.TestCase)

SSD = pod("new").requires_nodes(node_term(requirement("disk", "In", "ssd")))
NODES = [node("a", {"disk": "ssd"}), node("b", {"disk": "hdd"})]


def required(raw: Pod) -> NodeRule:
    affinity = model_pod(raw).node_selection
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


def test_a_column_of_preferences_goes_with_the_last_pod_that_has_them() -> None:
    prefers = pod("new").prefers_nodes(1, node_term(requirement("disk", "In", "ssd")))
    state = state_of(NODES, [], [prefers])
    affinity = model_pod(prefers).node_selection
    assert affinity is not None
    assert affinity.preferred is not None
    state.node_rules.judge(affinity.preferred)
    assert (len(state.node_rules), rule_mismatches(state)) == (1, [])
    state.remove_pod("default/new", "default-new")
    assert (len(state.node_rules), rule_mismatches(state)) == (0, [])


def test_nodes_that_outgrow_a_column_are_none_of_its(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_rules, "FIRST_CAPACITY", 2)
    state = state_of(NODES[:1], [], [SSD])
    state.node_rules.judge(required(SSD))
    for number in range(3):
        state.upsert_node(model_node(node(f"more-{number}", {"disk": "ssd"})))
    assert len(state.node_rules) == 0
    state.upsert_node(model_node(node("more-2", {"disk": "hdd"})))
    assert state.node_rules.judge(required(SSD)).matching == 3
    assert rule_mismatches(state) == []


def test_weights_add_up_to_more_than_a_byte_has() -> None:
    fast = pod("fast")
    for key in ("disk", "net", "cpu"):
        fast = fast.prefers_nodes(100, node_term(requirement(key, "In", "fast")))
    affinity = model_pod(fast).node_selection
    assert affinity is not None
    assert affinity.preferred is not None
    state = state_of([node("a", dict.fromkeys(("disk", "net", "cpu"), "fast"))], [], [fast])
    assert state.node_rules.judge(affinity.preferred).of("a") == 300


def test_who_asks_first_when_pods_are_known_has_them_counted() -> None:
    early, late = state_of(NODES, [], [SSD]), state_of(NODES, [], [SSD])
    assert len(early.node_rules) == 0
    for state in (early, late):
        state.upsert_pod(model_pod(Pod(SSD).on("a")))
        state.upsert_node(model_node(node("late", {"disk": "ssd"})))
        assert [*state.node_columns] == []
        assert state.node_rules.judge(required(SSD)).of("late") == 1
        assert rule_mismatches(state) == []
        (known,) = state.pods.values()
        state.remove_pod(known.key, known.uid)
        assert (len(state.node_rules), rule_mismatches(state)) == (0, [])


def test_who_asks_first_when_there_are_many_nodes_has_room_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_rules, "FIRST_CAPACITY", 2)
    state = state_of([node(f"n{number}", {"disk": "ssd"}) for number in range(7)], [], [])
    assert "node_rules" not in vars(state)
    assert [*state.node_rules.preparing(required(SSD))]
    column = state.node_rules.judge(required(SSD))
    state.upsert_node(model_node(node("n6", {"disk": "hdd"})))
    assert [column.of(f"n{number}") for number in range(7)] == [1, 1, 1, 1, 1, 1, 0]


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


@pytest.mark.parametrize(
    "asks",
    [
        pytest.param(requirement("disk", *each), id=each[0])
        for each in (
            ("In", "ssd"),
            ("NotIn", "ssd"),
            ("Exists",),
            ("DoesNotExist",),
            ("Gt", "1"),
            ("Lt", "1"),
        )
    ],
)
def test_each_event_of_a_node_reaches_each_kind_of_rule(asks: Json) -> None:
    state = state_of([node("b")], [], [])
    for asking in (
        pod("required").requires_nodes(node_term(asks)),
        pod("preferred").prefers_nodes(7, node_term(asks)),
    ):
        state.upsert_pod(model_pod(asking))
        for each in model_pod(asking).node_selection.rules:  # type: ignore[union-attr]
            state.node_rules.judge(each)
    assert len(state.node_rules) == 2
    known: list[dict[str, str] | None] = [{}, {"disk": "ssd"}, {"disk": "2"}, {"disk": "0"}, None]
    for before in known:
        for after in known:
            for labels in (before, after):
                if labels is None:
                    state.remove_node("a")
                else:
                    state.upsert_node(model_node(node("a", labels)))
                assert rule_mismatches(state) == []


def test_weights_of_a_node_that_is_named_twice_add_up() -> None:
    state = state_of(NODES, [], [])
    wish = pod("new").prefers_nodes(3, node_term(In="a")).prefers_nodes(4, node_term(In="a"))
    selection = model_pod(wish).node_selection
    assert selection is not None
    judged = [state.node_rules.judge(each) for each in selection.preferred_rules]
    assert sum(each.of("a") for each in judged) == 7
    assert sum(each.of("b") for each in judged) == 0


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


def test_nodes_are_judged_in_steps_and_events_reach_those_that_were() -> None:
    nodes = [node(f"n{number}", {"disk": "ssd"}) for number in range(3 * AT_ONCE)]
    state = state_of(nodes, [], [])
    steps = state.node_rules.preparing(required(SSD))
    next(steps)
    assert (len(state.node_rules._unfinished), len(state.node_rules)) == (1, 0)
    for first_and_last in (nodes[0], nodes[-1]):
        state.upsert_node(model_node(node(first_and_last["metadata"]["name"], {"disk": "hdd"})))
    for name in ("n1", "n2", f"n{3 * AT_ONCE - 2}"):
        state.remove_node(name)
    state.upsert_node(model_node(node("new", {"disk": "ssd"})))
    assert len(list(steps)) == 2
    assert (len(state.node_rules._unfinished), len(state.node_rules)) == (0, 1)
    assert rule_mismatches(state) == []
    assert state.node_rules.judge(required(SSD)).matching == 3 * AT_ONCE - 4
    assert list(state.node_rules.preparing(required(SSD))) == []


def test_a_long_rule_is_gone_through_in_few_steps() -> None:
    state = state_of([node(f"n{number}") for number in range(3 * AT_ONCE)], [], [])
    values = [node_term(requirement("disk", "In", f"d{n}")) for n in range(AT_ONCE)]
    assert len(list(state.node_rules.preparing(required(pod("new").requires_nodes(*values))))) == 1


def test_what_is_prepared_while_nodes_outgrow_it_is_given_up() -> None:
    nodes = [node(f"n{number}", {"disk": "ssd"}) for number in range(node_rules.FIRST_CAPACITY)]
    state = state_of(nodes, [], [])
    steps = state.node_rules.preparing(required(SSD))
    next(steps)
    state.upsert_node(model_node(node("one-more", {"disk": "ssd"})))
    assert list(steps) == []
    assert (len(state.node_rules._unfinished), len(state.node_rules)) == (0, 0)
    assert state.node_rules.judge(required(SSD)).matching == node_rules.FIRST_CAPACITY + 1


def test_who_is_asked_in_between_keeps_the_one_column() -> None:
    state = state_of(NODES, [], [SSD])
    steps = state.node_rules.preparing(required(SSD))
    next(steps)
    column = state.node_rules.judge(required(SSD))
    assert list(steps) == []
    assert state.node_rules.judge(required(SSD)) is column


def test_nothing_is_left_of_what_is_not_prepared_to_the_end() -> None:
    state = state_of(NODES, [], [])
    steps = state.node_rules.preparing(required(SSD))
    next(steps)
    del steps
    assert (len(state.node_rules._unfinished), len(state.node_rules)) == (0, 0)


def test_a_column_that_says_wrong_is_noticed() -> None:
    state = state_of(NODES, [], [SSD])
    column = next(iter(state.node_rules), None)
    assert column is None, "nobody has asked"
    state.node_rules.judge(required(SSD))
    (column,) = state.node_rules
    column.by_number[state.nodes.number_of("b")] = 1
    wrong: list[Any] = rule_mismatches(state)
    assert wrong[0] == "b"
    state._count_rules(model_pod(SSD), 1)
    assert rule_mismatches(state)[-1] == "pods by node affinity"
