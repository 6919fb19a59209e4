"""The page of quotas."""

from __future__ import annotations

from typing import Any

from tests.builders import HOST, ZONE, crossing, node, pod, quota, selector, state_of, term
from tests.features.quota.showing import part_over
from tests.web.reading import read_page
from tests.web.showing import app_of, shown

ACROSS = pod("x", "shop").affinity(term(ZONE, selector(app="db"), namespaces=["default"]))


async def test_who_uses_affinity_across_namespaces(aiohttp_client: Any) -> None:
    limits = [quota("q", {"pods": "0"}, crossing(), namespace_name="shop")]
    state = state_of([node("a", {HOST: "a", ZONE: "z"})], [], [ACROSS], limits)
    client = await aiohttp_client(app_of(shown(state), parts=[part_over(state)]))
    text = await read_page(client, "/page/quotas?sort=refused", 200)
    assert "needs a quota that allows it" in text
    assert "shop 0 1 1 shop/x : pods: no room q: pods 0 of 0" in text


async def test_nothing_is_shown_of_a_cluster_that_is_not_known(aiohttp_client: Any) -> None:
    state = state_of([], [], [])
    part = part_over(state, unready="pods not synced yet")
    client = await aiohttp_client(app_of(shown(state), parts=[part]))
    assert "pods not synced yet" in await read_page(client, "/page/quotas", 503)
