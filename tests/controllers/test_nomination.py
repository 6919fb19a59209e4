"""NominationController from the refusal to their end, on a clock that stands still."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request
from msgspec import Raw
from prometheus_client import CollectorRegistry

from extender.cluster.state import ClusterState
from extender.controllers.history import History
from extender.controllers.nomination.controller import (
    CLOSING_SECONDS,
    NominationController,
    NominationLimits,
)
from extender.controllers.nomination.nominations import MOST_RENEWALS
from extender.controllers.nomination.records import Records
from extender.controllers.reconciling import LOOK_SECONDS
from extender.controllers.refusals import SETTLING_SECONDS, WHOLE_SEARCH
from extender.errors import ApiError, ExtenderError
from extender.metrics import Metrics
from extender.model.objects import Pod as ModelPod
from extender.model.verdict import Reason
from extender.web.app import callbacks_app
from tests.answering import Answering
from tests.builders import HOST, Pod, model_node, model_pod, node, pod, selector, state_of, term
from tests.verbs.judging import AFFINITY

Client = TestClient[Request, Application]

ROOM = {"cpu": "4", "pods": "110"}
NODES = [node(name, {HOST: name}, ROOM) for name in ("a", "b")]
PATIENCE = 5.0
WAIT = 5.0
RESULTS = (
    "set",
    "renewed",
    "taken",
    "elsewhere",
    "gone",
    "refused",
    "withdrawn",
    "preempted",
    "woken",
    "failed",
    "skipped",
)


def loner(name: str) -> Pod:
    """Build a pod that wants a node without others of its kind."""
    return pod(name).labels(app="web").anti_affinity(term(HOST, selector(app="web")))


ONE, TWO, THREE = loner("one"), loner("two"), loner("three")


class Nominator:
    """Takes nominations, and shows them to the state as a watch would."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.made: list[tuple[str, str | None, str | None]] = []
        self.woken: list[str] = []
        self.done = True
        self.error: Exception | None = None
        self.shown = True
        self.gate: asyncio.Event | None = None
        self.arrived = asyncio.Event()

    async def nominate(self, pod: ModelPod, before: str | None, node: str | None) -> bool:
        """Take a nomination."""
        self.made.append((pod.key.removeprefix("default/"), before, node))
        self.arrived.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        known = self.state.pods.get(pod.key)
        if not self.done or known is None or known.nominated != before:
            return False
        if self.shown:
            show(self.state, pod.key.removeprefix("default/"), node)
        return True

    async def wake(self, pod: ModelPod) -> bool:
        """Take the wish to have a pod tried again."""
        self.woken.append(pod.key.removeprefix("default/"))
        if self.error is not None:
            raise self.error
        return self.state.pod(pod.key, pod.uid) is not None


def show(state: ClusterState, name: str, nominated: str | None) -> None:
    """Show a waiting pod with its nomination."""
    raw = loner(name) if nominated is None else loner(name).nominated(nominated)
    state.upsert_pod(model_pod(raw))


class NominationRig:
    """Two nodes; pods that want one each; everything happens when a test says so."""

    def __init__(self, *pods: Pod, per_second: float = 100, most: int = 10) -> None:
        self.now = 100.0
        self.state = state_of(NODES, [], pods)
        self.api = Nominator(self.state)
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, "test")
        self.history = History()
        self.controller = NominationController(
            self.state,
            self.api,
            self.metrics,
            NominationLimits(per_second, most, PATIENCE),
            AFFINITY,
            clock=lambda: self.now,
            chance=lambda: 0.0,
            history=self.history,
        )

    def refuse(self, raw: Pod, asked: int = WHOLE_SEARCH) -> None:
        """Tell of a refusal."""
        names = [f"asked-{number}" for number in range(asked)]
        refused = [(Reason.ANTI_AFFINITY, names)]
        self.controller.refused(model_pod(raw), Raw(json.dumps(raw).encode()), refused)

    async def pass_time(self, seconds: float = SETTLING_SECONDS) -> None:
        """Let time pass, and do what is due."""
        self.now += seconds
        while await self.controller.process_next():
            pass

    async def tick(self) -> None:
        """Let the next look come."""
        await self.pass_time(LOOK_SECONDS)

    def counts(self) -> dict[str, int]:
        """Return what became of hints."""
        found = {
            result: self.registry.get_sample_value(
                "affinity_extender_hints_total", {"result": result}
            )
            for result in RESULTS
        }
        return {result: int(count) for result, count in found.items() if count}


async def test_a_refused_pod_is_pointed_to_a_node_after_a_moment() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time(0)
    assert rig.api.made == [], "the scheduler may still come back by itself"
    await rig.pass_time()
    assert rig.api.made == [("two", None, "b")]
    assert rig.counts() == {"set": 1}
    (entry,) = rig.history.latest()
    assert (entry.kind, entry.result, entry.pod, entry.node) == ("hint", "set", "default/two", "b")


@pytest.mark.parametrize("lag", [1.0, 60.0, 290.0])
async def test_a_pod_is_remembered_that_the_watch_shows_late(lag: float) -> None:
    rig = NominationRig(ONE.on("a"))
    rig.refuse(TWO)
    while rig.now < 100.0 + lag:
        await rig.tick()
    assert rig.api.made == []
    rig.state.upsert_pod(model_pod(TWO))
    while rig.now < 100.0 + lag + lag / 8 + LOOK_SECONDS:
        await rig.tick()
    assert rig.api.made[:1] == [("two", None, "b")]


async def test_nothing_is_done_for_a_pod_that_was_admitted_meanwhile() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    rig.controller.admitted(model_pod(TWO))
    await rig.pass_time()
    assert rig.api.made == []


async def test_a_search_of_all_nodes_needs_no_hint_until_something_changes() -> None:
    rig = NominationRig(ONE.on("a"), TWO.on("b"), THREE)
    rig.refuse(THREE, asked=2)
    await rig.tick()
    assert rig.api.made == []
    rig.state.remove_pod("default/one", "default-one")
    await rig.tick()
    assert rig.api.made == [("three", None, "a")], "the wake-up came before the watch event"


async def test_what_was_in_vain_for_a_port_is_tried_for_a_pod_without_it() -> None:
    taken = [pod(f"taken-{name}").host_port(80).on(name) for name in ("a", "b")]
    ported, other = pod("ported").host_port(80), pod("other")
    rig = NominationRig(*taken, ported, other)
    rig.refuse(ported)
    await rig.pass_time()
    assert rig.api.made == []
    rig.refuse(other)
    await rig.pass_time()
    assert [name for name, _, _ in rig.api.made] == ["other"]


async def test_a_pod_that_no_watch_has_shown_yet_is_waited_for() -> None:
    rig = NominationRig(ONE.on("a"))
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.api.made == []
    rig.state.upsert_pod(model_pod(TWO))
    await rig.tick()
    assert rig.api.made == [("two", None, "b")]


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(TWO.on("b"), id="bound"),
        pytest.param(TWO.uid("successor"), id="replaced"),
    ],
)
async def test_a_pod_that_waits_no_more_is_forgotten(gone: Pod) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    rig.state.upsert_pod(model_pod(gone))
    await rig.pass_time()
    await rig.pass_time(10)
    assert rig.api.made == []


@pytest.mark.parametrize(
    ("request_says", "watch_says"),
    [
        pytest.param("b", None, id="the request says so"),
        pytest.param(None, "b", id="the watch says so"),
    ],
)
async def test_a_nomination_by_somebody_else_stands(
    request_says: str | None, watch_says: str | None
) -> None:
    rig = NominationRig(ONE.on("a"), TWO.nominated(watch_says) if watch_says else TWO)
    rig.refuse(TWO.nominated(request_says) if request_says else TWO)
    await rig.pass_time()
    assert rig.api.made == []
    assert rig.counts() == {"skipped": 1}


@pytest.mark.parametrize(
    ("place", "result"),
    [
        pytest.param("b", "taken", id="where the hint said"),
        pytest.param("a", "elsewhere", id="elsewhere"),
    ],
)
async def test_a_hint_ends_when_the_pod_is_bound(place: str, result: str) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.state.upsert_pod(model_pod(TWO.on(place)))
    await rig.tick()
    assert rig.counts() == {"set": 1, result: 1}
    assert rig.controller.outstanding == 0


async def test_a_place_that_we_reserve_ends_the_hint_once_the_pod_is_bound() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    two = model_pod(TWO)
    rig.state.reserve(two, "b", rig.now + 30)
    await rig.tick()
    assert rig.counts() == {"set": 1}
    rig.state.settle(two, "b", rig.now + 30)
    await rig.tick()
    assert rig.counts() == {"set": 1, "taken": 1}


async def test_a_hint_is_withdrawn_when_the_bind_there_comes_to_nothing() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    claim = rig.state.reserve(model_pod(TWO), "b", rig.now + 30)
    await rig.tick()
    rig.state.release(claim)
    await rig.pass_time(PATIENCE)
    assert ("two", "b", None) in rig.api.made


async def test_a_hint_ends_with_its_pod() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.state.remove_pod("default/two", "default-two")
    await rig.tick()
    assert rig.counts() == {"set": 1, "gone": 1}


async def test_a_hint_that_nobody_takes_is_withdrawn() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    await rig.pass_time(PATIENCE)
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)]
    assert rig.counts() == {"set": 1, "withdrawn": 1}
    await rig.pass_time(0.1)
    rig.refuse(TWO)
    await rig.pass_time()
    assert len(rig.api.made) == 2, "not at once again"
    await rig.tick()
    assert len(rig.api.made) == 2, "the other nodes have their turn first"
    await rig.tick()
    await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")], "there is no other"


async def test_a_hint_that_the_scheduler_wiped_out_is_renewed() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    show(rig.state, "two", None)
    await rig.pass_time(LOOK_SECONDS - SETTLING_SECONDS)
    assert len(rig.api.made) == 1, "the watch may only be late"
    await rig.tick()
    assert rig.api.made == [("two", None, "b")] * 2
    assert rig.counts() == {"set": 1, "renewed": 1}


async def test_a_node_that_the_scheduler_refused_is_followed_by_another() -> None:
    rig = NominationRig(TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.api.made == [("two", None, "a")], "a request older than the hint says nothing"
    rig.refuse(TWO.nominated("a"), asked=1)
    rig.refuse(TWO)
    await rig.pass_time()
    assert rig.api.made[1:] == [("two", "a", None)]
    await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")], "after a pause"
    rig.refuse(TWO.nominated("b"))
    await rig.pass_time()
    await rig.tick()
    await rig.tick()
    assert rig.api.made[3:] == [("two", "b", None)], "there is no third"
    assert rig.counts() == {"set": 2, "refused": 2}
    await rig.tick()
    await rig.tick()
    await rig.tick()
    assert len(rig.api.made) == 4, "each pause is longer"
    await rig.tick()
    assert rig.api.made[4:] == [("two", None, "a")], "perhaps it works by now"


async def test_a_change_during_a_pause_does_not_make_it_endless() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.refuse(TWO.nominated("b"))
    await rig.tick()
    await rig.tick()
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)], "there is no other node"
    rig.state.upsert_pod(model_pod(pod("other").on("a")))
    for _ in range(4):
        await rig.tick()
    assert rig.api.made[2:] == [("two", None, "b")], "though nothing has changed since"


async def test_a_hint_that_the_scheduler_refused_and_wiped_out_is_not_renewed() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    rig.refuse(TWO.nominated("b"))
    show(rig.state, "two", None)
    await rig.tick()
    await rig.tick()
    assert rig.api.made == [("two", None, "b"), ("two", "b", None)]
    assert rig.counts() == {"set": 1, "refused": 1}


async def test_a_hint_that_is_wiped_out_again_and_again_is_given_up() -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.refuse(TWO)
    await rig.pass_time()
    for _ in range(12):
        show(rig.state, "two", None)
        await rig.tick()
    assert rig.api.made == [("two", None, "b")] * (1 + MOST_RENEWALS)
    await rig.pass_time(PATIENCE)
    assert rig.controller.outstanding == 0


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
    assert rig.state.pods["default/two"].nominated is None
    assert rig.counts() == {"set": 1, "failed": 1, "withdrawn": 1}
    assert rig.controller.outstanding == 0


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


def test_the_refusal_longest_ago_is_forgotten_first() -> None:
    forgotten: list[str] = []
    records = Records(lambda: 0.0, forgotten.append, most_refused=2)
    for raw in (ONE, TWO, ONE, THREE):
        records.refuse(model_pod(raw), Raw(b"{}"))
    assert [each.uid for each in records.refused] == ["default-one", "default-three"]
    assert forgotten == ["default-two"]


async def test_a_filter_answer_waits_for_no_hint(aiohttp_client: Any) -> None:
    rig = NominationRig(ONE.on("a"), TWO)
    rig.api.gate = asyncio.Event()
    answers = Answering(rig.state, rig.metrics, nomination=rig.controller)
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
