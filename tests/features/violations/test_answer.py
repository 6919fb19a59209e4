"""/violations tells of broken rules, and what becomes of the pods that break them."""

from __future__ import annotations

from typing import Any

import pytest

from extender.controllers.eviction.repair import RepairController
from tests.builders import HOST, pod, selector, term
from tests.controllers.evicting import GRACE, ON_SSD, Rig
from tests.controllers.test_repair import fill, with_zones
from tests.features.violations.showing import part_over
from tests.web.showing import app_of, shown

SOLO = pod("solo").labels(app="web").anti_affinity(term(HOST, selector(app="web")))


async def served(
    aiohttp_client: Any,
    rig: Rig,
    *,
    evicts: bool,
    unready: str | None = None,
    repair: RepairController | None = None,
) -> Any:
    """Serve the page of a cluster."""
    eviction = rig.controller if evicts else None
    part = part_over(rig.state, unready, eviction=eviction, repair=repair)
    return await aiohttp_client(app_of(shown(rig.state), parts=[part]))


async def broken() -> Rig:
    """Build a cluster in which one pod stays and one rule of two pods is broken."""
    rig = Rig()
    rig.node("a", disk="ssd")
    rig.place(ON_SSD, "a", owner="")
    rig.place(SOLO, "a", "one")
    rig.place(SOLO, "a", "two")
    rig.node("a")
    rig.leader.leads = False
    await rig.after(GRACE + 1)
    return rig


async def test_each_pod_is_told_with_since_when_and_what_becomes_of_it(aiohttp_client: Any) -> None:
    client = await served(aiohttp_client, await broken(), evicts=True)
    answer = await (await client.get("/violations")).json()
    assert answer["evicting"] == {"leads": False, "paused": False}
    told = {each["pod"]: (each["outcome"], each["since"]) for each in answer["pods"]}
    assert told == dict.fromkeys(
        ("default/disk", "default/one", "default/two"), ("standby", "1970-01-01T00:16:40Z")
    )
    (rule,) = answer["rules"]
    assert (rule["rule"], rule["domain"]) == ("antiAffinity", f"{HOST}=a")
    assert {rule["owner"], rule["other"]} == {"default/one", "default/two"}


async def test_where_nobody_is_evicted_there_are_rules_alone(aiohttp_client: Any) -> None:
    client = await served(aiohttp_client, await broken(), evicts=False)
    answer = await (await client.get("/violations")).json()
    assert answer.keys() == {"rules", "rulesCount"}


async def test_who_would_sit_better_elsewhere_is_told_with_what_keeps_him(
    aiohttp_client: Any,
) -> None:
    rig = with_zones(hosts=1)
    fill(rig, "shop", ["a0", "a0", "b0"])
    fill(rig, "office", ["b0", "b0"])
    fill(rig, "apart", ["a0", "b0"])
    await rig.after(2)
    client = await served(aiohttp_client, Rig(), evicts=False, repair=rig.controller)
    answer = await (await client.get("/violations")).json()
    assert answer["improvableCount"] == 2
    told = {each.pop("pod").partition("/")[0]: each for each in answer["improvable"]}
    why = "its grace period is not over"
    rest = {"gain": 100, "totalGain": 200, "outcome": "grace", "why": why}
    assert told.keys() == {"shop", "office"}
    assert told["shop"].items() >= ({"node": "a0", "betterNode": "c0"} | rest).items()
    cut = await (await client.get("/violations?limit=1")).json()
    assert (len(cut["improvable"]), cut["improvableCount"]) == (1, 2)


async def test_an_answer_has_an_end(aiohttp_client: Any) -> None:
    client = await served(aiohttp_client, await broken(), evicts=True)
    answer = await (await client.get("/violations?limit=1")).json()
    assert (len(answer["pods"]), answer["podsCount"]) == (1, 3)


@pytest.mark.parametrize("limit", ["0", "-1", "many", "10001", "99999999"])
async def test_a_limit_that_is_none_is_refused(aiohttp_client: Any, limit: str) -> None:
    client = await served(aiohttp_client, await broken(), evicts=True)
    assert (await client.get(f"/violations?limit={limit}")).status == 400


async def test_before_the_cluster_is_known_nothing_is_told(aiohttp_client: Any) -> None:
    client = await served(aiohttp_client, Rig(), evicts=True, unready="pods not synced yet")
    assert (await client.get("/violations")).status == 503
