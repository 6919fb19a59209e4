"""The plugin NodeAffinity: which nodes it refuses, in which words, and how it scores the others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.model.verdict import AnyReason, Reason
from extender.core.verbs.filtering import judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import Plugins, ScorePlugins
from extender.core.verbs.prioritizing import prioritize
from extender.core.wire.node_selection import read_node_selection
from tests import strategies
from tests.answering import Answering
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    model_pod,
    node,
    node_term,
    pod,
    requirement,
    selector,
    state_of,
    term,
)
from tests.node_oracle import node_refusals, raw_node_scores, shares
from tests.oracle import PREFERRED, REQUIRED, Cluster

NODES = [
    node("a1", {HOST: "a1", ZONE: "a", "disk": "ssd"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b", "disk": "ssd"}),
]
NAMES = ["b1", "a2", "a1"]
SSD = node_term(requirement("disk", "In", "ssd"))
IN_A = node_term(requirement(ZONE, "In", "a"))
OWN, ADDED = Reason.NODE_AFFINITY, Reason.ENFORCED_NODE_AFFINITY
NEW = pod("new")
WEB = selector(app="web")


def plugin(added: Json | None = None, weight: int = 2) -> NodeSelectionPlugin:
    """Build the plugin with what is added to every pod's affinity."""
    found, faults = read_node_selection(json.dumps(added or {}).encode())
    assert faults == []
    return NodeSelectionPlugin(found, weight=weight)


def added(*terms: Json) -> NodeSelectionPlugin:
    """Build the plugin with required terms of its own."""
    return plugin({REQUIRED: {"nodeSelectorTerms": list(terms)}})


def refused(
    plugins: Plugins, raw: Pod, names: Sequence[str] = NAMES, state: ClusterState | None = None
) -> dict[str, AnyReason]:
    """Ask which nodes are refused, and why."""
    state = state or state_of(NODES, [], [])
    verdicts = judge(state, model_pod(raw), state.nodes.asked(names), plugins)
    found = {name: reason for reason, some in verdicts.refused for name in some}
    assert list(verdicts.fits.names) == [name for name in names if name not in found]
    assert sum(len(some) for _, some in verdicts.refused) == len(found)
    return found


@pytest.mark.parametrize(
    ("enforcing", "raw", "expected"),
    [
        pytest.param(plugin(), NEW, {}, id="no rules"),
        pytest.param(plugin(), NEW.selects(disk="ssd"), {"a2": OWN}, id="a node selector"),
        pytest.param(
            plugin(), NEW.selects(disk="x"), dict.fromkeys(NAMES, OWN), id="that no node has"
        ),
        pytest.param(
            plugin(), NEW.requires_nodes(node_term(requirement(ZONE, "Exists"))), {}, id="all"
        ),
        pytest.param(
            plugin(), NEW.requires_nodes(node_term(In="a2")), {"a1": OWN, "b1": OWN}, id="a name"
        ),
        pytest.param(
            plugin(),
            NEW.requires_nodes(node_term(In="a2"), node_term(In="b1")).selects(disk="ssd"),
            {"a1": OWN, "a2": OWN},
            id="two names and a selector",
        ),
        pytest.param(
            plugin(),
            NEW.requires_nodes(node_term(In="gone")),
            dict.fromkeys(NAMES, OWN),
            id="the name of no node",
        ),
        pytest.param(
            plugin(), NEW.requires_nodes(), dict.fromkeys(NAMES, OWN), id="no terms at all"
        ),
        pytest.param(added(IN_A), NEW, {"b1": ADDED}, id="what is added"),
        pytest.param(
            added(IN_A),
            NEW.selects(disk="ssd"),
            {"b1": ADDED, "a2": OWN},
            id="what is added and its own",
        ),
        pytest.param(
            added(IN_A),
            NEW.requires_nodes(node_term(In="a1")),
            {"b1": ADDED, "a2": OWN},
            id="what is added comes first",
        ),
    ],
)
def test_refusals(enforcing: NodeSelectionPlugin, raw: Pod, expected: Mapping[str, Reason]) -> None:
    assert refused([enforcing], raw) == expected
    assert enforcing.concerns(ClusterState(), model_pod(raw)) or not expected


def test_refusals_are_beyond_preemption_and_have_its_name() -> None:
    for reason in (OWN, ADDED):
        assert not reason.resolvable
        assert reason.plugin == NodeSelectionPlugin.name


def test_the_first_plugin_that_refuses_a_node_is_the_one_that_is_named() -> None:
    state = state_of(NODES, [], [pod("web").labels(app="web").on("a2")])
    raw = NEW.selects(disk="ssd").anti_affinity(term(ZONE, WEB))
    apart = InterPodAffinity()
    anti = Reason.ANTI_AFFINITY
    assert refused([apart, plugin()], raw, state=state) == {"a1": anti, "a2": anti}
    assert refused([plugin(), apart], raw, state=state) == {"a1": anti, "a2": OWN}


def test_a_node_that_is_not_known_is_not_judged() -> None:
    assert refused([plugin()], NEW.selects(disk="ssd"), ["x", "a2"]) == {
        "x": Reason.UNKNOWN_NODE,
        "a2": OWN,
    }


def test_a_pod_nominated_to_a_node_changes_nothing() -> None:
    state = state_of(NODES, [], [pod("other").anti_affinity(term(HOST, WEB)).nominated("a1")])
    raw = NEW.labels(app="web").selects(disk="ssd")
    assert refused([plugin(), InterPodAffinity()], raw, state=state) == {
        "a1": Reason.EXISTING_ANTI_AFFINITY,
        "a2": OWN,
    }


def scores(
    plugins: ScorePlugins, raw: Pod, names: Sequence[str] = NAMES, state: ClusterState | None = None
) -> dict[str, int]:
    """Ask for the scores that are not 0."""
    state = state or state_of(NODES, [], [])
    scored = prioritize(state, model_pod(raw), lambda: state.nodes.asked(names), plugins, 100)
    final = {name: scored.final[each] for name, each in zip(scored.names, scored.raw, strict=True)}
    return {name: score for name, score in final.items() if score}


PREFERS_A = {PREFERRED: [{"weight": 7, "preference": IN_A}]}


@pytest.mark.parametrize(
    ("scoring", "raw", "expected"),
    [
        pytest.param(plugin(), NEW, {}, id="no preferences"),
        pytest.param(
            plugin(), NEW.prefers_nodes(3, SSD), {"a1": 100, "b1": 100}, id="the best get 100"
        ),
        pytest.param(
            plugin(),
            NEW.prefers_nodes(3, SSD).prefers_nodes(4, IN_A),
            {"a1": 100, "a2": 57, "b1": 42},
            id="shares of the highest sum, truncated; the lowest is not 0",
        ),
        pytest.param(plugin(PREFERS_A), NEW, {"a1": 100, "a2": 100}, id="what is added"),
        pytest.param(
            plugin(PREFERS_A),
            NEW.prefers_nodes(3, SSD),
            {"a1": 100, "a2": 70, "b1": 30},
            id="what is added and its own",
        ),
        pytest.param(
            plugin(),
            NEW.prefers_nodes(1, node_term(In="a2")),
            {"a2": 100},
            id="a name",
        ),
        pytest.param(plugin(), NEW.selects(disk="ssd"), {}, id="what is required does not score"),
    ],
)
def test_scores(scoring: NodeSelectionPlugin, raw: Pod, expected: Mapping[str, int]) -> None:
    assert scores([scoring], raw) == expected


@pytest.mark.parametrize(
    "scoring",
    [
        pytest.param([plugin()], id="100 for each by one plugin"),
        pytest.param([plugin(weight=3), InterPodAffinity(weight=1)], id="150 for each by two"),
    ],
)
def test_no_node_is_named_when_all_are_preferred_alike(scoring: ScorePlugins) -> None:
    state = state_of(NODES, [], [pod("web").labels(app="web").on("b1")])
    raw = NEW.prefers_nodes(5, SSD).prefers(1, term(ZONE, selector(app="gone")))
    assert scores(scoring, raw, ["a1", "b1"], state) == {}
    assert scores(scoring, raw, ["a1", "a2", "b1"], state) != {}


def test_scores_are_scaled_over_the_nodes_of_the_request() -> None:
    raw = NEW.prefers_nodes(3, SSD).prefers_nodes(4, IN_A)
    assert scores([plugin()], raw, ["a2", "b1"]) == {"a2": 100, "b1": 75}


def test_the_sum_with_another_plugin() -> None:
    state = state_of(NODES, [], [pod("web").labels(app="web").on("b1")])
    raw = NEW.prefers_nodes(5, SSD).prefers(1, term(ZONE, WEB))
    both: ScorePlugins = [InterPodAffinity(weight=1), plugin(weight=3)]
    assert scores(both, raw, state=state) == {"a1": 150, "b1": 200}
    # Nothing to say adds nothing, neither where no term is nor where no node meets one.
    assert scores(both, NEW.prefers_nodes(5, SSD), state=state) == {"a1": 150, "b1": 150}
    nowhere = NEW.prefers(1, term(ZONE, WEB)).prefers_nodes(5, node_term(In="gone"))
    assert scores(both, nowhere, state=state) == {"b1": 50}


def test_a_pod_with_a_broken_preference_is_not_scored() -> None:
    state = state_of(NODES, [], [])
    raw = NEW.prefers_nodes(1, node_term(requirement("disk", "Near", "ssd")))
    with pytest.raises(ObjectError, match=r"preference.matchExpressions\[0\]: 'Near' is not an"):
        plugin().prepare(state, model_pod(raw))


async def test_it_is_answered_without_scores() -> None:
    answers = Answering(
        state_of(NODES, [], []),
        plugins=[plugin()],
        scoring=[plugin()],
        defer=lambda work: work(),
    )
    raw = NEW.prefers_nodes(1, node_term(requirement("disk", "Near", "ssd"))).selects(disk="ssd")
    body = {"Pod": raw, "Nodes": None, "NodeNames": NAMES}
    found = json.loads(await answers.filter(json.dumps(body).encode()))
    assert found["NodeNames"] == ["b1", "a1"]
    assert found["FailedAndUnresolvableNodes"] == {"a2": OWN.value}
    assert json.loads(await answers.prioritize(json.dumps(body).encode())) == []


@pytest.mark.thorough
@given(
    data=st.data(),
    cluster=strategies.clusters(most_pods=0),
    raw=strategies.with_node_affinity(NEW),
    more=strategies.added_affinities(),
)
def test_against_the_naive_evaluator(
    data: st.DataObject, cluster: Cluster, raw: Pod, more: Json | None
) -> None:
    names = data.draw(strategies.asked_names(cluster))
    state = state_of(cluster.nodes, [], [])
    expected = node_refusals(cluster, raw, names, more)
    found = refused([plugin(more)], raw, names, state)
    assert {name: reason.value for name, reason in found.items()} == {
        name: refusal.reason for name, refusal in expected.items()
    }
    known = [name for name in names if name in state.nodes]
    share = shares(raw_node_scores(cluster, raw, known, more))
    # A score that every node has is left out, as the scheduler would add it for nothing.
    differing = share if len({*share.values()}) > 1 else {}
    assert scores([plugin(more)], raw, names, state) == {
        name: score for name, score in differing.items() if score
    }


@pytest.mark.parametrize(
    ("asks", "by"),
    [
        pytest.param(NEW, None, id="for nothing"),
        pytest.param(NEW.prefers_nodes(1, SSD), None, id="for nothing that is required"),
        pytest.param(NEW.requires_nodes(SSD), "the watch is silent", id="for nodes"),
        pytest.param(NEW.selects(disk="ssd"), "the watch is silent", id="for labels"),
    ],
)
def test_nodes_that_a_pod_asks_for_are_judged_by_no_stale_state(asks: Pod, by: str | None) -> None:
    state = state_of(NODES, [], [])
    assert plugin().indeterminate(state, model_pod(asks)) is None
    state.stale = "the watch is silent"
    assert plugin().indeterminate(state, model_pod(asks)) == by
