"""The prioritize callback, from the request to the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.cluster.counts.nodes import NodeList
from extender.core.model.objects import Pod
from extender.core.ports import Hook
from extender.core.verbs.prioritizing import Scored
from tests.answering import Answering
from tests.builders import HOST, model_pod, pod, selector, state_of, term
from tests.serving import NODES, TOGETHER, Start, ask, question


async def test_prioritize_scores_up_to_the_configured_maximum(start: Start) -> None:
    answer = await ask(await start(), "/prioritize", question(TOGETHER, "b", "a"))
    assert answer == [{"Host": "a", "Score": 20}]


async def test_prioritize_knows_the_list_that_filter_answered(start: Start) -> None:
    client = await start()
    fits = (await ask(client, "/filter", question(TOGETHER, "b", "a")))["NodeNames"]
    assert await ask(client, "/prioritize", question(TOGETHER, *fits)) == [
        {"Host": "a", "Score": 20}
    ]


async def test_whole_nodes_are_scored_by_their_names(start: Start) -> None:
    body = {"Pod": TOGETHER, "Nodes": {"items": NODES}, "NodeNames": None}
    assert await ask(await start(), "/prioritize", body) == [{"Host": "a", "Score": 20}]


async def test_who_scores_wait_for_is_counted_where_the_watch_shows_it() -> None:
    web = selector(app="web")
    first, second = (
        pod(name).labels(app="web").prefers(-1, term(HOST, web)) for name in ("first", "second")
    )
    state = state_of(NODES, [], [])
    in_flight = InFlightPods(
        lambda *_: True, known=lambda each: state.pods.get(each.key), hold=10.0
    )
    state.pod_observers.append(in_flight.look_again)
    answers = Answering(state, plugins=(), in_flight_scores=in_flight)

    def asked(incoming: object) -> bytes:
        return json.dumps(question(incoming, "a", "b")).encode()

    assert json.loads(await answers.priorities.answer(asked(first))) == []
    waiting = asyncio.create_task(answers.priorities.answer(asked(second)))
    await asyncio.sleep(0)
    assert not waiting.done()
    state.upsert_pod(model_pod(first.on("a")))
    async with asyncio.timeout(5):
        assert json.loads(await waiting) == [{"Host": "b", "Score": 20}]


async def test_a_hook_may_score_in_place_of_the_plugins() -> None:
    class Scoring(Hook):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def asked(self, scheduler: str) -> None:
            self.heard.append(scheduler)

        def scores(self, pod: Pod, asked: Callable[[], NodeList], max_score: int) -> Scored | None:
            if pod.key != "default/mine":
                return None
            names = asked().names
            return Scored(names, [*range(len(names))], {0: 0, 1: max_score})

    hook = Scoring()
    answers = Answering(state_of(NODES, [], []), plugins=(), hooks=[Hook(), hook])
    for name, points in (("mine", [{"Host": "b", "Score": 20}]), ("other", [])):
        body = json.dumps(question(pod(name), "a", "b")).encode()
        assert json.loads(await answers.priorities.answer(body)) == points
    assert hook.heard == ["default-scheduler"] * 2


async def test_a_hook_that_finds_no_difference_leaves_none_to_the_plugins() -> None:
    class Flat(Hook):
        def scores(self, pod: Pod, asked: Callable[[], NodeList], max_score: int) -> Scored | None:
            del asked, max_score
            return Scored() if pod.key == "default/flat" else None

    there = pod("db").labels(app="db").on("a")
    answers = Answering(state_of(NODES, [], [there]), hooks=[Flat()])
    for name, points in (("flat", []), ("other", [{"Host": "a", "Score": 20}])):
        wishes = pod(name).prefers(10, term(HOST, selector(app="db")))
        body = json.dumps(question(wishes, "a", "b")).encode()
        assert json.loads(await answers.priorities.answer(body)) == points
