"""The filter callback, from the request to the answer."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.annotating import REQUIRED, annotated, stored
from tests.beside import needs_rules
from tests.builders import HOST, Pod, model_pod, node, pod, selector, state_of, term
from tests.serving import APART, NEW, NODES, OLD, WEB, Start, ask, question

OWN = "node(s) didn't match pod anti-affinity rules"
UNKNOWN = "node(s) unknown to the extender"


async def test_filter_refuses_by_the_rules(start: Start) -> None:
    answer = await ask(await start(), "/filter", question(APART, "b", "a", "stranger"))
    assert answer == {
        "Nodes": None,
        "NodeNames": ["b"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {
            "a": "node(s) didn't match pod anti-affinity rules",
            "stranger": "node(s) unknown to the extender",
        },
        "Error": "",
    }


async def test_a_pod_that_is_on_its_node_already_is_refused_nowhere(start: Start) -> None:
    """kube-scheduler 1.37 can ask about one whose resize is deferred; in-tree skips its rules."""
    answer = await ask(await start(), "/filter", question(APART.on("a"), "a"))
    assert answer["NodeNames"] == ["a"]
    assert answer["Error"] == ""


async def test_a_stranger_is_refused_only_to_whoever_asks_about_it(start: Start) -> None:
    client = await start()
    first = await ask(client, "/filter", question(APART, "b", "stranger"))
    assert first["NodeNames"] == ["b"]
    # The very list that was answered, as another filter call: it is recognised by its bytes.
    body = json.dumps(question(APART, "b"), separators=(",", ":")).encode()
    again = json.loads(await (await client.post("/filter", data=body)).read())
    assert again["FailedAndUnresolvableNodes"] == {}


@pytest.mark.parametrize(
    ("incoming", "refused"),
    [
        pytest.param(NEW, {}, id="no rule is about the pod"),
        pytest.param(APART, dict.fromkeys(("new", "ghost"), UNKNOWN) | {"a": OWN}, id="rules"),
    ],
)
@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param(NODES, id="all are known"),
        pytest.param([node("new", {HOST: "a"})], id="none is known"),
        pytest.param([node("new", {HOST: "new"}), NODES[1]], id="one of two is known"),
        pytest.param([node("ghost", {HOST: "ghost"})], id="a pod is bound there"),
        pytest.param([node("b", {HOST: "a"})], id="other labels than the watch has shown"),
        pytest.param([], id="no node at all"),
    ],
)
async def test_whole_nodes_are_judged_by_their_names(
    start: Start,
    registry: CollectorRegistry,
    incoming: Pod,
    refused: dict[str, str],
    nodes: list[dict[str, Any]],
) -> None:
    client = await start(state_of(NODES, [], [OLD, pod("early").on("ghost")]))
    names = [each["metadata"]["name"] for each in nodes]
    whole = {"Pod": incoming, "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": None}
    fits = [name for name in names if name not in refused]
    expected = {name: refused[name] for name in names if name in refused}
    answer = await ask(client, "/filter", whole)
    assert answer["Nodes"]["items"] == [each for each in nodes if each["metadata"]["name"] in fits]
    assert (answer["NodeNames"], answer["FailedNodes"], answer["Error"]) == (None, {}, "")
    assert answer["FailedAndUnresolvableNodes"] == expected
    named = await ask(client, "/filter", question(incoming, *names))
    assert (named["NodeNames"], named["FailedAndUnresolvableNodes"]) == (fits, expected)
    counted = [
        registry.get_sample_value("affinity_extender_schedule_attempts_total", {"result": result})
        for result in ("feasible", "unschedulable")
    ]
    assert sorted(map(int, filter(None, counted))) == [2], "each question is an attempt"


async def test_to_a_pod_that_no_rule_is_about_no_node_is_looked_up(start: Start) -> None:
    """In-tree, too, it fits on every node that the scheduler knows."""
    names = b'["b", "stranger", "a"]'
    body = b'{"Pod":%s,"NodeNames":%s}' % (json.dumps(NEW).encode(), names)
    answer = await (await (await start()).post("/filter", data=body)).read()
    assert names in answer
    assert b"stranger" not in answer.replace(names, b"")


async def test_a_label_that_was_edited_while_a_pod_waits_does_not_change_its_rules(
    start: Start,
) -> None:
    # No API server has merged the key here, so it is merged from the labels at creation.
    own_track = term(HOST, WEB, matchLabelKeys=["track"])
    created = NEW.labels(track="blue").anti_affinity(own_track)
    edited = created.labels(track="green")
    blue = pod("blue").labels(app="web", track="blue").on("a")
    green = pod("green").labels(app="web", track="green").on("b")
    state = state_of(NODES, [], [blue, green, created])
    client = await start(state)
    assert (await ask(client, "/filter", question(created, "a", "b")))["NodeNames"] == ["b"]
    state.upsert_pod(model_pod(edited))
    assert (await ask(client, "/filter", question(edited, "a", "b")))["NodeNames"] == ["b"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(question(APART, "b", "a", "stranger"), id="by names"),
        pytest.param({"Pod": APART, "Nodes": {"items": NODES}}, id="by whole nodes"),
    ],
)
async def test_filter_refuses_nothing_where_the_scheduler_has_the_rules(
    start: Start, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client = await start(enforce=False)
    for _ in range(2):
        answer = await ask(client, "/filter", body)
        assert answer["NodeNames"] == body.get("NodeNames")
        assert (answer["Nodes"] or {}).get("items") == (body.get("Nodes") or {}).get("items")
        assert not answer["FailedNodes"]
        assert not answer["FailedAndUnresolvableNodes"]
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1, "a mode that does not fit the scheduler's file is said once"


@needs_rules
@pytest.mark.parametrize("verb", ["/filter", "/prioritize"])
async def test_rules_that_were_not_judged_are_nothing_to_others(start: Start, verb: str) -> None:
    away = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(app="db"))]}}
    one = annotated(pod("one").labels(app="db"), away)
    state = state_of(NODES, [], [OLD, stored(one)])
    client = await start(state, enforce=False)
    if verb == "/filter":
        assert (await ask(client, verb, question(stored(one), "a", "b")))["NodeNames"] == ["a", "b"]
        state.stale = "a picture of yesterday"
        assert state.stale in (await ask(client, verb, question(stored(one), "a", "b")))["Error"]
    else:
        await ask(client, verb, question(stored(one), "a", "b"))
    # The scheduler goes on without an answer.
    state.upsert_pod(model_pod(stored(Pod(one).on("a"))))
    assert state.pods["default/one"].status.judged == ""


@needs_rules
@pytest.mark.parametrize("admitted", [True, False], ids=["let onto a node", "refused everywhere"])
async def test_rules_by_which_a_pod_was_refused_everywhere_are_nothing_to_others(
    start: Start, *, admitted: bool
) -> None:
    """It was placed by another replica's word then, or by none; its nomination is ours."""
    ruled = annotated(pod("ruled"), {"podAntiAffinity": {REQUIRED: [term(HOST, WEB)]}})
    state = state_of(NODES, [], [OLD, stored(ruled)])
    client = await start(state, enforce=False)
    answer = await ask(client, "/filter", question(stored(ruled), *("ab" if admitted else "a")))
    assert answer["NodeNames"] == (["b"] if admitted else [])
    state.upsert_pod(model_pod(stored(Pod(ruled).nominated("b"))))
    assert state.pods["default/ruled"].status.judged
    state.upsert_pod(model_pod(stored(ruled)))
    state.upsert_pod(model_pod(stored(Pod(ruled).on("b"))))
    assert bool(state.pods["default/ruled"].status.judged) is admitted
