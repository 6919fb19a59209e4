"""Pods that are let onto nodes and never bound, and the hard rules of all others meanwhile.

Mode `assist`, with rules in annotations, in simulated time: one scheduler asks about one pod after
the other, and the watch shows each a moment after it was bound.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import get_running_loop
from collections import Counter
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.callbacks.in_flight import UNSEEN_HOLD_SECONDS, InFlightPods
from extender.core.callbacks.wait_budget import (
    BURST_SECONDS,
    MOST_NAMESPACES,
    MOST_PODS,
    REST,
    WaitBudget,
)
from extender.core.config import API_VERSION, KIND
from extender.core.config.document import decode
from extender.core.model.keys import key_of
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.objects import PodClass
from extender.core.source import empty_state
from simulation.loop import now, simulate
from tests.annotating import REQUIRED, annotated, stored
from tests.builders import HOST, Pod, model_node, model_pod, node, pod, selector, term
from tests.clock import Clock
from tests.wired import wired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from extender.core.cluster.state import ClusterState


NODES = [f"n{number}" for number in range(4)]
FREE = "free"
"""A node that nothing is ever bound to, so that pods are let onto it that exclude all others."""
BIND_SECONDS = 0.03
"""From the answer until the watch shows the pod on its node."""
STUCK_EVERY, SECONDS, LONG_SECONDS = 3.0, 30.0, 120.0
EVERYBODY = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(), namespaceSelector={})]}}


class AssistedScheduler:
    """A scheduler that takes the first node it is answered, so pods meet wherever they may."""

    def __init__(self) -> None:
        everywhere: dict[str, Any] = {"annotations": {"namespaceSelector": {}}}
        config = decode({"apiVersion": API_VERSION, "kind": KIND, "mode": "assist", **everywhere})
        state = self.state = empty_state(config)
        for name in (*NODES, FREE):
            state.upsert_node(model_node(node(name, {HOST: name})))
        self._filter = wired(config, state, clock=now)["filter"]
        self._binds: list[asyncio.Task[None]] = []

    async def answer(self, waiting: Pod, names: list[str]) -> list[str]:
        """Return on which nodes a pod is let; the watch has shown it before."""
        self.state.upsert_pod(model_pod(waiting))
        body = {"Pod": waiting, "Nodes": None, "NodeNames": names}
        answer = json.loads(await self._filter.answer(json.dumps(body).encode()))
        assert answer["Error"] == ""
        found: list[str] = answer["NodeNames"]
        return found

    async def place(self, waiting: Pod) -> None:
        """Have a pod bound, if it may go anywhere."""
        found = await self.answer(waiting, NODES)
        if found:
            self._binds.append(asyncio.create_task(self._bind(waiting, found[0])))

    async def _bind(self, waiting: Pod, name: str) -> None:
        await asyncio.sleep(BIND_SECONDS)
        self.state.upsert_pod(model_pod(stored(Pod(waiting).on(name))))

    async def bound(self) -> None:
        """Wait for the binds that are under way."""
        await asyncio.gather(*self._binds)


def couple(number: int) -> list[Pod]:
    """Return two pods that exclude each other, each by its annotation."""
    away = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(couple=str(number)))]}}
    return [
        stored(annotated(pod(f"{side}-{number}", "shop").labels(couple=str(number)), away))
        for side in ("one", "other")
    ]


def met(state: ClusterState) -> int:
    """Return how many couples are on one node."""
    places = Counter(
        (each.node, each.pod_class.labels["couple"])
        for each in state.pods.values()
        if each.node is not None
    )
    return sum(number > 1 for number in places.values())


def stuck(namespace: str, *, again: bool) -> Iterator[Pod]:
    """Yield what a tenant has asked about: one pod again and again, or another one each time."""
    for number in count():
        name = "stuck" if again else f"stuck-{number}"
        yield stored(annotated(pod(name, namespace), EVERYBODY))


@pytest.mark.parametrize(
    "stuck_pods",
    [
        pytest.param(None, id="none"),
        pytest.param(stuck("tenant", again=True), id="one of a tenant"),
        pytest.param(stuck("tenant", again=False), id="many of a tenant"),
        pytest.param(stuck("shop", again=True), id="one of their own namespace"),
        pytest.param(stuck("shop", again=False), id="many of their own namespace"),
    ],
)
def test_pods_that_are_never_bound_switch_no_rule_of_others_off(
    stuck_pods: Iterator[Pod] | None,
) -> None:
    async def play() -> tuple[int, int]:
        scheduler, couples, next_stuck = AssistedScheduler(), 0, 0.0
        while now() < SECONDS:
            if stuck_pods is not None and now() >= next_stuck:
                next_stuck = now() + STUCK_EVERY
                assert await scheduler.answer(next(stuck_pods), [FREE]) == [FREE]
            for each in couple(couples):
                await scheduler.place(each)
            couples += 1
            await asyncio.sleep(0.3)
        await scheduler.bound()
        return couples, met(scheduler.state)

    couples, together = simulate(play())
    assert couples > 20
    assert together == 0


def a_pod(name: str, namespace: str | None = None) -> ModelPod:
    """Return a pod whose uid is its name."""
    namespace = namespace or name
    return ModelPod(key_of(namespace, name), uid=name, node=None, pod_class=PodClass(namespace, {}))


class Stuck:
    """Pods of some tenants that are asked about, and an ordinary pod after each of them."""

    def __init__(self, dice: Random, tenants: int) -> None:
        self.dice = dice
        self.tenants = tenants
        self.budget = WaitBudget(now)
        self.shown: dict[str, ModelPod] = {}
        self.in_flight = InFlightPods(
            lambda *_: True,
            known=lambda each: self.shown.get(each.uid),
            budget=self.budget,
            hold=UNSEEN_HOLD_SECONDS,
            clock=now,
        )
        self.waited = 0.0

    def answer(self) -> None:
        """Let a pod onto a node that will never be bound.

        It may be deleted soon, or be asked about again, by another scheduler, before its time is
        over.
        """
        name, tenant = f"p{self.dice.randrange(1_000)}", f"t{self.dice.randrange(self.tenants)}"
        stuck_pod = self.shown[name] = a_pod(name, tenant)
        self.in_flight.add(stuck_pod)
        later = get_running_loop().call_later
        match self.dice.choice(("deleted", "asked again", "")):
            case "deleted":
                later(self.dice.random(), self._delete, name)
            case "asked again":
                for seconds in (0.2, 0.4, 0.6, 0.8):
                    later(seconds, self.in_flight.add, stuck_pod)

    def _delete(self, name: str) -> None:
        self.in_flight.look_again(name)
        self.shown.pop(name, None)

    async def play(self) -> float:
        """Ask about one pod after the other, each call a moment; return how long pods waited."""
        while now() < LONG_SECONDS:
            for _ in range(self.dice.choice((1, 1, 3))):
                self.answer()
            await asyncio.sleep(0.01)
            ordinary = a_pod("ordinary", "shop")
            self.waited += await self.in_flight.wait_for(ordinary)
            self.in_flight.add(ordinary)
            assert self.in_flight.interacting(a_pod("next", "shop"))
            self.in_flight.remove(ordinary.uid)
            await asyncio.sleep(0.01)
        return self.waited


@pytest.mark.parametrize("tenants", [1, 2, 10])
@pytest.mark.parametrize("seed", range(2))
def test_what_they_cost_is_bounded_however_many_there_are(seed: int, tenants: int) -> None:
    async def play() -> float:
        return await Stuck(Random(seed), tenants).play()

    share = LONG_SECONDS / (REST + 1)
    most = share + tenants * (BURST_SECONDS + 2 * UNSEEN_HOLD_SECONDS)
    assert 0.9 * share < simulate(play()) <= most


def test_a_pod_that_was_not_bound_rests_alone() -> None:
    clock = Clock(100.0)
    budget = WaitBudget(clock)
    budget.rest(a_pod("stuck", "web"), 0.5)
    assert not budget.allows(a_pod("stuck", "web"))
    assert budget.allows(a_pod("other", "web"))
    clock.now += REST * 0.5 - 0.1
    assert not budget.allows(a_pod("stuck", "web"))
    clock.now += 0.2
    assert budget.allows(a_pod("stuck", "web"))


def test_a_namespace_of_many_such_pods_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock(100.0)
    budget = WaitBudget(clock, "pods may meet")
    budget.charge({"one": BURST_SECONDS + 0.5, "two": 1.0})
    assert not budget.allows(a_pod("another", "one"))
    assert caplog.messages == [
        "pods of namespace one are let onto nodes and not bound: for now, pods may meet"
    ]
    assert budget.allows(a_pod("another", "two"))
    # Both owe: half of what is forgiven is the other one's.
    clock.now += (REST + 1) * 0.5
    assert not budget.allows(a_pod("another", "one"))
    clock.now += (REST + 1) * 0.6
    assert budget.allows(a_pod("another", "one"))


async def test_one_wait_for_many_pods_costs_their_namespace_one_wait() -> None:
    clock = Clock(100.0)
    budget = WaitBudget(clock)
    in_flight = InFlightPods(lambda *_: True, budget=budget, hold=0.001, clock=clock)
    for number in range(MOST_PODS):
        in_flight.add(a_pod(str(number), "web"))
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("next", "web")))
    await asyncio.sleep(0)
    clock.now += 0.001
    await waiting
    assert budget._debts == {"web": pytest.approx(0.001)}


@pytest.mark.parametrize("asked", [False, True], ids=["after a rest", "asked about all the time"])
def test_what_is_forgiven_is_of_debts_that_there_were(*, asked: bool) -> None:
    clock = Clock(100.0)
    budget = WaitBudget(clock)
    for _ in range(3):
        for _ in range(1_000):
            clock.now += 1.0
            if asked:
                assert budget.allows(a_pod("one", "web"))
        budget.charge({"web": BURST_SECONDS + 1.0})
        for seconds, allowed in ((0.0, False), (REST + 0.9, False), (0.2, True)):
            clock.now += seconds
            assert budget.allows(a_pod("one", "web")) is allowed


@pytest.mark.parametrize(
    ("spaces", "debts"),
    [
        pytest.param(("web", "shop"), {"web": 0.3, "shop": 0.3}, id="each of its own"),
        pytest.param(("web", "web"), {"web": 0.5}, id="both of one"),
    ],
)
def test_a_pod_costs_as_much_of_a_wait_as_it_was_in_flight(
    spaces: tuple[str, str], debts: dict[str, float]
) -> None:
    """The first one's time is over before the wait is, and the second one comes in between."""
    first, second = (a_pod(name, space) for name, space in zip(("1", "2"), spaces, strict=True))

    async def play() -> dict[str, float]:
        budget = WaitBudget(now)
        in_flight = InFlightPods(
            lambda *_: True, known=lambda each: each, budget=budget, hold=0.5, clock=now
        )
        in_flight.add(first)
        await asyncio.sleep(0.2)
        get_running_loop().call_later(0.2, in_flight.add, second)
        assert await in_flight.wait_for(a_pod("next", "other")) == pytest.approx(0.5, abs=0.01)
        return budget._debts

    assert simulate(play()) == pytest.approx(debts, abs=0.01)


async def test_a_pod_that_is_deleted_before_it_is_bound_costs_what_was_waited_for_it() -> None:
    clock, shown = Clock(100.0), {"stuck": a_pod("stuck", "web")}
    budget = WaitBudget(clock)
    in_flight = InFlightPods(
        lambda *_: True, known=lambda each: shown.get(each.uid), budget=budget, hold=10, clock=clock
    )
    in_flight.add(a_pod("stuck", "web"))
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("next", "shop")))
    await asyncio.sleep(0)
    clock.now += 9
    in_flight.look_again("stuck")
    del shown["stuck"]
    assert await waiting == pytest.approx(9)
    assert budget._debts == {"web": pytest.approx(9)}


async def test_a_pod_that_may_be_bound_yet_does_not_rest() -> None:
    """It was answered after the call that waits had come, and has its whole time."""
    clock, shown = Clock(100.0), {name: a_pod(name, "web") for name in ("early", "late")}
    budget = WaitBudget(clock)
    in_flight = InFlightPods(
        lambda *_: True, known=lambda each: shown.get(each.uid), budget=budget, hold=2, clock=clock
    )
    in_flight.add(shown["early"])
    waiting = asyncio.create_task(in_flight.wait_for(a_pod("next", "shop")))
    await asyncio.sleep(0)
    clock.now += 1
    in_flight.add(shown["late"])
    in_flight.look_again("late")
    await asyncio.sleep(0)  # From now on it waits for both.
    clock.now += 1
    in_flight.look_again("late")
    assert await waiting == pytest.approx(2)
    assert {each: budget.allows(pod) for each, pod in shown.items()} == {
        "early": False,
        "late": True,
    }


def test_what_is_remembered_is_bounded() -> None:
    budget = WaitBudget(Clock(100.0))
    for number in range(MOST_PODS + MOST_NAMESPACES):
        budget.rest(a_pod(str(number)), 0.5)
        budget.charge({str(number): BURST_SECONDS + number})
    assert len(budget._resting) == MOST_PODS
    assert len(budget._debts) == MOST_NAMESPACES
    # The latest, and those that owe most.
    assert not budget.allows(a_pod(str(MOST_PODS + MOST_NAMESPACES - 1)))
    assert budget.allows(a_pod("0"))
