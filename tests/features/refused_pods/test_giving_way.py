"""A hint and a preemption that name the same node: the field is the scheduler's from then on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request

from extender.core.callbacks.preempting import Preemptions
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.errors import ApiError, ExtenderError
from extender.core.web.app import callbacks_app
from extender.features.refused_pods import nominations
from extender.features.refused_pods import records as kept
from extender.features.refused_pods.hints import CLAIM_SECONDS, WAKING_SECONDS, hint_bounds
from extender.features.refused_pods.record import REMEMBERED_SECONDS, Nomination, Patched, State
from extender.features.refused_pods.records import MOST_CLAIMS, Records
from tests.answering import Answering, requests_of
from tests.builders import model_pod, pod
from tests.callbacks.test_preempting import ask, question
from tests.features.refused_pods.nominating import ONE, PATIENCE, TWO, WAIT, NominationRig, show
from tests.verbs.judging import AFFINITY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from extender.core.model.objects import Pod as ModelPod
    from tests.builders import Pod

Client = TestClient[Request, Application]

BOSS = TWO.priority(100)
VICTIM = pod("victim").on("b")
SET = ("two", None, "b")
WITHDRAWN = ("two", "b", None)


async def hinted(*, victim: Pod = VICTIM) -> NominationRig:
    """Return a rig where an important pod was just pointed to b."""
    rig = NominationRig(ONE.on("a"), BOSS, victim)
    rig.refuse(BOSS)
    await rig.pass_time()
    assert rig.api.made == [SET]
    return rig


def preempting(rig: NominationRig, asked: asyncio.Event | None = None) -> Application:
    """Build the callbacks around a rig's hints; tell when they are asked to give way."""

    async def release_nomination(pod: ModelPod, nodes: Collection[str]) -> frozenset[str]:
        if asked is not None:
            asked.set()
        return await rig.controller.release_nomination(pod, nodes)

    preemptions = Preemptions(
        requests_of(rig.state, rig.metrics),
        AFFINITY,
        may_be_empty=False,
        clock=lambda: rig.now,
        release_nomination=release_nomination,
    )
    answers = Answering(rig.state, rig.metrics, helpers=[rig.controller])
    callbacks = {**answers.callbacks, "preempt": preemptions}
    return callbacks_app(callbacks, rig.metrics, 1 << 20)


async def by_patience(rig: NominationRig) -> None:
    """Let the time of the hint run out."""
    await rig.pass_time(PATIENCE)


async def by_refusal(rig: NominationRig) -> None:
    """Let the scheduler come back with the pod."""
    rig.refuse(BOSS.nominated("b"), asked=1)
    await rig.pass_time()


async def by_shutdown(rig: NominationRig) -> None:
    """Stop."""
    await rig.controller.close()


async def by_loss(rig: NominationRig) -> None:
    """Let the watch show that the field was cleared."""
    show(rig.state, "two", None)
    await rig.pass_time(LOOK_SECONDS)
    await rig.pass_time(LOOK_SECONDS)


WAYS = [
    pytest.param(by_patience, id="its time is over"),
    pytest.param(by_refusal, id="the scheduler refused the node"),
    pytest.param(by_shutdown, id="the extender stops"),
    pytest.param(by_loss, id="the field was cleared"),
]


@pytest.mark.parametrize("end", WAYS)
async def test_a_nomination_that_a_preemption_relies_on_is_left_alone(
    aiohttp_client: Any, end: Callable[[NominationRig], Awaitable[None]]
) -> None:
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    asked = question(BOSS.nominated("b"), {"b": ["default-victim"]})
    assert set((await ask(client, asked))["NodeNameToMetaVictims"]) == {"b"}
    await end(rig)
    assert rig.api.made == [SET]
    assert rig.controller.outstanding == 0
    counts = rig.counts()
    assert (counts["set"], counts["preempted"]) == (1, 1)


@pytest.mark.parametrize("end", WAYS)
async def test_victims_on_their_way_out_show_a_preemption_that_another_process_was_asked_about(
    end: Callable[[NominationRig], Awaitable[None]],
) -> None:
    rig = await hinted()
    rig.state.upsert_pod(model_pod(VICTIM.being_deleted()))
    await end(rig)
    assert rig.api.made == [SET]
    assert rig.controller.outstanding == 0


async def test_as_important_pods_that_are_being_deleted_are_nobodys_victims() -> None:
    rig = await hinted(victim=VICTIM.priority(100))
    rig.state.upsert_pod(model_pod(VICTIM.priority(100).being_deleted()))
    await by_patience(rig)
    assert rig.api.made == [SET, WITHDRAWN]


async def test_a_preemption_that_finds_no_candidate_leaves_the_hint_to_us(
    aiohttp_client: Any,
) -> None:
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    # ONE is as important as any: no victims cure that on a.
    asked = question(BOSS.priority(0).nominated("b"), {"a": ["default-victim"]})
    assert (await ask(client, asked))["NodeNameToMetaVictims"] == {}
    await by_patience(rig)
    assert rig.api.made == [SET, WITHDRAWN]


@pytest.mark.parametrize("asked_before", [True, False], ids=["by us", "by another process"])
async def test_a_pod_refused_for_victims_that_the_watch_showed_too_late_is_tried_again(
    aiohttp_client: Any, asked_before: bool
) -> None:
    boss = BOSS.nominated("a")
    rig = NominationRig(ONE.on("a"), boss)
    client: Client = await aiohttp_client(preempting(rig))
    if asked_before:
        await ask(client, question(boss, {"a": [model_pod(ONE).uid]}))
    rig.refuse(boss, asked=1)
    await rig.tick()
    assert rig.api.woken == [], "the victim is there, for all we know"
    rig.state.upsert_pod(model_pod(ONE.on("a").being_deleted()))
    await rig.tick()
    assert rig.api.woken == [], "the victim takes its time"
    rig.state.remove_pod(model_pod(ONE).key, model_pod(ONE).uid)
    await rig.tick()
    assert rig.api.woken == ["two"]
    assert rig.counts()["woken"] == 1
    await rig.pass_time(WAKING_SECONDS - 2 * LOOK_SECONDS)
    assert rig.api.woken == ["two"], "the second of two changes within a second is none"
    rig.controller.admitted(model_pod(boss))
    await rig.pass_time(2 * WAKING_SECONDS)
    assert (rig.api.woken, rig.api.made) == (["two"], [])


async def test_a_pod_that_was_admitted_since_is_not_woken() -> None:
    boss = BOSS.nominated("a")
    rig = NominationRig(ONE.on("a"), boss)
    rig.refuse(boss, asked=1)
    rig.controller.admitted(model_pod(boss))
    rig.state.remove_pod(model_pod(ONE).key, model_pod(ONE).uid)
    await rig.tick()
    assert rig.api.woken == []


async def test_no_hint_is_set_while_the_scheduler_preempts_for_the_pod(aiohttp_client: Any) -> None:
    rig = NominationRig(ONE.on("a"), BOSS, VICTIM)
    client: Client = await aiohttp_client(preempting(rig))
    await ask(client, question(BOSS, {"b": ["default-victim"]}))
    rig.refuse(BOSS)
    await rig.pass_time()
    assert rig.api.made == []
    await rig.pass_time(CLAIM_SECONDS)
    await rig.tick()
    assert rig.api.made == [SET], "the preemption came to nothing, and nothing has changed since"


async def test_a_hint_that_was_being_set_meanwhile_is_never_withdrawn(aiohttp_client: Any) -> None:
    rig = NominationRig(ONE.on("a"), BOSS, VICTIM)
    client: Client = await aiohttp_client(preempting(rig))
    rig.api.gate = asyncio.Event()
    rig.refuse(BOSS)
    setting = asyncio.create_task(rig.pass_time())
    await rig.api.arrived.wait()
    await ask(client, question(BOSS, {"b": ["default-victim"]}))
    rig.api.gate.set()
    await setting
    await by_patience(rig)
    assert rig.api.made == [SET]


async def outranked(aiohttp_client: Any) -> NominationRig:
    """Let the scheduler preempt for a more important pod on the node of a hint."""
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    highest = pod("highest").priority(1000)
    rig.state.upsert_pod(model_pod(highest))
    await ask(client, question(highest, {"b": ["default-victim"]}))
    return rig


async def test_a_less_important_pod_is_not_pointed_back_to_where_others_are_evicted(
    aiohttp_client: Any,
) -> None:
    rig = await outranked(aiohttp_client)
    await by_loss(rig)
    assert rig.api.made == [SET]


async def test_a_hint_that_a_more_important_preemption_has_not_cleared_is_withdrawn(
    aiohttp_client: Any,
) -> None:
    rig = await outranked(aiohttp_client)
    await by_patience(rig)
    assert rig.api.made == [SET, WITHDRAWN], "the scheduler clears only what it has seen"


async def test_a_hint_that_the_watch_shows_only_after_such_a_preemption_is_withdrawn(
    aiohttp_client: Any,
) -> None:
    # Until then it seems that the scheduler has cleared it, which has not seen it either.
    rig = await outranked(aiohttp_client)
    await by_loss(rig)
    await by_patience(rig)
    assert rig.api.made == [SET, WITHDRAWN]


async def withdrawing(rig: NominationRig) -> asyncio.Task[None]:
    """Withdraw the hint, as far as the API server, which takes its time."""
    rig.api.gate = asyncio.Event()
    rig.api.arrived.clear()
    task = asyncio.create_task(by_patience(rig))
    await rig.api.arrived.wait()
    assert rig.api.made == [SET, WITHDRAWN]
    return task


async def test_a_withdrawal_in_flight_is_undone_before_anybody_is_evicted(
    aiohttp_client: Any,
) -> None:
    rig = await hinted()
    reached = asyncio.Event()
    client: Client = await aiohttp_client(preempting(rig, reached))
    task = await withdrawing(rig)
    asked = question(BOSS.nominated("b"), {"b": ["default-victim"]})
    answer = asyncio.create_task(ask(client, asked))
    async with asyncio.timeout(WAIT):
        await reached.wait()
    assert not answer.done()
    assert rig.api.gate is not None
    rig.api.gate.set()
    assert set((await answer)["NodeNameToMetaVictims"]) == {"b"}
    await task
    assert rig.api.made == [SET, WITHDRAWN, SET]
    assert rig.state.pods["default/two"].status.nominated == "b"


async def test_a_withdrawal_that_the_scheduler_has_not_seen_is_undone(aiohttp_client: Any) -> None:
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    await by_patience(rig)
    await ask(client, question(BOSS.nominated("b"), {"b": ["default-victim"]}))
    assert rig.api.made == [SET, WITHDRAWN, SET]
    await by_patience(rig)
    assert rig.api.made == [SET, WITHDRAWN, SET]


@pytest.mark.parametrize(
    ("nominated", "candidates"),
    [
        pytest.param(None, {"b": ["default-victim"]}, id="that the scheduler has seen"),
        pytest.param("b", {"a": ["default-one"]}, id="of another node"),
    ],
)
async def test_a_withdrawal_that_harms_nobody_is_not_undone(
    aiohttp_client: Any, nominated: str | None, candidates: dict[str, list[str]]
) -> None:
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    await by_patience(rig)
    incoming = BOSS if nominated is None else BOSS.nominated(nominated)
    assert (await ask(client, question(incoming, candidates)))["NodeNameToMetaVictims"]
    assert rig.api.made == [SET, WITHDRAWN]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ExtenderError("no answer"), id="no answer came"),
        pytest.param(ApiError(500, "InternalError", "etcd"), id="it was refused"),
    ],
)
async def test_nobody_is_evicted_where_the_nomination_cannot_be_put_back(
    aiohttp_client: Any, error: ExtenderError
) -> None:
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    await by_patience(rig)
    rig.api.error = error
    asked = question(BOSS.nominated("b"), {"a": ["default-one"], "b": ["default-victim"]})
    assert set((await ask(client, asked))["NodeNameToMetaVictims"]) == {"a"}


async def test_nobody_is_evicted_where_a_withdrawal_may_still_be_carried_out(
    aiohttp_client: Any,
) -> None:
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    rig.api.error = ExtenderError("no answer")
    await by_patience(rig)
    rig.api.error = None
    asked = question(BOSS.nominated("b"), {"b": ["default-victim"]})
    assert (await ask(client, asked))["NodeNameToMetaVictims"] == {}
    rig.now += REMEMBERED_SECONDS
    assert set((await ask(client, asked))["NodeNameToMetaVictims"]) == {"b"}
    assert rig.api.made == [SET, WITHDRAWN]


async def test_a_withdrawal_that_was_asked_for_again_may_still_be_carried_out_as_before(
    aiohttp_client: Any,
) -> None:
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    rig.api.error = ExtenderError("no answer")
    await by_patience(rig)
    rig.api.error = None
    await by_patience(rig)
    assert rig.api.made == [SET, WITHDRAWN, WITHDRAWN]
    assert rig.controller.outstanding == 0
    asked = question(BOSS, {"b": ["default-victim"]})
    assert (await ask(client, asked))["NodeNameToMetaVictims"] == {}, "the first may come late"
    rig.now += REMEMBERED_SECONDS
    assert set((await ask(client, asked))["NodeNameToMetaVictims"]) == {"b"}


async def test_a_withdrawal_elsewhere_does_not_make_an_earlier_one_forgotten(
    aiohttp_client: Any,
) -> None:
    rig = NominationRig(BOSS, VICTIM.labels(app="web"), ONE.on("a"))
    client: Client = await aiohttp_client(preempting(rig))
    rig.state.remove_pod("default/victim", "default-victim")
    rig.refuse(BOSS)
    await rig.pass_time()
    rig.api.error = ExtenderError("no answer")
    await by_patience(rig)
    rig.api.error = None
    await by_patience(rig)
    rig.state.remove_pod("default/one", "default-one")
    rig.state.upsert_pod(model_pod(VICTIM.labels(app="web")))
    rig.refuse(BOSS)
    await rig.tick()
    await by_patience(rig)
    assert rig.api.made == [SET, WITHDRAWN, WITHDRAWN, ("two", None, "a"), ("two", "a", None)]
    asked = question(BOSS, {"a": ["default-one"], "b": ["default-victim"]})
    left = (await ask(client, asked))["NodeNameToMetaVictims"]
    assert "b" not in left, "the first withdrawal may come late"


async def test_an_answer_does_not_wait_long_for_a_withdrawal(
    aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nominations, "RELEASE_SECONDS", 0.01)
    rig = await hinted()
    client: Client = await aiohttp_client(preempting(rig))
    task = await withdrawing(rig)
    asked = question(BOSS.nominated("b"), {"b": ["default-victim"]})
    assert (await ask(client, asked))["NodeNameToMetaVictims"] == {}
    assert rig.api.gate is not None
    rig.api.gate.set()
    await task


async def test_a_pod_that_waits_for_its_victims_keeps_its_nomination(aiohttp_client: Any) -> None:
    rig = NominationRig(BOSS, VICTIM.labels(app="web"))
    rig.state.upsert_pod(model_pod(ONE.on("a").priority(100)))
    client: Client = await aiohttp_client(preempting(rig))
    going = VICTIM.labels(app="web").being_deleted()
    rig.state.upsert_pod(model_pod(going))
    asked = question(BOSS.nominated("b"), {"a": ["default-one"]})
    assert (await ask(client, asked))["NodeNameToMetaVictims"] == {}
    rig.state.remove_pod("default/victim", "default-victim")
    rig.refuse(BOSS)
    await rig.pass_time()
    assert rig.api.made == []


def test_of_too_many_claims_those_are_forgotten_that_were_made_longest_ago(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is made again is a new one."""
    monkeypatch.setattr(kept, "MOST_CLAIMS", 2)
    forgotten: list[str] = []
    records: Records[Nomination] = Records(
        lambda: 0.0, forgotten.append, hint_bounds(), lambda _: True
    )
    for uid in ("one", "two", "one", "three"):
        records.claim(model_pod(TWO.uid(uid)), {uid})
    assert forgotten == ["two"]
    lesser = model_pod(pod("lesser").priority(-1))
    assert [records.outranks(lesser, uid) for uid in ("one", "two", "three")] == [True, False, True]


def test_claims_and_withdrawals_are_forgotten() -> None:
    now = 0.0
    forgotten: list[str] = []
    records: Records[Nomination] = Records(
        lambda: now, forgotten.append, hint_bounds(), lambda _: True
    )
    for number in range(MOST_CLAIMS + 1):
        records.claim(model_pod(TWO.uid(f"uid-{number}")), {"b"})
    assert len(records) == MOST_CLAIMS
    assert forgotten == ["uid-0"]
    first = records.refuse(model_pod(ONE))
    with records.withdrawing(first, "b") as withdrawal:
        withdrawal.fate = Patched.DONE
        now = 10.0
    records.admit(first)
    now += REMEMBERED_SECONDS - 1
    assert first.state(now) is State.WITHDRAWN, "as long from its end on"
    now += 1
    assert first.state(now) is State.OVER
    second = records.claim(model_pod(TWO), {"b"})
    with records.withdrawing(second, "b"):
        pass
    assert len(records) == 1
    assert second.withdrawals["b"].fate is Patched.INDETERMINATE
