"""A bind, and a filter that waits for one, go by the labels of namespaces at their own moment."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.builders import ZONE, model_namespace, namespace, pod, selector, term
from tests.features.binding.test_binds import WAIT, BindRig, bind, filtered

RED = model_namespace(namespace("shop", {"team": "red"}))


WANTS = (
    pod("two")
    .labels(app="web")
    .anti_affinity(term(ZONE, selector(app="web"), namespaceSelector=selector(team="red")))
)
LIKE_IT = (
    pod("one", "shop")
    .labels(app="web")
    .anti_affinity(term(ZONE, selector(app="web"), namespaceSelector={}))
)


async def test_a_filter_that_was_held_goes_by_the_labels_of_its_end(aiohttp_client: Any) -> None:
    rig = BindRig(LIKE_IT, WANTS)
    client = await aiohttp_client(rig.app)
    assert await filtered(client, LIKE_IT) == ["a", "b"]
    waiting = asyncio.create_task(filtered(client, WANTS))
    assert await filtered(client, pod("plain")) == ["a", "b"]
    assert not waiting.done()
    async with asyncio.timeout(WAIT):
        rig.state.upsert_namespace(RED)
        assert await bind(client, LIKE_IT, "b") == ""
        assert await waiting == ["a"]


async def test_a_bind_goes_by_the_labels_of_its_own_moment(aiohttp_client: Any) -> None:
    rig = BindRig(pod("db", "shop").labels(app="web").on("a"), WANTS)
    client = await aiohttp_client(rig.app)
    assert await filtered(client, WANTS) == ["a", "b"]
    rig.state.upsert_namespace(RED)
    refused = "a since the filter call: node(s) didn't match pod anti-affinity rules"
    assert await bind(client, WANTS, "a") == refused
    assert await bind(client, WANTS, "b") == ""
