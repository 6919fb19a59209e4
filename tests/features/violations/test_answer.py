"""/violations tells of broken rules, and what other features know of pods."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import HOST, node, pod, selector, state_of, term
from tests.features.violations.showing import Found, part_over
from tests.web.showing import app_of, shown

SOLO = pod("one").labels(app="web").anti_affinity(term(HOST, selector(app="web")))


async def served(aiohttp_client: Any, unready: str | None = None, **changed: Any) -> Any:
    """Serve a cluster in which one rule of two pods is broken."""
    pods = [SOLO.on("a"), pod("two").labels(app="web").on("a")]
    state = state_of([node("a", {HOST: "a"})], [], pods)
    part = part_over(state, unready, **changed)
    return await aiohttp_client(app_of(shown(state), parts=[part]))


async def test_each_rule_is_told_with_two_pods_that_show_it(aiohttp_client: Any) -> None:
    client = await served(aiohttp_client)
    answer = await (await client.get("/violations")).json()
    assert answer.keys() == {"rules", "rulesCount"}
    (rule,) = answer["rules"]
    assert (rule["rule"], rule["domain"]) == ("antiAffinity", f"{HOST}=a")
    assert {rule["owner"], rule["other"]} == {"default/one", "default/two"}


async def test_what_other_features_know_follows(aiohttp_client: Any) -> None:
    client = await served(aiohttp_client, findings=[Found(), Found("more")])
    answer = await (await client.get("/violations?limit=3")).json()
    assert [*answer] == ["rules", "rulesCount", "found", "more"]
    assert answer["found"] == answer["more"] == 3


async def test_of_more_rules_than_are_asked_for_the_number_is_told(aiohttp_client: Any) -> None:
    nodes = [node(name, {HOST: name}) for name in "abc"]
    apart = term(HOST, selector(app="web"))
    pods = [
        pod(f"{name}-{i}").labels(app="web").anti_affinity(apart).on(name)
        for name in "abc"
        for i in range(2)
    ]
    part = part_over(state_of(nodes, [], pods))
    client = await aiohttp_client(app_of(shown(part.found.state), parts=[part]))
    answer = await (await client.get("/violations?limit=2")).json()
    assert (len(answer["rules"]), answer["rulesCount"]) == (2, 3)


@pytest.mark.parametrize("limit", ["0", "-1", "many", "10001", "99999999"])
async def test_a_limit_that_is_none_is_refused(aiohttp_client: Any, limit: str) -> None:
    client = await served(aiohttp_client)
    assert (await client.get(f"/violations?limit={limit}")).status == 400


async def test_before_the_cluster_is_known_nothing_is_told(aiohttp_client: Any) -> None:
    client = await served(aiohttp_client, "pods not synced yet")
    assert (await client.get("/violations")).status == 503
