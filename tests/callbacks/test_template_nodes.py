"""Filter calls about nodes that the cluster does not have: an autoscaler plays through what if."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from extender.callbacks import template_nodes
from extender.callbacks.in_flight import InFlightPods
from extender.cluster.audits.recount import audit
from extender.cluster.state import ClusterState
from extender.metrics import Metrics
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.warm_up import WarmUp
from tests import strategies
from tests.annotating import REQUIRED, annotated, stored
from tests.answering import Answering
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
    model_node,
    model_pod,
    node,
    node_term,
    pod,
    requirement,
    selector,
    state_of,
    term,
)
from tests.controllers.nominating import NominationRig
from tests.oracle import Args, Cluster
from tests.serving import APART, NEW, NODES, OLD, TOGETHER, WEB, Start, ask, question
from tests.verbs.judging import expected_refusals

UNKNOWN = "node(s) unknown to the extender"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
PLUGINS = (InterPodAffinity(), NodeAffinityPlugin())
PAUSE = 0.25
UNREAD = Metrics()


def whole(incoming: Json, nodes: Sequence[Json]) -> dict[str, Any]:
    """Ask about some nodes as a caller does that trusts nobody to know them."""
    return {"Pod": incoming, "Nodes": {"metadata": {}, "items": [*nodes]}, "NodeNames": None}


def verdicts(answer: Any) -> dict[str, str]:
    """Return the refused nodes with their reasons, once the others are seen to be returned."""
    assert answer["Error"] == ""
    assert answer["NodeNames"] is None
    return {**answer["FailedNodes"], **answer["FailedAndUnresolvableNodes"]}


def drawn_template(name: str) -> st.SearchStrategy[Json]:
    """Draw a node of a group that is to grow, perhaps in a zone or over a key that is new."""
    pool = {**strategies.NODE_LABELS, ZONE: ("x", "y", "new"), HOST: (name, "node-0", "new")}
    return strategies.labels(pool).map(lambda labels: node(name, labels))


@pytest.mark.thorough
@given(data=st.data())
async def test_a_template_is_judged_as_the_node_would_be(data: st.DataObject) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    incoming: Any = data.draw(strategies.incoming_pods(cluster, placed=False), label="pod")
    names = [f"template-{number}" for number in range(3)]
    templates = [data.draw(drawn_template(name), label=name) for name in names]
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)
    before = fingerprint(state)

    body = json.dumps(whole(incoming, templates)).encode()
    answer = json.loads(await Answering(state, UNREAD).filter(body))
    refused = verdicts(answer)
    assert answer["Nodes"]["items"] == [each for each in templates if name_of(each) not in refused]
    grown = Cluster([*cluster.nodes, *templates], cluster.namespaces, cluster.pods)
    assert refused == expected_refusals(grown, incoming, names, Args())
    assert fingerprint(state) == before

    demand = Answering(state, UNREAD, PLUGINS)
    demanding = data.draw(strategies.with_node_affinity(Pod(incoming)), label="with node affinity")
    body = json.dumps(whole(demanding, templates)).encode()
    refused = verdicts(json.loads(await demand.filter(body)))
    for each in templates:
        state.upsert_node(model_node(each))
    real = json.loads(await demand.filter(body))
    assert refused == verdicts(real), "and so it is once the nodes are there"


def name_of(raw: Json) -> str:
    """Return the name of a node."""
    name: str = raw["metadata"]["name"]
    return name


def fingerprint(state: ClusterState) -> tuple[object, ...]:
    """Return everything that could keep a trace, once the counters are seen to be right."""
    assert not [found for found in audit(state) if found is not None]
    return (
        state.version,
        {name: dict(state.nodes.labels(name)) for name in state.nodes},
        [*state.nodes.names],
        [*state.reservations],
        [(each.key, each.status.nominated) for each in state.nominated.pods],
        dict(state.pods),
    )


class Autoscaler:
    """Cluster Autoscaler's estimate: may the pods that wait go to new nodes of a group?"""

    def __init__(self, answers: Answering) -> None:
        self._answers = answers

    async def verdict(self, waiting: Json, template: Json) -> str | None:
        """Return why a pod may not go to a node, None if it may."""
        body = json.dumps(whole(waiting, [template])).encode()
        return verdicts(json.loads(await self._answers.filter(body))).get(name_of(template))


async def test_an_autoscaler_finds_the_group_that_helps_and_leaves_no_trace() -> None:
    real = [node(f"n-{zone}", {HOST: f"n-{zone}", ZONE: zone}) for zone in ("zone-a", "zone-b")]
    groups = {
        zone: node(f"template-{zone}-7f3", {HOST: f"template-{zone}-7f3", ZONE: zone, "gpu": "no"})
        for zone in ("zone-a", "zone-b", "zone-c")
    }
    webs = [pod(f"web-{n}").labels(app="web").anti_affinity(term(ZONE, WEB)) for n in range(4)]
    near = pod("near").affinity(term(ZONE, WEB))
    picky = pod("picky").requires_nodes(node_term(requirement("gpu", "In", "yes")))
    rig = NominationRig(webs[0].on("n-zone-a"), webs[1].on("n-zone-b"), webs[2], near, picky)
    state = rig.state
    for name in [*state.nodes]:
        state.remove_node(name)
    for each in real:
        state.upsert_node(model_node(each))
    in_flight = InFlightPods(lambda *_: True, hold=60.0)
    answers = Answering(state, plugins=PLUGINS, in_flight=in_flight, nomination=rig.controller)
    before = fingerprint(state)

    autoscaler = Autoscaler(answers)
    found = {
        each["metadata"]["name"]: {
            zone: await autoscaler.verdict(each, template) for zone, template in groups.items()
        }
        for each in (webs[2], near, picky)
    }
    assert found == {
        "web-2": {"zone-a": ANTI_AFFINITY, "zone-b": ANTI_AFFINITY, "zone-c": None},
        "near": {"zone-a": None, "zone-b": None, "zone-c": AFFINITY},
        "picky": dict.fromkeys(groups, NODE_AFFINITY),
    }
    await rig.pass_time(PAUSE)
    assert fingerprint(state) == before
    assert rig.api.made == []
    assert rig.controller.outstanding == 0
    assert not in_flight.interacting(model_pod(webs[3])), "nobody waits for a pod of a what if"
    # The group that helps has grown: the scheduler asks by name, and the verdict is the same.
    live = Answering(state, plugins=PLUGINS)
    for template in groups.values():
        state.upsert_node(model_node(template))
    for each in (webs[2], near, picky):
        body = json.dumps(question(each, *map(name_of, groups.values()))).encode()
        answer = json.loads(await live.filter(body))["FailedAndUnresolvableNodes"]
        assert {zone: answer.get(name_of(groups[zone])) for zone in groups} == found[
            each["metadata"]["name"]
        ]


async def test_a_refused_pod_stays_refused_whatever_an_autoscaler_hears() -> None:
    """A template that fits must not end the search for a node that is there."""
    two = APART.uid("default-new")
    rig = NominationRig(OLD, two)
    rig.refuse(two)
    answers = Answering(rig.state, nomination=rig.controller)
    template = node("template", {HOST: "template"})
    assert await Autoscaler(answers).verdict(two, template) is None
    await rig.pass_time()
    assert rig.api.made == [("new", None, "b")]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param([node("t", {HOST: "t"})], {}, id="none is known"),
        pytest.param([node("t", {HOST: "a"})], {"t": ANTI_AFFINITY}, id="in a known domain"),
        pytest.param([NODES[1], node("t", {HOST: "t"})], {"t": UNKNOWN}, id="one of two is known"),
        pytest.param([node("ghost", {HOST: "g"})], {"ghost": UNKNOWN}, id="a pod is bound there"),
        pytest.param([], {}, id="no node at all"),
    ],
)
async def test_templates_are_whole_nodes_none_of_which_is_known(
    start: Start, nodes: list[Json], expected: dict[str, str]
) -> None:
    state = state_of(NODES, [], [OLD, pod("early").on("ghost")])
    answer = await ask(await start(state), "/filter", whole(APART, nodes))
    assert verdicts(answer) == expected
    assert answer["Nodes"]["items"] == [each for each in nodes if name_of(each) not in expected]


async def test_a_name_alone_says_nothing_of_a_node(start: Start) -> None:
    answer = await ask(await start(), "/filter", question(APART, "t"))
    assert answer["FailedAndUnresolvableNodes"] == {"t": UNKNOWN}


async def test_templates_have_no_scores(start: Start) -> None:
    client = await start()
    assert await ask(client, "/prioritize", whole(TOGETHER, [node("t", {HOST: "a"})])) == []


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({"rack": "r", "row": "1"}, {}, id="both keys"),
        pytest.param({"rack": "r"}, {"t": AFFINITY}, id="one of them"),
        pytest.param({"row": "1"}, {"t": AFFINITY}, id="the other"),
    ],
)
async def test_the_first_of_a_group_needs_every_key_though_no_node_has_any(
    start: Start, labels: dict[str, str], expected: dict[str, str]
) -> None:
    first = NEW.affinity(term("rack", WEB), term("row", WEB))
    answer = await ask(
        await start(state_of(NODES, [], [])), "/filter", whole(first, [node("t", labels)])
    )
    assert verdicts(answer) == expected


async def test_placed_pods_keep_others_away_from_a_template_of_their_zone(start: Start) -> None:
    zoned = [node(name, {HOST: name, ZONE: "z"}) for name in ("a", "b")]
    loner = pod("loner").anti_affinity(term(ZONE, WEB)).on("a")
    client = await start(state_of(zoned, [], [loner]))
    templates = [node(f"t-{zone}", {ZONE: zone}) for zone in ("z", "y")]
    assert verdicts(await ask(client, "/filter", whole(NEW, templates))) == {"t-z": EXISTING}


async def test_rules_in_annotations_that_were_played_through_bind_nobody(start: Start) -> None:
    away = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(app="db"))]}}
    one = stored(annotated(pod("one").labels(app="db"), away))
    state = state_of(NODES, [], [OLD, one])
    answer = await ask(
        await start(state, enforce=False), "/filter", whole(one, [node("t", {HOST: "t"})])
    )
    assert verdicts(answer) == {}
    state.upsert_pod(model_pod(Pod(one).on("a")))
    assert state.pods["default/one"].status.judged == ""


async def test_no_attempt_is_counted(start: Start, registry: CollectorRegistry) -> None:
    client = await start()
    await ask(client, "/filter", whole(APART, [node("t", {HOST: "a"})]))
    name = "affinity_extender_schedule_attempts_total"
    for result in ("feasible", "unschedulable", "error"):
        assert registry.get_sample_value(name, {"result": result}) == 0


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        pytest.param(node("t") | {"metadata": {"name": "t", "labels": 5}}, "labels", id="labels"),
        pytest.param(node("t", {"x": "y" * 9_000}), "larger than", id="too large"),
    ],
)
async def test_a_template_that_cannot_be_read_is_named(
    start: Start, broken: Json, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template_nodes, "MOST_BYTES", 8_000)
    answer = await ask(await start(), "/filter", whole(APART, [node("s"), broken]))
    assert answer["Error"].startswith("Nodes.items[1]")
    assert says in answer["Error"]


async def test_more_templates_than_the_time_allows_are_an_error() -> None:
    """A clock on which each look takes a second: the answer is whole, or none."""
    seconds = iter(range(1_000))
    state = state_of(NODES, [], [OLD])
    metrics = Metrics()
    warm_up = WarmUp(state, metrics, clock=lambda: float(next(seconds)))
    answers = Answering(state, metrics, warm_up=warm_up)
    many = [node(f"t-{number}", {HOST: f"t-{number}"}) for number in range(50)]
    answer = json.loads(await answers.filter(json.dumps(whole(APART, many)).encode()))
    assert "of 50 nodes that the cluster does not have could be judged" in answer["Error"]
    assert answer["Nodes"] is None


async def test_others_are_answered_between_two_templates() -> None:
    """Each slice ends with a turn of the loop, in which the state may change as it likes."""
    state = state_of(NODES, [], [])
    metrics = Metrics()
    looks = 0.0

    def clock() -> float:
        nonlocal looks
        looks += 0.01
        if looks > 0.1 and "c" not in state.nodes:
            state.upsert_node(model_node(node("c", {HOST: "c"})))
            state.upsert_pod(model_pod(pod("late").labels(app="web").on("c")))
        return looks

    answers = Answering(state, metrics, warm_up=WarmUp(state, metrics, clock=clock))
    nodes = [node(f"t-{number}", {HOST: "c"}) for number in range(20)]
    answer = json.loads(await answers.filter(json.dumps(whole(APART, nodes)).encode()))
    refused = verdicts(answer)
    assert 0 < len(refused) < len(nodes), "each node by the state of its own step"
    assert set(refused.values()) == {ANTI_AFFINITY}


async def test_where_nothing_is_enforced_a_template_passes(start: Start) -> None:
    client = await start(enforce=False)
    assert verdicts(await ask(client, "/filter", whole(APART, [node("t", {HOST: "a"})]))) == {}


async def test_a_stale_picture_is_no_ground_for_a_verdict(start: Start) -> None:
    state = state_of(NODES, [], [OLD])
    state.stale = "the watch of pods is silent"
    answer = await ask(await start(state), "/filter", whole(APART, [node("t", {HOST: "t"})]))
    assert answer["Error"] == "the watch of pods is silent"
