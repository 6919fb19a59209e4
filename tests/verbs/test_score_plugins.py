"""Several score plugins: each normalises its own scores, and their weighted sum is answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from extender.core.metrics import Metrics
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import (
    MAX_NODE_SCORE,
    ScorePlugin,
    ScorePlugins,
    add_up,
    leading,
)
from extender.core.verbs.prioritizing import prioritize
from tests.answering import Answering
from tests.builders import (
    HOST,
    ZONE,
    model_pod,
    node,
    node_term,
    pod,
    requirement,
    selector,
    state_of,
    term,
)

if TYPE_CHECKING:
    from extender.core.cluster.counts.nodes import NodeList
    from extender.core.cluster.state import ClusterState
    from extender.core.model.objects import Pod
    from extender.core.verbs.plugins import Scorer

NODES = [
    node("a1", {HOST: "a1", ZONE: "a", "speed": "9"}),
    node("a2", {HOST: "a2", ZONE: "a", "speed": "3"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
]
NAMES = ["b1", "a2", "a1"]
WEB = selector(app="web")
CLUSTER = state_of(NODES, [], [pod("web").labels(app="web").on("a1")])
# InterPodAffinity: a1 100, a2 60, b1 0.
DRAWN = pod("new").prefers(60, term(ZONE, WEB)).prefers(40, term(HOST, WEB))
INDIFFERENT = pod("new")
SLOW = pod("new").labels(slow="yes")


@dataclass(frozen=True)
class Speed(ScorePlugin):
    """Scores nodes by a label, as shares of the highest: a1 100, a2 33, b1 0.

    About slow pods it says nothing.
    """

    weight: int = 1
    name: ClassVar[str] = "Speed"

    def prepare(self, state: ClusterState, pod: Pod) -> Scorer | None:
        """Abstain where the pod says so."""
        return None if "slow" in pod.pod_class.labels else _Speeds(state)


class _Speeds:
    def __init__(self, state: ClusterState) -> None:
        self._state = state

    def raw(self, asked: NodeList) -> Sequence[int]:
        return [int(self._state.nodes.labels(name).get("speed", "0")) for name in asked.names]

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        distinct = set(raw)
        highest = max(distinct) or 1
        return {score: MAX_NODE_SCORE * score // highest for score in distinct}


def scores(
    plugins: ScorePlugins,
    incoming: Mapping[str, object],
    names: Sequence[str] = NAMES,
    max_score: int = 100,
) -> dict[str, int]:
    """Ask for the scores that are not 0."""
    asked = CLUSTER.nodes.asked(names)
    scored = prioritize(CLUSTER, model_pod(incoming), lambda: asked, plugins, max_score)
    final = [scored.final[raw] for raw in scored.raw]
    return {name: score for name, score in zip(scored.names, final, strict=True) if score}


AFFINITY = InterPodAffinity(weight=2)


@pytest.mark.parametrize(
    ("plugins", "incoming", "max_score", "expected"),
    [
        pytest.param([AFFINITY], DRAWN, 100, {"a1": 100, "a2": 60}, id="one plugin"),
        pytest.param(
            [Speed()], DRAWN, 100, {"a1": 50, "a2": 16}, id="one of half the usual weight"
        ),
        pytest.param(
            [InterPodAffinity(weight=1), Speed()],
            DRAWN,
            100,
            {"a1": 100, "a2": 46},
            id="two of half the usual weight: (60 + 33) / 2, truncated",
        ),
        pytest.param(
            [AFFINITY, Speed()],
            DRAWN,
            100,
            {"a1": 150, "a2": 76},
            id="each by its weight: (2 * 60 + 33) / 2",
        ),
        pytest.param(
            [Speed(), AFFINITY],
            DRAWN,
            100,
            {"a1": 150, "a2": 76},
            id="their order is no matter",
        ),
        pytest.param(
            [AFFINITY, Speed(weight=100)],
            DRAWN,
            100,
            {"a1": 5100, "a2": 1710},
            id="a hundred to two: (2 * 60 + 100 * 33) / 2",
        ),
        pytest.param(
            [AFFINITY, Speed(weight=2)],
            DRAWN,
            20,
            {"a1": 40, "a2": 18},
            id="then to the configured span: (60 + 33) * 20 / 100",
        ),
        pytest.param(
            [InterPodAffinity(weight=1), Speed()],
            DRAWN,
            13,
            {"a1": 13, "a2": 6},
            id="truncated once: 46.5 * 13 / 100 is 6.045, where 46 * 13 / 100 would be 5.98",
        ),
        pytest.param(
            [AFFINITY, Speed(weight=2)],
            INDIFFERENT,
            100,
            {"a1": 100, "a2": 33},
            id="a plugin without a rule about the pod adds nothing",
        ),
        pytest.param(
            [AFFINITY, Speed()],
            DRAWN.labels(slow="yes"),
            100,
            {"a1": 100, "a2": 60},
            id="nor does one that abstains",
        ),
        pytest.param([AFFINITY, Speed()], SLOW, 100, {}, id="no plugin has anything to say"),
        pytest.param([], DRAWN, 100, {}, id="no plugin is asked"),
    ],
)
def test_the_weighted_sum(
    plugins: ScorePlugins,
    incoming: Mapping[str, object],
    max_score: int,
    expected: dict[str, int],
) -> None:
    assert scores(plugins, incoming, max_score=max_score) == expected


@given(
    weights=st.lists(st.integers(1, 100), min_size=2, max_size=2),
    max_score=st.integers(1, 100),
    own=st.integers(1, 100),
)
def test_a_node_term_that_all_nodes_meet_changes_no_difference(
    weights: list[int], max_score: int, own: int
) -> None:
    """The node that wins in the scheduler is the same with the term and without it.

    One may be truncated where the other is not, so differences agree to 1.
    """
    of_pods, of_nodes = weights
    both: ScorePlugins = [InterPodAffinity(weight=of_pods), NodeSelectionPlugin(weight=of_nodes)]
    everywhere = DRAWN.prefers_nodes(own, node_term(requirement("gone", "DoesNotExist")))
    alone = scores(both, DRAWN, max_score=max_score)
    beside = scores(both, everywhere, max_score=max_score)
    for one, other in pairwise(NAMES):
        gained = beside.get(one, 0) - beside.get(other, 0)
        assert abs(gained - (alone.get(one, 0) - alone.get(other, 0))) <= 1


def test_each_plugin_normalises_over_the_nodes_of_the_request() -> None:
    # By affinity, a2 is the best and b1 the worst of the two; so it is by speed.
    assert scores([AFFINITY, Speed()], DRAWN, ["a2", "b1"]) == {"a2": 150}


def test_a_plugin_for_which_all_nodes_are_alike_takes_nothing_from_the_others() -> None:
    # Both nodes of the zone score 0 by affinity.
    near = pod("new").prefers(10, term(ZONE, WEB))
    assert scores([AFFINITY, Speed(weight=2)], near, ["a1", "a2"]) == {"a1": 100, "a2": 33}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param([(1, 2, 3)], [1, 2, 3], id="one"),
        pytest.param([(1, 2, 3), (4, 5, 6), (1, 1, 1)], [6, 8, 10], id="numbers throughout"),
        pytest.param([[7] * 5, (0, 0, -3, 0, 0)], [7, 7, 4, 7, 7], id="mostly 0"),
        pytest.param([(0, 0, 0, 0, 2), [0, 0, 0, 3, 0]], [0, 0, 0, 3, 2], id="0 in both"),
    ],
)
def test_scores_are_added_node_by_node(parts: list[Sequence[int]], expected: list[int]) -> None:
    before = [list(each) for each in parts]
    assert list(add_up(parts)) == expected
    assert [list(each) for each in parts] == before


async def test_each_plugin_is_observed_by_its_own_name() -> None:
    registry = CollectorRegistry()
    answers = Answering(
        CLUSTER, Metrics(registry), scoring=[AFFINITY, Speed()], defer=lambda work: work()
    )
    for incoming in (DRAWN, INDIFFERENT):
        body = {"Pod": incoming, "Nodes": None, "NodeNames": NAMES}
        await answers.prioritize(json.dumps(body).encode())
    for plugin in ("InterPodAffinity", "Speed"):
        labels = {"plugin": plugin, "extension_point": "Score", "status": "Success"}
        name = "affinity_extender_plugin_execution_duration_seconds_count"
        assert registry.get_sample_value(name, labels) == 2


@pytest.mark.parametrize(
    ("plugins", "name"),
    [
        pytest.param([Speed(), AFFINITY], "InterPodAffinity", id="the one that compares pods"),
        pytest.param([Speed()], "Speed", id="the first, where none does"),
        pytest.param([], "InterPodAffinity", id="where there is none"),
    ],
)
def test_the_name_of_a_step_that_plugins_take_together(plugins: ScorePlugins, name: str) -> None:
    assert leading(plugins) == name
