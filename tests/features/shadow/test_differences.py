"""Mode shadow: answers change nothing, and what would have differed is counted and said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.verdict import INTER_POD_AFFINITY as PLUGIN
from extender.core.model.verdict import AnyReason
from extender.core.verbs.plugins import FilterPlugin, Plugins
from extender.core.verbs.rules import Rule
from extender.core.warm_up import AT_MOST, WarmUp
from extender.core.wire.limits import OF_RULES
from extender.core.wire.objects import PodReader
from extender.features.shadow.differences import LOG_PAUSE_SECONDS, ShadowDifferences
from extender.features.shadow.part import Shadowing
from tests.answering import Answering
from tests.beside import RULES
from tests.builders import (
    HOST,
    every_facet,
    model_pod,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.hostile import crowded, hostile
from tests.verbs.judging import AFFINITY

NAMES = ["a", "b"]
WEB = selector(app="web")
OLD = pod("old").labels(app="web").on("a")
NEW = pod("new").labels(app="web")
APART = NEW.anti_affinity(term(HOST, WEB))
NEAR_DB = pod("api").affinity(term(HOST, selector(app="db")))

OWN_RULE = "node(s) didn't match pod anti-affinity rules"
NO_COMPANY = "node(s) didn't match pod affinity rules"
UNKNOWN = "node(s) unknown to the extender"


class Shadow:
    """Answers in mode shadow, over a small cluster, with a clock that tests move."""

    def __init__(
        self,
        unready: str | None = None,
        plugins: Plugins = AFFINITY,
        state: ClusterState | None = None,
        budget: int = AT_MOST.budget,
    ) -> None:
        nodes = [node(name, {HOST: name}) for name in NAMES]
        self.state = state or state_of(nodes, [], [OLD])
        self.registry = CollectorRegistry()
        self.now = 0.0
        metrics = Metrics(self.registry, "test")
        disagreements = ShadowDifferences(
            Shadowing.metrics(metrics.make), plugins, clock=lambda: self.now
        )
        pods = PodReader(facets=every_facet(), rules=RULES)
        self.answers = Answering(
            self.state,
            metrics,
            (),
            unready=lambda: unready,
            pods=pods,
            warm_up=WarmUp(self.state, metrics, budget=budget),
            judging=disagreements,
            defer=lambda work: work(),
        )

    async def filter(self, incoming: Any, names: list[str]) -> Any:
        body = {"Pod": incoming, "Nodes": None, "NodeNames": names}
        return json.loads(await self.answers.filter(json.dumps(body).encode()))

    async def prioritize(self, incoming: Any, names: list[str]) -> Any:
        body = {"Pod": incoming, "Nodes": None, "NodeNames": names}
        return json.loads(await self.answers.prioritize(json.dumps(body).encode()))

    def counted(self) -> dict[str, float]:
        """Return the disagreements that are not 0, by reason."""
        return {
            sample.labels["reason"]: sample.value
            for metric in self.registry.collect()
            for sample in metric.samples
            if sample.name == "affinity_extender_shadow_disagreements_total" and sample.value
        }

    def seen(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"affinity_extender_{name}", labels)


@pytest.fixture
def shadow() -> Shadow:
    return Shadow()


async def test_every_node_passes(shadow: Shadow) -> None:
    assert await shadow.filter(APART, ["b", "a", "stranger"]) == {
        "Nodes": None,
        "NodeNames": ["b", "a", "stranger"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


async def test_whole_nodes_pass_as_well(shadow: Shadow) -> None:
    items = [node("stranger"), node("a", {HOST: "a"})]
    body = {"Pod": APART, "Nodes": {"items": items}, "NodeNames": None}
    answer = json.loads(await shadow.answers.filter(json.dumps(body).encode()))
    assert answer["Nodes"]["items"] == items


async def test_scores_are_measured_and_not_given(shadow: Shadow) -> None:
    liking = NEW.prefers(1, term(HOST, WEB))
    assert await shadow.prioritize(liking, NAMES) == []
    labels = {"plugin": PLUGIN, "extension_point": "Score", "status": "Success"}
    assert shadow.seen("plugin_execution_duration_seconds_count", **labels) == 1


async def test_what_differs_is_counted_by_reason(
    shadow: Shadow, caplog: pytest.LogCaptureFixture
) -> None:
    await shadow.filter(APART, ["a", "b", "stranger"])
    assert shadow.counted() == {OWN_RULE: 1, UNKNOWN: 1}
    (line,) = caplog.messages
    assert line == (
        "the scheduler would place default/new where the extender would not: "
        f"{UNKNOWN}: stranger; {OWN_RULE}: a"
    )


class Whim(AnyReason):
    """A reason of a plugin's own."""

    NO = "not today"

    @property
    def plugin(self) -> str:
        """Return the plugin's name."""
        return "Whims"


class No(Rule):
    """Refuses every node."""

    reason = Whim.NO
    what = "a whim"


class Whims(FilterPlugin):
    """A plugin of a feature, with reasons that the core does not know."""

    name = "Whims"
    reasons = tuple(Whim)

    def rules(self, state: ClusterState, pod: ModelPod) -> Sequence[Rule]:
        """Refuse the pod everywhere."""
        del state, pod
        return (No(),)


async def test_what_a_plugin_of_a_feature_refuses_differs_for_its_own_reason() -> None:
    shadow = Shadow(plugins=(*AFFINITY, Whims()))
    assert shadow.seen("shadow_disagreements_total", plugin="Whims", reason="not today") == 0
    answer = await shadow.filter(APART, ["b", "a"])
    assert answer["NodeNames"] == ["b", "a"]
    assert shadow.counted() == {OWN_RULE: 1, "not today": 1}
    name = "plugin_execution_duration_seconds_count"
    refused = {"extension_point": "Filter", "status": "UnschedulableAndUnresolvable"}
    assert shadow.seen(name, plugin="Whims", **refused) == 1


async def test_agreement_leaves_no_trace(shadow: Shadow, caplog: pytest.LogCaptureFixture) -> None:
    await shadow.filter(APART, ["b"])
    assert (shadow.counted(), caplog.messages) == ({}, [])
    zero = shadow.seen("shadow_disagreements_total", plugin=PLUGIN, reason=OWN_RULE)
    assert zero == 0, "the series is there from the start"


async def test_nothing_counts_as_refused(shadow: Shadow) -> None:
    await shadow.filter(APART, ["a"])
    assert shadow.seen("schedule_attempts_total", result="feasible") == 1
    assert shadow.seen("nodes_filtered_total", reason=OWN_RULE) == 0
    verdict = {"extension_point": "Filter", "status": "Unschedulable"}
    assert shadow.seen("plugin_execution_duration_seconds_count", plugin=PLUGIN, **verdict) == 1


async def test_company_that_our_watch_has_not_shown_yet_counts(shadow: Shadow) -> None:
    """The scheduler counts what it has just placed; a difference that comes of that stays."""
    await shadow.filter(NEAR_DB, ["a", "b"])
    assert shadow.counted() == {NO_COMPANY: 2}
    shadow.state.upsert_pod(model_pod(pod("db").labels(app="db").on("b")))
    await shadow.filter(NEAR_DB, ["b"])
    assert shadow.counted() == {NO_COMPANY: 2}


async def test_a_line_names_few_nodes(shadow: Shadow, caplog: pytest.LogCaptureFixture) -> None:
    await shadow.filter(NEW, [f"n{number}" for number in range(9)])
    assert caplog.messages[0].endswith(f"{UNKNOWN}: n0, n1, n2, n3, n4 and 4 more")


async def test_lines_come_no_faster_than_people_read(
    shadow: Shadow, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        await shadow.filter(APART, ["a"])
    assert len(caplog.messages) == 1
    shadow.now += LOG_PAUSE_SECONDS
    await shadow.filter(APART, ["a"])
    assert len(caplog.messages) == 2
    assert caplog.messages[1].endswith("(and 2 times before, not logged)")
    assert shadow.counted() == {OWN_RULE: 4}, "counted all the same"


async def test_a_fault_is_an_error_that_the_scheduler_may_ignore() -> None:
    shadow = Shadow(unready="pods not synced yet")
    answer = await shadow.filter(APART, ["a"])
    assert "pods not synced yet" in answer["Error"]
    assert await shadow.prioritize(APART, ["a"]) == []
    assert shadow.counted() == {}


@pytest.mark.parametrize("budget", [10**9, 5_000], ids=["long", "too long"])
async def test_no_call_waits_for_rules_that_take_long_to_compare(budget: int) -> None:
    shadow = Shadow(state=crowded(classes=700, pods=700, nodes=20), budget=budget)
    costly = hostile(OF_RULES.terms)
    for _ in range(2):
        answer = await shadow.filter(costly, ["n0", "n1"])
        assert (answer["NodeNames"], answer["Error"]) == (["n0", "n1"], "")
        assert await shadow.prioritize(costly, ["n0", "n1"]) == []
        assert not shadow.seen("question_slices_total"), "nothing was counted meanwhile"
    assert shadow.counted() == {}
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
    await shadow.filter(costly, ["n0", "n1"])
    compared = shadow.counted() == {OWN_RULE: 2}
    assert compared is (budget > 5_000), "the next attempt is compared, if that can be at all"
    assert bool(shadow.seen("questions_over_budget_total")) is not compared
    assert shadow.seen("schedule_attempts_total", result="feasible") == 3
