"""What programs and people are told of pods that break rules, or would sit better elsewhere."""

from __future__ import annotations

from typing import Any

from extender.features.moving.known import Known
from tests.builders import HOST, pod, selector, term
from tests.features.moving.evicting import GRACE, ON_SSD, Rig
from tests.features.moving.test_repair import fill, with_zones
from tests.web.asking import Asking

SOLO = pod("solo").labels(app="web").anti_affinity(term(HOST, selector(app="web")))


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


def told(known: Known, limit: int = 1_000) -> dict[str, Any]:
    """Return the fields for programs, with lists for what comes in steps."""
    fields = (each for each in known.fields(limit) if each is not None)
    return {
        name: value if isinstance(value, (int, dict)) else list(value) for name, value in fields
    }


async def test_each_pod_is_told_with_since_when_and_what_becomes_of_it() -> None:
    rig = await broken()
    answer = told(Known(rig.state, rig.controller, None))
    assert answer["evicting"] == {"leads": False, "paused": False}
    assert {each["pod"]: (each["outcome"], each["since"]) for each in answer["pods"]} == (
        dict.fromkeys(
            ("default/disk", "default/one", "default/two"), ("standby", "1970-01-01T00:16:40Z")
        )
    )


async def test_where_nobody_is_evicted_nothing_is_told() -> None:
    known = Known((await broken()).state, None, None)
    assert told(known) == {}
    assert [*known.above(Asking()), *known.below(Asking())] == []
    assert [*known.tiles("/page")] == []


async def test_who_would_sit_better_elsewhere_is_told_with_what_keeps_him() -> None:
    rig = with_zones(hosts=1)
    fill(rig, "shop", ["a0", "a0", "b0"])
    fill(rig, "office", ["b0", "b0"])
    fill(rig, "apart", ["a0", "b0"])
    await rig.after(2)
    known = Known(rig.state, None, rig.controller)
    answer = told(known)
    assert answer["improvableCount"] == 2
    found = {each.pop("pod").partition("/")[0]: each for each in answer["improvable"]}
    why = "its grace period is not over"
    rest = {"gain": 100, "totalGain": 200, "outcome": "grace", "why": why}
    assert found.keys() == {"shop", "office"}
    assert found["shop"].items() >= ({"node": "a0", "betterNode": "c0"} | rest).items()
    cut = told(known, 1)
    assert (len(cut["improvable"]), cut["improvableCount"]) == (1, 2)


async def test_an_answer_has_an_end() -> None:
    rig = await broken()
    answer = told(Known(rig.state, rig.controller, None), 1)
    assert (len(answer["pods"]), answer["podsCount"]) == (1, 3)


async def test_the_page_has_the_pods_that_break_a_rule() -> None:
    rig = await broken()
    known = Known(rig.state, rig.controller, None)
    (part,) = known.above(Asking())
    assert (part.values["paused"], part.values["leads"], part.values["pods"].found) == (
        *(False, False),
        3,
    )
    assert {each.becomes for each in part.values["findings"]} == {
        "another replica of the extender decides"
    }
    (part,) = known.above(Asking(q="one"))
    assert [each.pod.key for each in part.values["findings"]] == ["default/one"]
    (tile,) = known.tiles("/page")
    assert (tile.href, tile.number, tile.what) == ("/page", 3, "pods break a rule as they run")


async def test_the_page_has_who_would_sit_better_elsewhere() -> None:
    rig = with_zones(hosts=1)
    known = Known(rig.state, None, rig.controller)
    (part,) = known.below(Asking())
    assert part.values["pods"].found == 0
    fill(rig, "shop", ["a0", "a0", "b0"])
    fill(rig, "office", ["b0", "b0", "b0"])
    await rig.after(2)
    (part,) = known.below(Asking())
    assert part.values["number"] == "2 pods"
    (office, _), (shop, why) = part.values["pods"].rows
    assert (office.pod.key.partition("/")[0], shop.pod.node, shop.target) == ("office", "a0", "c0")
    assert (shop.own, shop.total) == (100, 200)
    assert why.outcome.because(why.why) == "its grace period is not over"
    (part,) = known.below(Asking(q="shop/"))
    assert part.values["number"] == "1 pod"
