"""The prioritize callback, from the request to the answer."""

from __future__ import annotations

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
