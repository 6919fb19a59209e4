"""The page of broken rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import permutations
from typing import Any

import pytest

from extender.core.web.offered import View
from extender.diagnosis.verbs.violations import patrol
from extender.features.violations.part import Patrol
from tests.builders import HOST, ZONE, node, pod, selector, state_of, term
from tests.features.every import has_pages
from tests.features.violations.showing import Found, part_over
from tests.web.asking import Asking
from tests.web.reading import read_page
from tests.web.showing import app_of, shown

pytestmark = pytest.mark.skipif(not has_pages(), reason="no feature shows pages")

Read = Callable[..., Awaitable[str]]

DB = selector(app="db")
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
]
DB_0 = pod("db-0").labels(app="db").anti_affinity(term(ZONE, DB)).on("a1")
DB_1 = pod("db-1").labels(app="db").anti_affinity(term(ZONE, DB)).on("a2")


@pytest.fixture
def read(aiohttp_client: Any) -> Read:
    """Return what a person reads on a page."""

    async def reading(part: Patrol, path: str = "/page/violations", expected: int = 200) -> str:
        app = app_of(shown(part.found.state), parts=[part])
        return await read_page(await aiohttp_client(app), path, expected)

    return reading


async def test_violations(read: Read) -> None:
    state = state_of(NODES, [], [DB_0, DB_1])
    part = part_over(state)
    text = await read(part)
    assert "1 rule " in text
    assert f"{ZONE}=a antiAffinity pods with app in (db) in namespace default default/db-" in text
    assert "None." in await read(part, "/page/violations?q=elsewhere")


@pytest.mark.parametrize("wanted", ["default/db", "DB-", "in+(db)", "ZONE%3Da", "Zone%3Da", "tier"])
async def test_what_is_searched_for_may_be_written_in_small_or_large_letters(
    read: Read, wanted: str
) -> None:
    nodes = [node("a1", {"Zone": "a"})]
    apart = term("Zone", selector(app="db", Tier="x"))
    pods = [pod(f"db-{n}").labels(app="db", Tier="x").anti_affinity(apart).on("a1") for n in "01"]
    text = await read(part_over(state_of(nodes, [], pods)), f"/page/violations?q={wanted}")
    assert "Zone=a antiAffinity pods" in text


@pytest.mark.parametrize("wanted", ["guard", "plain"])
async def test_a_rule_is_found_by_either_of_its_pods(read: Read, wanted: str) -> None:
    guard = pod("guard").anti_affinity(term(ZONE, DB)).on("a1")
    plain = pod("plain").labels(app="db").on("a2")
    part = part_over(state_of(NODES, [], [guard, plain]))
    assert "1 rule " in await read(part, f"/page/violations?q={wanted}")


def test_what_other_features_know_stands_above_and_below() -> None:
    part = part_over(state_of(NODES, [], [DB_0, DB_1]), findings=[Found(), Found()])
    shown = part.sections[0].show(Asking(q="db"))
    assert isinstance(shown, View)
    assert shown.values["above"] == [View("above.html", {"q": "db"})] * 2
    assert shown.values["below"] == [View("below.html", {})] * 2


async def test_a_rule_that_is_broken_in_many_domains_has_one_row(read: Read) -> None:
    apart = term(HOST, selector(app="web"))
    webs = [
        pod(f"{host}-{i}").labels(app="web").anti_affinity(apart).on(host)
        for host in ("a1", "a2", "b1")
        for i in range(2)
    ]
    state = state_of(NODES, [], webs)
    part = part_over(state)
    text = await read(part)
    assert f"{HOST}=a1 and 2 more domains antiAffinity pods with app in (web)" in text
    assert f"{HOST}=b1 antiAffinity" in await read(part, "/page/violations?q=b1")
    assert "3 broken rules, each once a domain" in await read(part, "/")


@pytest.mark.parametrize("sort", ["where", "rule"])
async def test_what_is_broken_in_one_place_stands_in_the_order_of_the_pods(
    read: Read, sort: str
) -> None:
    owners = [pod(tier).anti_affinity(term(HOST, selector(tier=tier))) for tier in "qp"]
    both = [pod(f"{tier}-too").labels(tier=tier) for tier in "qp"]
    state = state_of(NODES, [], [each.on("a1") for each in (*owners, *both)])
    broken = set().union(*patrol(state, 100))
    texts = []
    for order in permutations(broken):
        part = part_over(state, found=order)
        text = await read(part, f"/page/violations?sort={sort}")
        texts.append(text.partition("As of ")[0])
    first, second = texts
    assert first == second
    assert first.index("default/p ") < first.index("default/q ")


async def test_what_cannot_be_shown(read: Read) -> None:
    said = await read(part_over(state_of([], [], [])), "/page/violations?page=0", 400)
    assert "page: not a whole number from 1" in said
    said = await read(part_over(state_of([], [], []), "pods not synced yet"), expected=503)
    assert "pods not synced yet" in said
