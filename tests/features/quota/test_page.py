"""The page of quotas."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from extender.core.web.limits import WITHIN
from extender.features.quota.rules import shortfall
from tests.builders import HOST, ZONE, crossing, node, pod, quota, selector, state_of, term
from tests.features.quota.showing import part_over
from tests.web.reading import read_page
from tests.web.showing import app_of, shown

CROSSING = term(ZONE, selector(app="db"), namespaces=["default"])
ACROSS = pod("x", "shop").affinity(CROSSING)


async def test_who_uses_affinity_across_namespaces(aiohttp_client: Any) -> None:
    limits = [quota("q", {"pods": "0"}, crossing(), namespace_name="shop")]
    state = state_of([node("a", {HOST: "a", ZONE: "z"})], [], [ACROSS], limits)
    client = await aiohttp_client(app_of(shown(state), parts=[part_over(state)]))
    text = await read_page(client, "/page/quotas?sort=refused", 200)
    assert "needs a quota that allows it" in text
    assert "shop 0 1 1 shop/x : pods: no room q: pods 0 of 0" in text


async def test_who_only_has_a_quota_is_shown_and_who_uses_nothing_is_not(
    aiohttp_client: Any,
) -> None:
    barred = quota("barred", {"pods": "0"}, crossing(), namespace_name="zoo")
    other = quota("other", {"pods": "0"}, namespace_name="yard")
    state = state_of([node("a", {HOST: "a"})], [], [pod("x", "park")], [barred, other])
    client = await aiohttp_client(app_of(shown(state), parts=[part_over(state)]))
    text = await read_page(client, "/page/quotas", 200)
    assert "zoo 0 0 0 barred: pods 0 of 0" in text
    assert [each for each in ("yard", "park") if each in text] == []


async def test_calls_are_answered_while_waiting_pods_are_judged(
    aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0
    judged: list[int] = []

    def noted(*args: Any, **options: Any) -> Any:
        judged.append(turns)
        return shortfall(*args, **options)

    monkeypatch.setattr("extender.core.web.turns.WITHIN", replace(WITHIN, slice=0.0))
    monkeypatch.setattr("extender.features.quota.survey.shortfall", noted)
    state = state_of([], [], [pod(f"x{i}", "shop").affinity(CROSSING) for i in range(20)])
    client = await aiohttp_client(app_of(shown(state), parts=[part_over(state)]))
    reading = asyncio.create_task(read_page(client, "/page/quotas", 200))
    while not reading.done():
        turns += 1
        await asyncio.sleep(0)
    await reading
    assert len(judged) == len(set(judged)) == 20


async def test_nothing_is_shown_of_a_cluster_that_is_not_known(aiohttp_client: Any) -> None:
    state = state_of([], [], [])
    part = part_over(state, unready="pods not synced yet")
    client = await aiohttp_client(app_of(shown(state), parts=[part]))
    assert "pods not synced yet" in await read_page(client, "/page/quotas", 503)
