"""The bind callback, from the scheduler's request to its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request
from prometheus_client import CollectorRegistry

from extender.core.callbacks.in_flight import InFlightPods
from extender.core.cluster.ledgers.reservations import (
    CONFIRMED_SECONDS,
    RESERVATION_SECONDS,
    Reservation,
)
from extender.core.cluster.state import ClusterState
from extender.core.errors import ExtenderError
from extender.core.kube.watchers import StateSink
from extender.core.metrics import Metrics
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.objects import SeenPod
from extender.core.model.verdict import AnyReason
from extender.core.ports import Attempt, BetterNode, Hook
from extender.core.resources import PODS
from extender.core.source import Certainty, StillPicture
from extender.core.verbs.interaction import interact
from extender.core.verbs.plugins import Plugins
from extender.core.warm_up import AT_MOST, WarmUp
from extender.core.web.app import callbacks_app
from extender.core.wire.objects import PodReader
from extender.features.binding import binds
from extender.features.binding.binds import ANSWER_SECONDS, LOOK_SECONDS, Binds, NoApiServer
from extender.features.binding.outcome import BindOutcome, Bound
from extender.features.binding.part import Placing
from simulation.invariants.recount import mismatches
from tests.annotating import annotated
from tests.answering import Answering, requests_of
from tests.beside import RULES, needs_rules
from tests.builders import (
    ZONE,
    Pod,
    every_facet,
    model_pod,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.verbs.judging import AFFINITY

Client = TestClient[Request, Application]

NODES = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"})]
WAIT = 10.0
VERSION = "17"
STILL = StillPicture({}, {})


def loner(name: str) -> Pod:
    """Build a pod that wants a zone without others of its kind."""
    return pod(name).labels(app="web").anti_affinity(term(ZONE, selector(app="web")))


ONE, TWO = loner("one"), loner("two")


class ApiServer:
    """An API server that ends binds as it is told."""

    def __init__(self) -> None:
        self.end = Bound(BindOutcome.BOUND)
        self.gate: asyncio.Event | None = None
        self.pods: dict[str, ModelPod] = {}
        self.broken = False
        self.bound: list[tuple[str, str]] = []
        self.recorded: list[tuple[str, str]] = []
        """Pods with the digests of their annotations, in the order in which they came."""
        self.order: list[str] = []
        """What it was asked for."""
        self.no_record: str | None = None
        """Why none can be written."""
        self.arrived = asyncio.Event()
        self.within: list[float] = []
        """How long each bind may take."""
        self.read_seconds = self.bind_seconds = 0.0
        self.take: Callable[[float], None] = print
        """Lets time pass."""

    async def bind(self, pod: ModelPod, node: str, within: float) -> Bound:
        """Bind a pod, when the gate is open."""
        self.within.append(within)
        self.arrived.set()
        if self.gate is not None:
            await self.gate.wait()
        self.take(self.bind_seconds)
        self.order.append("bind")
        self.bound.append((pod.key, node))
        return self.end

    async def record(self, pod: ModelPod, digest: str) -> str | None:
        """Put rules on record, before any bind."""
        self.order.append("record")
        self.recorded.append((pod.key, digest))
        return self.no_record

    async def read(self, key: str) -> SeenPod | None:
        self.take(self.read_seconds)
        if self.broken:
            raise ExtenderError("no connection")
        found = self.pods.get(key)
        return None if found is None else SeenPod(found, VERSION)


class BindRig:
    """Everything behind the callbacks, on a clock that stands still."""

    def __init__(
        self,
        *pods: Pod,
        unready: str | None = None,
        plugins: Plugins = AFFINITY,
        picture: Certainty = STILL,
        hooks: Callable[[ClusterState, Metrics], Sequence[Hook]] = lambda *_: (),
    ) -> None:
        self.now = 0.0
        self.picture, self.unready = picture, unready
        self.api = ApiServer()
        self.api.take = self._take
        self.state: ClusterState = state_of(NODES, [], pods)
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry, "test")
        self.in_flight = InFlightPods(partial(interact, self.state), hold=WAIT * 2)
        made = hooks(self.state, metrics)
        answers = Answering(
            self.state,
            metrics,
            plugins,
            helpers=made,
            unready=lambda: self.unready,
            in_flight=self.in_flight,
            pods=PodReader(facets=every_facet(), rules=RULES),
        )
        requests = requests_of(self.state, metrics, unready=lambda: self.unready, hooks=made)
        row = Placing.metrics(metrics.make)
        self.binds = Binds(
            requests,
            plugins,
            self.api,
            self.in_flight,
            row,
            picture=picture,
            clock=lambda: self.now,
        )
        self.callbacks = {**answers.callbacks, "bind": self.binds}
        self.app = callbacks_app(self.callbacks, metrics, 1 << 20)

    def _take(self, seconds: float) -> None:
        self.now += seconds

    def count(self, result: str) -> float | None:
        return self.value("bind_total", result=result)

    def value(self, series: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"affinity_extender_{series}", labels)


def binding(raw: Pod, node_name: str) -> dict[str, str]:
    metadata = raw["metadata"]
    return {
        "PodName": metadata["name"],
        "PodNamespace": metadata["namespace"],
        "PodUID": metadata["uid"],
        "Node": node_name,
    }


async def bind(client: Client, raw: Pod, node_name: str) -> str:
    """Ask for a bind; return the error."""
    response = await client.post("/bind", json=binding(raw, node_name))
    assert response.status == 200
    error: str = (await response.json())["Error"]
    return error


async def filtered(client: Client, raw: Pod) -> list[str]:
    response = await client.post("/filter", json={"Pod": raw, "NodeNames": ["a", "b"]})
    names: list[str] = (await response.json())["NodeNames"]
    return names


async def test_a_bound_pod_counts_before_any_watch_shows_it(aiohttp_client: Any) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    assert await bind(client, ONE, "a") == ""
    assert rig.api.bound == [("default/one", "a")]
    assert await filtered(client, TWO) == ["b"]
    assert (
        await bind(client, TWO, "a")
        == "a since the filter call: node(s) didn't match pod anti-affinity rules"
    )
    assert rig.api.bound == [("default/one", "a")]
    assert (rig.count("bound"), rig.count("refused")) == (1, 1)
    assert mismatches(rig.state) == []


async def test_who_is_kept_from_a_node_has_no_place_reserved_there(aiohttp_client: Any) -> None:
    rig = BindRig(ONE, TWO)

    class Kept(Hook):
        def better(self, pod: ModelPod, node: str) -> BetterNode | None:
            is_one = (pod.key, node) == ("default/one", "a")
            return BetterNode("b", "a better one is tried first") if is_one else None

    class Pointed(list[tuple[str, str]]):
        def point(self, pod: ModelPod, node: str) -> None:
            self.append((pod.key, node))

        async def release_nomination(self, *_: object) -> frozenset[str]:
            raise AssertionError

    pointed = Pointed()
    rig.binds._hooks, rig.binds._pointer = [Hook(), Kept()], pointed
    client = await aiohttp_client(rig.app)
    assert await bind(client, ONE, "a") == "a better one is tried first"
    assert (rig.api.bound, rig.count("refused")) == ([], 1)
    assert await bind(client, TWO, "a") == ""
    assert "anti-affinity" in await bind(client, ONE, "a"), "what is refused anyway is not asked"
    assert pointed == [("default/one", "b")]


async def test_of_two_binds_at_once_one_is_refused(aiohttp_client: Any) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    rig.api.gate = asyncio.Event()
    first = asyncio.create_task(bind(client, ONE, "a"))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        assert "anti-affinity" in await bind(client, TWO, "a")
        rig.api.gate.set()
        assert await first == ""


PLAIN = pod("plain")
NEAR = pod("near").affinity(term(ZONE, selector(app="web")))


@pytest.mark.parametrize(
    ("end", "bound"),
    [
        pytest.param(Bound(BindOutcome.BOUND), True, id="bound: it follows"),
        pytest.param(Bound(BindOutcome.REFUSED, "no"), False, id="refused: so is it"),
        pytest.param(
            Bound(BindOutcome.INDETERMINATE, "timeout"), False, id="unclear: it is refused"
        ),
    ],
)
async def test_a_pod_is_bound_after_the_pod_that_it_must_be_near(
    aiohttp_client: Any, end: Bound, *, bound: bool
) -> None:
    rig = BindRig(ONE, NEAR)
    client = await aiohttp_client(rig.app)
    rig.api.gate = asyncio.Event()
    rig.api.end = end
    first = asyncio.create_task(bind(client, ONE, "a"))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        assert await filtered(client, NEAR) == ["a"]
        second = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(NEAR, "a"))))
        for _ in range(5):
            await asyncio.sleep(0)
        assert (len(rig.api.within), second.done()) == (1, False)
        rig.api.gate.set()
        await first
        error = orjson.loads(await second)["Error"]
    assert (error == "") is bound, error
    assert [key for key, _ in rig.api.bound] == ["default/one", "default/near"][: 1 + bound]
    assert mismatches(rig.state) == []


async def test_of_several_pods_that_would_do_the_first_to_be_bound_is_enough() -> None:
    some = [pod(name).labels(app="web") for name in ("one", "two")]
    rig, gates = BindRig(*some, NEAR), [asyncio.Event(), asyncio.Event()]
    binds = []
    async with asyncio.timeout(WAIT):
        for each, rig.api.gate in zip(some, gates, strict=True):
            rig.api.arrived.clear()
            binds.append(asyncio.create_task(rig.binds.answer(orjson.dumps(binding(each, "a")))))
            await rig.api.arrived.wait()
        rig.api.gate = None
        near = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(NEAR, "a"))))
        for bound in (False, True):
            for _ in range(9):
                await asyncio.sleep(0)
            assert [each.done() for each in (*binds, near)] == [bound, False, bound]
            gates[0].set()
        gates[1].set()
        await asyncio.gather(*binds)
    assert orjson.loads(near.result())["Error"] == ""


async def test_a_pod_waits_no_longer_for_company_than_its_bind_may_take(
    aiohttp_client: Any,
) -> None:
    rig = BindRig(ONE)
    client = await aiohttp_client(rig.app)
    rig.api.gate = asyncio.Event()
    first = asyncio.create_task(bind(client, ONE, "a"))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        rig.api.pods["default/near"] = model_pod(NEAR)
        rig.api.read_seconds = ANSWER_SECONDS
        error = await bind(client, NEAR, "a")
        assert error == "default/one, which it must be near, may not come to be bound"
        rig.api.gate.set()
        assert await first == ""


async def test_comparing_twice_takes_no_longer_than_a_bind_may(
    aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = BindRig(ONE, NEAR)

    async def costly(_: WarmUp, pod: ModelPod, within: float = AT_MOST.patience) -> None:
        rig.now += 0.8 * min(within, AT_MOST.patience) if pod.key == "default/near" else 0.0

    monkeypatch.setattr(WarmUp, "prepare", costly)
    client = await aiohttp_client(rig.app)
    rig.api.gate = asyncio.Event()
    first = asyncio.create_task(bind(client, ONE, "a"))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        second = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(NEAR, "a"))))
        for _ in range(5):
            await asyncio.sleep(0)
        rig.api.gate.set()
        await first
        assert orjson.loads(await second)["Error"] == ""
    assert rig.api.within[1] >= LOOK_SECONDS


class Recording(Hook):
    """Puts something on record before each bind."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    async def before_bind(self, placed: ModelPod) -> str | None:
        return await self._api.record(placed, "")


@pytest.mark.parametrize("seconds", [ANSWER_SECONDS - LOOK_SECONDS + 0.1, 20.0])
async def test_what_is_decided_too_late_is_not_bound(aiohttp_client: Any, seconds: float) -> None:
    rig = BindRig()
    rig.binds._hooks = [Recording(rig.api)]
    client = await aiohttp_client(rig.app)
    rig.api.pods["default/one"] = model_pod(ONE)
    rig.api.read_seconds = seconds
    assert await bind(client, ONE, "a") == "there is no time left to bind it"
    assert (rig.api.order, len(rig.state.reservations)) == ([], 0)
    rig.api.read_seconds = 0.0
    assert await bind(client, ONE, "a") == ""


async def test_for_company_that_no_bind_can_bring_any_more_nobody_waits(
    aiohttp_client: Any,
) -> None:
    rig = BindRig(ONE, NEAR)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.INDETERMINATE, "timeout")
    await bind(client, ONE, "a")
    answer = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(NEAR, "a"))))
    for _ in range(5):
        await asyncio.sleep(0)
    assert answer.done()
    assert "may not come to be bound" in orjson.loads(answer.result())["Error"]


async def test_a_bind_that_a_restored_etcd_has_undone_supports_no_other() -> None:
    rig = BindRig(ONE, NEAR)
    answers = []
    for shown, asks in ((None, ONE), (ONE, NEAR), (ONE.on("a"), NEAR)):
        if shown is not None:
            StateSink(rig.state, PODS).put(model_pod(shown))
        answers.append(orjson.loads(await rig.binds.answer(orjson.dumps(binding(asks, "a")))))
    why = "default/one, which it must be near, may not come to be bound"
    assert [each["Error"] for each in answers] == ["", why, ""]


class Pair(Hook):
    """Decides about two binds together, once both are there."""

    def __init__(self, why: str | None = None) -> None:
        self.company = self
        self.why = why
        self.attempts: list[Attempt] = []
        self.one, self.both = asyncio.Event(), asyncio.Event()

    def has(self, pod: ModelPod) -> bool:
        return pod.key != "default/two"

    async def decide(self, pod: ModelPod, attempt: Attempt) -> str | None:
        del pod
        self.attempts.append(attempt)
        self.one.set()
        if len(self.attempts) > 1:
            self.stand = [each.stands() for each in reversed(self.attempts)]
            self.both.set()
        await self.both.wait()
        return self.why


async def test_of_a_pair_the_one_that_must_be_near_the_other_is_bound_after_it(
    aiohttp_client: Any,
) -> None:
    rig, pair = BindRig(ONE, NEAR), Pair()
    rig.binds._company = pair
    client = await aiohttp_client(rig.app)
    async with asyncio.timeout(WAIT):
        near = asyncio.create_task(bind(client, NEAR, "a"))
        await pair.one.wait()
        assert [await bind(client, ONE, "a"), await near] == ["", ""]
    assert pair.stand == [True, True]
    assert [key for key, _ in rig.api.bound] == ["default/one", "default/near"]
    assert mismatches(rig.state) == []


@pytest.mark.parametrize(
    ("why", "end", "says"),
    [
        pytest.param("another is", Bound(BindOutcome.BOUND), ["another is"] * 2, id="together"),
        pytest.param(
            None,
            Bound(BindOutcome.REFUSED, "no"),
            ["no", "a since the filter call: node(s) didn't match pod affinity rules"],
            id="one by the API server, and so the other that must be near it",
        ),
    ],
)
async def test_of_a_pair_that_is_refused_no_place_is_left(
    aiohttp_client: Any, why: str | None, end: Bound, says: list[str]
) -> None:
    rig, pair = BindRig(ONE, NEAR, TWO), Pair(why)
    rig.binds._company, rig.api.end = pair, end
    client = await aiohttp_client(rig.app)
    async with asyncio.timeout(WAIT):
        near = asyncio.create_task(bind(client, NEAR, "a"))
        await pair.one.wait()
        assert [await bind(client, ONE, "a"), await near] == says
    assert not [*rig.state.reservations]
    rig.api.end = Bound(BindOutcome.BOUND)
    assert await bind(client, TWO, "a") == "", "a pod without company is decided about at once"


@pytest.mark.parametrize(
    ("meanwhile", "stands"),
    [
        pytest.param(lambda _: None, True, id="nothing"),
        pytest.param(
            lambda state: state.remove_pod("default/plain", "default-plain"), False, id="it is gone"
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(PLAIN.labels(app="web"))),
            False,
            id="a label by which a pod there excludes it",
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(annotated(PLAIN, "{"))),
            False,
            marks=needs_rules,
            id="an annotation that cannot be read",
        ),
    ],
)
async def test_a_bind_that_waited_is_decided_by_what_the_pod_is_by_then(
    meanwhile: Callable[[ClusterState], None], *, stands: bool
) -> None:
    rig, pair = BindRig(ONE.on("a"), PLAIN), Pair()
    rig.binds._company = pair
    answer = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(PLAIN, "a"))))
    async with asyncio.timeout(WAIT):
        await pair.one.wait()
        meanwhile(rig.state)
        assert pair.attempts[0].stands() is stands
        pair.both.set()
        await answer
    assert len(rig.api.bound) == stands
    assert mismatches(rig.state) == []


def lose_the_connection(rig: BindRig) -> None:
    assert isinstance(rig.picture, Broken)
    rig.picture.certain = False


def stand_still(rig: BindRig) -> None:
    rig.unready = "the process stood still"


@pytest.mark.parametrize(
    ("meanwhile", "says"),
    [
        pytest.param(lambda _: None, "", id="nothing"),
        pytest.param(lose_the_connection, "broke", id="the connection breaks"),
        pytest.param(stand_still, "stood still", id="the machine is suspended"),
        pytest.param(
            lambda rig: rig.state.remove_pod("default/near", "default-near"),
            "is gone",
            id="it is gone",
        ),
        pytest.param(
            lambda rig: rig.state.upsert_pod(model_pod(NEAR.labels(app="web"))),
            "anti-affinity",
            id="a label by which the other excludes it",
        ),
    ],
)
async def test_a_bind_that_waited_for_its_company_is_decided_by_what_is_so_by_then(
    meanwhile: Callable[[BindRig], None], says: str
) -> None:
    rig, pair = BindRig(ONE, NEAR, picture=Broken(asyncio.Event().wait, certain=True)), Pair()
    rig.binds._company = pair
    rig.api.gate = asyncio.Event()
    near, one = (
        asyncio.create_task(rig.binds.answer(orjson.dumps(binding(each, "a"))))
        for each in (NEAR, ONE)
    )
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        assert pair.stand == [True, True]
        meanwhile(rig)
        rig.api.gate.set()
        await one
        answer = orjson.loads(await near)["Error"]
    assert says in answer if says else not answer
    assert len(rig.api.bound) == 1 + (not says)
    assert mismatches(rig.state) == []


async def test_only_the_end_of_a_bind_that_a_pod_waits_for_has_it_judged_again() -> None:
    rig = BindRig(ONE, NEAR)
    rig.api.gate = asyncio.Event()
    first = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(ONE, "a"))))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        judged: list[str] = []
        of = rig.binds._support.of

        def counted(pod: ModelPod, node: str) -> list[Reservation]:
            judged.append(pod.key)
            return of(pod, node)

        rig.binds._support.of = counted  # type: ignore[method-assign]
        second = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(NEAR, "a"))))
        for _ in range(5):
            await asyncio.sleep(0)
            rig.binds._wake()
        assert judged == ["default/near"]
        rig.api.gate.set()
        await asyncio.gather(first, second)
    assert judged == ["default/near"] * 2


async def test_of_a_bind_that_is_given_up_beside_others_no_place_is_left() -> None:
    rig, pair = BindRig(ONE, NEAR), Pair()
    rig.binds._company = pair
    rig.api.gate = asyncio.Event()
    first = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(ONE, "a"))))
    async with asyncio.timeout(WAIT):
        await pair.one.wait()
    assert pair.attempts[0].stands()
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    assert not [*rig.state.reservations]


async def test_who_waits_for_a_bind_that_is_given_up_is_judged_again_at_once() -> None:
    rig, pair = BindRig(ONE, NEAR), Pair("another is refused")
    rig.binds._company = pair
    first = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(ONE, "a"))))
    async with asyncio.timeout(WAIT):
        await pair.one.wait()
    assert pair.attempts[0].stands()
    rig.binds._company = None
    second = asyncio.create_task(rig.binds.answer(orjson.dumps(binding(NEAR, "a"))))
    for over in (False, True):
        for _ in range(9):
            await asyncio.sleep(0)
        assert (first.done(), second.done()) == (over, over)
        pair.both.set()
    assert "pod affinity rules" in orjson.loads(second.result())["Error"]


async def test_a_place_is_held_for_as_long_as_its_bind_is_under_way(aiohttp_client: Any) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    rig.api.gate = asyncio.Event()
    first = asyncio.create_task(bind(client, ONE, "a"))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        # The process may have stood still: the bind is carried out all the same.
        rig.state.expire(RESERVATION_SECONDS - 1)
        assert "anti-affinity" in await bind(client, TWO, "a")
        rig.api.gate.set()
        assert await first == ""


async def test_why_a_bind_is_refused_names_no_pod_of_another_namespace(
    aiohttp_client: Any,
) -> None:
    near = pod("near", "tenant").affinity(term(ZONE, selector(app="web"), namespaces=["default"]))
    rig = BindRig(ONE, near)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.INDETERMINATE, "timeout")
    await bind(client, ONE, "a")
    error = await bind(client, near, "a")
    assert error == "a pod of another namespace, which it must be near, may not come to be bound"


async def test_a_pod_that_may_start_a_group_waits_for_nobody(aiohttp_client: Any) -> None:
    group = [pod(name).labels(app="g").affinity(term(ZONE, selector(app="g"))) for name in "xy"]
    rig = BindRig(*group)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.INDETERMINATE, "timeout")
    await bind(client, group[0], "a")
    rig.api.end = Bound(BindOutcome.BOUND)
    assert await bind(client, group[1], "a") == ""


@pytest.mark.parametrize(
    ("end", "held_until"),
    [
        pytest.param(Bound(BindOutcome.REFUSED, "no"), None, id="a refusal releases at once"),
        pytest.param(
            Bound(BindOutcome.INDETERMINATE, "timeout"),
            RESERVATION_SECONDS,
            id="an unclear end holds the place for a while",
        ),
        pytest.param(
            Bound(BindOutcome.BOUND), CONFIRMED_SECONDS, id="a success waits for the watch"
        ),
    ],
)
async def test_how_long_a_place_is_held(
    aiohttp_client: Any, end: Bound, held_until: float | None
) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    rig.api.end, rig.api.bind_seconds = end, 2.0
    assert await bind(client, ONE, "a") == end.why
    if held_until is not None:
        rig.state.expire(2.0 + held_until - 1)
        assert await filtered(client, TWO) == ["b"]
        rig.in_flight.remove("default-two")
        rig.state.expire(2.0 + held_until)
    assert await filtered(client, TWO) == ["a", "b"]


@pytest.mark.parametrize("again", ["a", "b"])
async def test_a_refusal_gives_up_no_place_that_an_earlier_bind_may_still_take(
    aiohttp_client: Any, again: str
) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.INDETERMINATE, "no answer")
    assert await bind(client, ONE, "a") == "no answer"
    rig.api.end = Bound(BindOutcome.REFUSED, "busy")
    for _ in range(3):
        rig.now += 10
        assert await bind(client, ONE, again) == "busy"
    assert await filtered(client, TWO) == ["b"]
    rig.in_flight.remove("default-two")
    assert "anti-affinity" in await bind(client, TWO, "a")
    # A minute after it was given up, the API server carries the first one out.
    rig.now = 60
    rig.state.expire(rig.now)
    assert await filtered(client, TWO) == ["b"]
    rig.in_flight.remove("default-two")
    rig.state.upsert_pod(model_pod(ONE.on("a")))
    assert await filtered(client, TWO) == ["b"]
    assert len(rig.state.reservations) == 0
    assert mismatches(rig.state) == []


async def test_refusals_do_not_prolong_what_an_earlier_bind_has_reserved(
    aiohttp_client: Any,
) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.INDETERMINATE, "no answer")
    await bind(client, ONE, "a")
    rig.api.end = Bound(BindOutcome.REFUSED, "busy")
    while rig.now < RESERVATION_SECONDS:
        rig.now += 10
        await bind(client, ONE, "a")
    rig.state.expire(rig.now)
    assert await filtered(client, TWO) == ["a", "b"]


@pytest.mark.parametrize(
    ("end", "nodes"),
    [
        pytest.param(Bound(BindOutcome.BOUND), ["a"], id="it is bound elsewhere"),
        pytest.param(
            Bound(BindOutcome.ELSEWHERE, "there", "a"), ["b"], id="the earlier bind has bound it"
        ),
        pytest.param(Bound(BindOutcome.GONE, "gone"), ["a", "b"], id="it is gone"),
        pytest.param(
            Bound(BindOutcome.INDETERMINATE, "again"), [], id="this one is unclear as well"
        ),
    ],
)
async def test_what_is_certain_of_a_pod_ends_all_its_unclear_binds(
    aiohttp_client: Any, end: Bound, nodes: list[str]
) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.INDETERMINATE, "no answer")
    await bind(client, ONE, "a")
    rig.api.end = end
    await bind(client, ONE, "b")
    assert await filtered(client, TWO) == nodes
    assert mismatches(rig.state) == []


async def test_reading_a_pod_and_binding_it_share_one_deadline(aiohttp_client: Any) -> None:
    rig = BindRig()
    client = await aiohttp_client(rig.app)
    rig.api.pods["default/one"] = model_pod(ONE)
    rig.api.read_seconds = 0.75
    assert await bind(client, ONE, "a") == ""
    assert rig.api.within == [ANSWER_SECONDS - 0.75]


@pytest.mark.parametrize(
    ("watched", "version"),
    [
        pytest.param([], VERSION, id="that was read to be bound"),
        pytest.param([ONE], "", id="that the watch has shown"),
    ],
)
async def test_a_reservation_tells_at_which_version_a_pod_was_seen(
    aiohttp_client: Any, watched: list[Pod], version: str
) -> None:
    rig = BindRig(*watched)
    client = await aiohttp_client(rig.app)
    rig.api.pods["default/one"] = model_pod(ONE)
    assert await bind(client, ONE, "a") == ""
    assert [*rig.state.reservations.pods().values()] == [version]


async def test_a_watch_that_is_faster_than_the_answer_settles_it(aiohttp_client: Any) -> None:
    rig = BindRig(ONE)
    client = await aiohttp_client(rig.app)
    rig.api.gate = asyncio.Event()
    binding = asyncio.create_task(bind(client, ONE, "a"))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        rig.state.upsert_pod(model_pod(ONE.on("a")))
        rig.api.gate.set()
        assert await binding == ""
    assert len(rig.state.reservations) == 0
    assert mismatches(rig.state) == []


async def test_a_pod_that_our_watch_has_not_shown_is_read(aiohttp_client: Any) -> None:
    rig = BindRig()
    client = await aiohttp_client(rig.app)
    rig.api.pods["default/one"] = model_pod(ONE)
    assert await bind(client, ONE, "a") == ""
    assert await filtered(client, TWO) == ["b"]


@pytest.mark.parametrize(
    ("known", "error"),
    [
        pytest.param([], "the pod is gone", id="nobody knows it"),
        pytest.param([ONE.uid("successor")], "the pod is gone", id="another has its name"),
        pytest.param([ONE.being_deleted()], "the pod is being deleted", id="it is being deleted"),
        pytest.param([ONE.on("b")], "the pod is bound to b already", id="it is elsewhere"),
        pytest.param([ONE.on("a")], "", id="it is there already"),
    ],
)
async def test_a_pod_that_is_not_to_be_bound(
    aiohttp_client: Any, known: list[Pod], error: str
) -> None:
    rig = BindRig(*known)
    assert await bind(await aiohttp_client(rig.app), ONE, "a") == error
    assert rig.api.bound == []


@pytest.mark.parametrize(
    ("read", "error"),
    [
        pytest.param(None, "the pod is gone", id="nobody knows it"),
        pytest.param(ONE.uid("successor"), "the pod is gone", id="another has its name"),
        pytest.param(ONE.phase("Failed"), "the pod has ended", id="it has ended"),
        pytest.param(ONE.being_deleted(), "the pod is being deleted", id="it is being deleted"),
    ],
)
async def test_a_pod_that_is_not_to_be_bound_once_it_was_read(
    aiohttp_client: Any, read: Pod | None, error: str
) -> None:
    rig = BindRig(TWO)
    client = await aiohttp_client(rig.app)
    assert await filtered(client, ONE) == ["a", "b"]
    assert rig.in_flight.interacting(model_pod(TWO))
    if read is not None:
        rig.api.pods["default/one"] = model_pod(read)
    assert await bind(client, ONE, "a") == error
    assert (rig.api.bound, len(rig.state.reservations)) == ([], 0)
    assert not rig.in_flight.interacting(model_pod(TWO)), "its bind is decided"


class Telling(Hook):
    """Notes what it is asked and told in a bind, and refuses one if it has a reason."""

    def __init__(self, told: list[str], why: str | None = None) -> None:
        self._told, self._why = told, why

    def placing(self, pod: ModelPod, node: str) -> ModelPod:
        self._told.append(f"placing on {node}")
        return pod.with_spec(priority=pod.spec.priority + 1)

    async def before_bind(self, placed: ModelPod) -> str | None:
        self._told.append(f"before the bind, {placed.spec.priority} have placed it")
        return self._why

    def not_bound(self, pod: ModelPod, reason: AnyReason) -> None:
        self._told.append(f"{pod.key} is not bound: {reason.name}")


PLACING, BEFORE = "placing on a", "before the bind, 2 have placed it"


@pytest.mark.parametrize(
    ("there", "whys", "heard", "error"),
    [
        pytest.param([], [None, None], [PLACING, PLACING, BEFORE, BEFORE], "", id="it is bound"),
        pytest.param(
            [], ["first", None], [PLACING, PLACING, BEFORE], "first", id="the first one refuses"
        ),
        pytest.param(
            [],
            [None, "second"],
            [PLACING, PLACING, BEFORE, BEFORE],
            "second",
            id="the second one refuses",
        ),
        pytest.param(
            [TWO.on("a")],
            [None, None],
            ["default/one is not bound: ANTI_AFFINITY"] * 2,
            "a since the filter call: node(s) didn't match pod anti-affinity rules",
            id="a rule refuses",
        ),
    ],
)
async def test_each_of_several_hooks_has_its_say(
    aiohttp_client: Any, there: list[Pod], whys: list[str | None], heard: list[str], error: str
) -> None:
    told: list[str] = []
    rig = BindRig(ONE, *there, hooks=lambda *_: [Telling(told, each) for each in whys])
    assert await bind(await aiohttp_client(rig.app), ONE, "a") == error
    assert told == heard
    assert (rig.api.bound, len(rig.state.reservations)) == (
        ([], 0) if error else ([("default/one", "a")], 1)
    )


async def test_a_bind_that_fails_unexpectedly_is_counted_and_over(
    aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = BindRig(TWO)
    client = await aiohttp_client(rig.app)
    assert await filtered(client, ONE) == ["a", "b"]
    assert rig.in_flight.interacting(model_pod(TWO))
    monkeypatch.setattr(rig.api, "read", None)  # A defect: it cannot be called.
    assert "not callable" in await bind(client, ONE, "a")
    assert rig.count("error") == 1
    assert not rig.in_flight.interacting(model_pod(TWO))


async def test_an_api_server_that_cannot_be_asked_is_said(aiohttp_client: Any) -> None:
    rig = BindRig()
    rig.api.broken = True
    assert await bind(await aiohttp_client(rig.app), ONE, "a") == "no connection"
    assert rig.count("error") == 1


async def test_nothing_is_bound_before_the_cluster_is_known(aiohttp_client: Any) -> None:
    rig = BindRig(ONE, unready="pods not synced yet")
    assert "pods not synced yet" in await bind(await aiohttp_client(rig.app), ONE, "a")
    assert rig.api.bound == []


class Broken:
    """What is known of a server to which the connection broke."""

    def __init__(self, until: Callable[[], Awaitable[object]], *, certain: bool = False) -> None:
        self.certain = certain
        self._until = until

    async def wait_certain(self) -> None:
        await self._until()


async def test_nothing_is_decided_before_the_server_has_said_where_it_stands(
    aiohttp_client: Any,
) -> None:
    async def listed() -> None:
        """List a pod that etcd has again."""
        rig.state.upsert_pod(model_pod(TWO.on("a")))
        picture.certain = True

    picture = Broken(listed)
    rig = BindRig(ONE, picture=picture)
    client = await aiohttp_client(rig.app)
    assert "anti-affinity" in await bind(client, ONE, "a")
    assert rig.api.bound == []


async def test_where_the_server_does_not_say_it_in_time_nothing_is_bound(
    aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binds, "ANSWER_SECONDS", LOOK_SECONDS + 0.01)
    rig = BindRig(ONE, picture=Broken(asyncio.Event().wait))
    assert "the connection to the API server broke" in await bind(
        await aiohttp_client(rig.app), ONE, "a"
    )
    assert rig.api.bound == []


class AtOnce(Hook):
    """A company in which each bind is decided by itself."""

    def has(self, pod: ModelPod) -> bool:
        return pod.key == "default/near"

    async def decide(self, pod: ModelPod, attempt: Attempt) -> str | None:
        assert self.has(pod)
        assert attempt.stands()
        return None


@pytest.mark.parametrize(
    "what", ["where the server stands", "the pod that it must be near", "that one, in a gang"]
)
async def test_whatever_a_bind_waits_for_time_is_left_to_send_it_and_to_read_it_back(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    waits: list[float] = []

    def over_soon(seconds: float) -> asyncio.Timeout:
        waits.append(seconds)
        return asyncio.timeout(min(seconds, 0.01))

    theirs = SimpleNamespace(timeout=over_soon, Event=asyncio.Event)
    monkeypatch.setattr(binds, "asyncio", theirs)
    never = Broken(asyncio.Event().wait)
    rig = BindRig(ONE, NEAR, picture=never if what.startswith("where") else STILL)
    rig.binds._company = AtOnce() if what.endswith("gang") else None
    rig.state.reserve(model_pod(ONE), "a", 180.0)
    answer = orjson.loads(await rig.binds.answer(orjson.dumps(binding(NEAR, "a"))))
    assert answer["Error"] != ""
    assert rig.api.bound == []
    assert waits
    assert max(waits) <= ANSWER_SECONDS - LOOK_SECONDS


async def test_a_cluster_from_a_file_binds_nothing() -> None:
    bound = await NoApiServer().bind(model_pod(ONE), "a", 1.0)
    assert bound.outcome is BindOutcome.REFUSED
    assert await NoApiServer().read("default/one") is None


async def test_what_is_no_bind_is_a_client_error(aiohttp_client: Any) -> None:
    client = await aiohttp_client(BindRig().app)
    assert (await client.post("/bind", data=b"{}")).status == 400


async def test_a_filter_waits_for_the_bind_before_it(aiohttp_client: Any) -> None:
    rig = BindRig(ONE, TWO)
    client = await aiohttp_client(rig.app)
    assert await filtered(client, ONE) == ["a", "b"]
    asked = orjson.dumps({"Pod": TWO, "NodeNames": ["a", "b"]})
    waiting = asyncio.create_task(rig.callbacks["filter"].answer(asked))  # which begins at once
    assert await filtered(client, pod("plain")) == ["a", "b"], "a plain pod does not wait"
    assert not waiting.done()
    async with asyncio.timeout(WAIT):
        assert await bind(client, ONE, "b") == ""
        assert orjson.loads(await waiting)["NodeNames"] == ["a"]
    assert rig.value("filter_hold_seconds_count") == 1
