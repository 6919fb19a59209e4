"""Hints beyond limits, and where the API server refuses or does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request

from extender.core.errors import ApiError, ExtenderError, ObjectError
from extender.core.warm_up import WarmUp
from extender.core.web.app import callbacks_app
from extender.features.refused_pods import hints
from extender.features.refused_pods.hints import (
    CLOSING_SECONDS,
    hint_bounds,
)
from extender.features.refused_pods.nominations import FIRST_OPEN
from extender.features.refused_pods.record import Nomination
from extender.features.refused_pods.records import MOST_UNSHOWN, Records
from extender.features.refused_pods.refusals import SETTLING_SECONDS, WHOLE_SEARCH
from tests.answering import Answering
from tests.builders import HOST, Pod, model_node, model_pod, node, pod
from tests.features.refused_pods.nominating import (
    ONE,
    PATIENCE,
    ROOM,
    THREE,
    TWO,
    WAIT,
    NominationRig,
    show,
)

Client = TestClient[Request, Application]


async def test_of_rivals_each_is_pointed_to_a_node_of_its_own() -> None:
    rig = NominationRig(ONE, TWO, THREE)
    for raw in (ONE, TWO, THREE):
        rig.refuse(raw)
    await rig.pass_time()
    assert rig.api.made == [("one", None, "a"), ("two", None, "b")]


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({"per_second": 1.0}, id="one a second"),
        pytest.param({"most": 1}, id="one at a time"),
    ],
)
async def test_hints_beyond_the_limits_come_later(limits: dict[str, Any]) -> None:
    rig = NominationRig(ONE, TWO, **limits)
    rig.refuse(ONE)
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.api.made == [("one", None, "a")]
    assert rig.counts() == {"set": 1, "skipped": 1}
    rig.state.upsert_pod(model_pod(ONE.on("a")))
    await rig.pass_time(1.0)
    assert rig.api.made[1:] == [("two", None, "b")]


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda rig: show(rig.state, "two", "a"), id="another writer nominates it"),
        pytest.param(
            lambda rig: rig.state.upsert_pod(model_pod(TWO.on("b"))), id="the watch shows it bound"
        ),
        pytest.param(
            lambda rig: rig.state.reserve(model_pod(TWO), "b", 180.0), id="it is being bound"
        ),
        pytest.param(
            lambda rig: rig.state.remove_pod("default/two", model_pod(TWO).uid), id="it is deleted"
        ),
        pytest.param(lambda rig: rig.controller.admitted(model_pod(TWO)), id="filter admits it"),
    ],
)
async def test_what_happens_while_a_pod_is_prepared_leaves_it_without_a_hint(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[NominationRig], object]
) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    left = [happens]

    async def prepare(_: WarmUp, __: object) -> None:
        while left:
            left.pop()(rig)

    monkeypatch.setattr(WarmUp, "prepare", prepare)
    rig.refuse(TWO)
    await rig.pass_time()
    assert left == []
    assert rig.api.made == []


async def test_as_many_are_open_as_the_scheduler_comes_to() -> None:
    most = FIRST_OPEN + 4
    crowd = [pod(f"p{number:02}") for number in range(5 * most)]
    rig = NominationRig(*crowd, most=most)
    rig.api.shown = False
    for raw in crowd:
        rig.refuse(raw)

    def taken(hinted: list[str]) -> None:
        for name in hinted:
            rig.state.upsert_pod(model_pod(pod(name).on("a")))

    await rig.pass_time()
    assert rig.controller.outstanding == FIRST_OPEN
    taken([name for name, _, _ in rig.api.made[:2]])
    await rig.tick()
    assert rig.controller.outstanding == FIRST_OPEN + 2
    taken([name for name, _, _ in rig.api.made[2:]])
    await rig.tick()
    assert rig.controller.outstanding == most
    await rig.pass_time(PATIENCE)
    await rig.tick()
    assert rig.counts()["withdrawn"] == most
    assert rig.controller.outstanding == FIRST_OPEN, "nor fewer"


async def test_a_hint_that_came_too_late_is_forgotten() -> None:
    rig = NominationRig(TWO)
    rig.api.done = False
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.counts() == {"skipped": 1}
    assert rig.controller.outstanding == 0


async def test_a_refusal_by_the_api_server_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    rig = NominationRig(ONE, TWO)
    rig.api.error = ApiError(403, "Forbidden", "you may not")
    rig.refuse(ONE)
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.counts() == {"failed": 2}
    assert rig.controller.outstanding == 0
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warnings == ["default/one could not be pointed to a node: 403 Forbidden: you may not"]


async def test_a_hint_whose_end_is_unclear_is_withdrawn_in_time() -> None:
    rig = NominationRig(TWO)
    rig.api.error = ExtenderError("no answer")
    rig.api.shown = False
    rig.refuse(TWO)
    await rig.pass_time()
    show(rig.state, "two", "a")
    assert rig.controller.outstanding == 1
    await rig.pass_time(PATIENCE)
    assert rig.controller.outstanding == 1, "nobody can tell whether that was withdrawn"
    rig.api.error = None
    await rig.pass_time(PATIENCE)
    assert rig.api.made[1:] == [("two", "a", None)] * 2
    assert rig.counts() == {"failed": 2, "withdrawn": 1}


async def test_a_withdrawal_that_the_api_server_refuses_is_asked_for_again() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.api.error = ApiError(429, "TooManyRequests", "not now")
    await rig.pass_time(PATIENCE)
    assert rig.controller.outstanding == 1, "the field is still set"
    rig.api.error = None
    await rig.pass_time(PATIENCE)
    assert rig.api.made == [("two", None, "b"), ("two", "b", None), ("two", "b", None)]
    assert rig.state.pods["default/two"].status.nominated is None
    assert rig.counts() == {"set": 1, "failed": 1, "withdrawn": 1}
    assert rig.controller.outstanding == 0


async def test_a_withdrawal_that_is_asked_for_again_does_not_halve_once_more_what_may_be_open() -> (
    None
):
    most = 4 * FIRST_OPEN
    crowd = [pod(f"p{number:03}") for number in range(3 * most)]
    rig = NominationRig(*crowd, most=most, per_second=1_000)
    rig.api.shown = False
    for raw in crowd:
        rig.refuse(raw)
    await rig.pass_time()
    done = 0
    while rig.controller.outstanding < most:
        for name, _, _ in rig.api.made[done:]:
            rig.state.upsert_pod(model_pod(pod(name).on("a")))
        done = len(rig.api.made)
        await rig.tick()
    # One of them is left: the others are taken, and nothing more is refused.
    *taken, last = [name for name, _, _ in rig.api.made[done:]]
    for raw in crowd:
        rig.controller.admitted(model_pod(raw))
    for name in taken:
        rig.state.upsert_pod(model_pod(pod(name).on("a")))
    await rig.tick()
    assert rig.controller.outstanding == 1
    show(rig.state, last, rig.api.made[-1][2])
    rig.api.error = ApiError(429, "TooManyRequests", "not now")
    await rig.pass_time(PATIENCE)
    rig.api.error, rig.api.shown = None, False
    await rig.pass_time(PATIENCE)
    assert rig.controller.outstanding == 0
    for raw in crowd:
        rig.refuse(raw)
    await rig.pass_time()
    assert rig.controller.outstanding == most // 2


@pytest.mark.parametrize("lags", ["watch", "scheduler"])
async def test_who_still_shows_a_hint_that_was_withdrawn_does_not_end_the_next_one(
    lags: str,
) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    await rig.pass_time(PATIENCE)
    rig.state.remove_pod("default/one", "default-one")
    rig.state.upsert_pod(model_pod(THREE.on("b")))
    rig.refuse(TWO)
    await rig.tick()
    await rig.tick()
    assert rig.api.made == [("two", None, "b"), ("two", "b", None), ("two", None, "a")]
    if lags == "watch":
        show(rig.state, "two", "b")
        rig.refuse(TWO)
    else:
        rig.refuse(TWO.nominated("b"))
    await rig.tick()
    show(rig.state, "two", "a")
    await rig.pass_time(PATIENCE)
    assert rig.api.made[3:] == [("two", "a", None)]
    assert rig.controller.outstanding == 0


async def test_a_hint_whose_withdrawal_is_unclear_is_not_renewed() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.api.error = ExtenderError("no answer")
    await rig.pass_time(PATIENCE)
    rig.api.error = None
    show(rig.state, "two", None)
    await rig.tick()
    await rig.tick()
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)], "it was withdrawn, it seems"
    await rig.pass_time(PATIENCE)
    assert rig.counts() == {"set": 1, "failed": 1, "withdrawn": 1}
    assert rig.controller.outstanding == 0


async def test_a_request_that_outlasts_the_pause_is_not_the_end_of_the_search() -> None:
    rig = NominationRig(TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.api.gate = asyncio.Event()
    rig.api.arrived.clear()
    withdrawing = asyncio.create_task(rig.pass_time(PATIENCE))
    await rig.api.arrived.wait()
    rig.now += PATIENCE
    rig.api.gate.set()
    await withdrawing
    assert rig.api.made[2:] == [("two", None, "b")], "though nothing has changed"


async def test_hints_are_looked_after_before_anything_else_that_is_due() -> None:
    rig = NominationRig(ONE, TWO, THREE)
    rig.refuse(ONE)
    await rig.pass_time()
    rig.refuse(TWO)
    rig.refuse(THREE, asked=1)
    rig.state.upsert_node(model_node(node("c", {HOST: "c"}, ROOM)))
    await rig.pass_time(PATIENCE)
    assert rig.api.made[1:] == [("one", "a", None), ("two", None, "a"), ("three", None, "b")]


async def test_a_fault_of_ours_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    rig = NominationRig(ONE, TWO)
    rig.refuse(ONE)
    rig.refuse(TWO)
    rig.api.error = ValueError("unheard of")
    await rig.pass_time()
    assert [each.getMessage() for each in caplog.records] == ["hints failed unexpectedly"]
    rig.api.error = None
    await rig.pass_time(PATIENCE)
    assert set(rig.api.made[2:]) == {("one", "a", None), ("two", "b", None)}


async def test_a_pod_whose_wishes_cannot_be_read_is_pointed_nowhere() -> None:
    rig = NominationRig(TWO)
    broken = Pod({**TWO, "spec": {**TWO["spec"], "tolerations": 7}})
    with pytest.raises(ObjectError, match=r"spec\.tolerations"):
        rig.refuse(broken)
    await rig.pass_time()
    assert rig.api.made == []


async def test_what_is_outstanding_is_withdrawn_at_the_end() -> None:
    rig = NominationRig(ONE, TWO)
    rig.refuse(ONE)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.state.upsert_pod(model_pod(ONE.on("a")))
    await rig.controller.close()
    assert rig.api.made[2:] == [("two", "b", None)], "a bound pod is left alone"
    assert CLOSING_SECONDS < PATIENCE


async def test_at_the_end_no_withdrawal_waits_for_the_answer_to_another() -> None:
    rig = NominationRig(ONE, TWO)
    rig.refuse(ONE)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.api.gate = asyncio.Event()
    await rig.controller.close()
    assert set(rig.api.made[2:]) == {("one", "a", None), ("two", "b", None)}


def test_the_refusal_longest_ago_is_forgotten_first() -> None:
    forgotten: list[str] = []
    bounds = replace(hint_bounds(), most_refused=2)
    records: Records[Nomination] = Records(lambda: 0.0, forgotten.append, bounds, lambda _: True)
    for raw in (ONE, TWO, ONE, THREE):
        records.refuse(model_pod(raw))
    assert [each.uid for each in records.refused] == ["default-one", "default-three"]
    assert forgotten == ["default-two"]


async def test_a_filter_answer_waits_for_no_hint(aiohttp_client: Any) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.api.gate = asyncio.Event()
    answers = Answering(rig.state, rig.metrics, helpers=[rig.controller])
    client: Client = await aiohttp_client(callbacks_app(answers.callbacks, rig.metrics, 1 << 20))
    running = asyncio.create_task(rig.controller.run())

    async def ask(names: list[str]) -> list[str]:
        response = await client.post("/filter", json={"Pod": TWO, "NodeNames": names})
        found: list[str] = (await response.json())["NodeNames"]
        return found

    async with asyncio.timeout(WAIT):
        assert await ask(["a", *(f"gone-{number}" for number in range(1, WHOLE_SEARCH))]) == []
        rig.now += SETTLING_SECONDS
        await rig.api.arrived.wait()
        assert await ask(["a", "b"]) == ["b"]
        rig.api.gate.set()
    running.cancel()
    assert rig.api.made == [("two", None, "b")]


@pytest.mark.parametrize(
    ("done", "held"),
    [
        pytest.param(True, True, id="from the request on"),
        pytest.param(False, False, id="not when it was refused"),
    ],
)
async def test_a_nomination_holds_its_node_before_the_watch_shows_it(
    *, done: bool, held: bool
) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.api.shown, rig.api.done = False, done
    rig.refuse(TWO)
    await rig.pass_time()
    (made,) = rig.api.made
    assert [each.key for each in rig.state.nominated.on(str(made[2]))] == (
        ["default/two"] if held else []
    )


def test_pods_that_the_watch_does_not_show_push_out_none_that_it_shows() -> None:
    shown, forgotten = {"default-old"}, list[str]()
    records: Records[Nomination] = Records(
        lambda: 0.0, forgotten.append, hint_bounds(), lambda each: each.uid in shown
    )
    for name in ("old", "lagging", *map(str, range(MOST_UNSHOWN))):
        records.refuse(model_pod(pod(name)))
        shown |= {"default-lagging"} if name == "lagging" else set()
    records.refuse(model_pod(pod("last")))
    assert {"default-old", "default-lagging"} < {each.uid for each in records.refused}
    assert len(records) == MOST_UNSHOWN + 2
    assert forgotten == ["default-0"]
    for name in ("old", "last"):
        record = records.get(f"default-{name}")
        assert record is not None
        records.admit(record)
    assert forgotten == ["default-0", "default-old", "default-last"]
    assert len([*records.refused]) == len(records) == MOST_UNSHOWN


@pytest.mark.parametrize("later", [True, False], ids=["shown later", "not shown later"])
@pytest.mark.parametrize("first", [True, False], ids=["shown first", "not shown first"])
def test_a_pod_is_kept_once_whether_it_is_shown_or_not(*, first: bool, later: bool) -> None:
    shown = {"it": first}
    records: Records[Nomination] = Records(
        lambda: 0.0, lambda _: None, hint_bounds(), lambda each: shown.get(each.uid, False)
    )
    records.refuse(model_pod(ONE.uid("it")))
    shown["it"] = later
    records.refuse(model_pod(ONE.uid("it")))
    assert [each.uid for each in records.refused] == ["it"]
    for number in range(MOST_UNSHOWN):
        records.refuse(model_pod(ONE.uid(str(number))))
    assert ("it" in {each.uid for each in records.refused}) is later


async def test_each_search_is_followed_by_a_rest_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig, rests = NominationRig(ONE, TWO), list[float]()
    chooser = rig.controller._chooser
    choose = chooser.choose

    def slowly(*args: Any, **more: Any) -> str | None:
        rig.now += 0.01
        return choose(*args, **more)

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.setattr(chooser, "choose", slowly)
    monkeypatch.setattr(asyncio, "sleep", rest)
    for each in (ONE, TWO):
        rig.refuse(each)
        await rig.pass_time()
    assert [each for each in rests if each] == [pytest.approx(hints.PAUSE_FACTOR * 0.01)] * 2
