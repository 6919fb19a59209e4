"""What programs and people are told of pods that break rules, or would sit better elsewhere."""

from __future__ import annotations

from typing import Any

from extender.features.moving.known import Known
from tests.builders import HOST, pod, selector, term
from tests.features.moving.evicting import GRACE, ON_SSD, Rig
from tests.features.moving.showing import asked, read
from tests.features.moving.test_repair import fill, with_zones

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
    assert read(known.above(asked())) == read(known.below(asked())) == ""
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
    text = read(known.above(asked()))
    assert text.startswith("Pods that break a rule which holds during execution Another replica")
    assert "3 pods, the one that has done so for longest first" in text
    assert "another replica of the extender decides" in text
    assert "default/two" not in read(known.above(asked(q="one")))
    (tile,) = known.tiles("/page")
    assert (tile.href, tile.number, tile.what) == ("/page", 3, "pods break a rule as they run")


async def test_the_page_has_who_would_sit_better_elsewhere() -> None:
    rig = with_zones(hosts=1)
    known = Known(rig.state, None, rig.controller)
    title = "Pods that would sit better elsewhere"
    assert read(known.below(asked())) == f"{title} None, by preferred rules."
    fill(rig, "shop", ["a0", "a0", "b0"])
    fill(rig, "office", ["b0", "b0", "b0"])
    await rig.after(2)
    text = read(known.below(asked()))
    assert f"{title} 2 pods, one of each controller, that which gains most first" in text
    assert " a0 c0 100 200 its grace period is not over" in text
    assert text.index("office/") < text.index("shop/")
    only = read(known.below(asked(q="shop/")))
    assert ("office/" in only, " 1 pod, " in only) == (False, True)
