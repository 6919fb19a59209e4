"""A pod whose rules take long waits; nobody else does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.warm_up import AT_MOST, OverBudgetError, WarmUp
from extender.core.wire.limits import OF_REQUESTS, OF_RULES
from extender.core.wire.objects import PodReader
from tests.answering import Answering
from tests.builders import HOST, Pod, model_node, model_pod, node, node_term, pod, requirement, term
from tests.calls import calls_during
from tests.clock import Clock
from tests.hostile import crowded, hostile, narrow, unlike_anything

CLASSES = 700


class Desk:
    """Answers over a crowded cluster, with a budget."""

    def __init__(self, budget: int) -> None:
        self.registry = CollectorRegistry()
        self.state = crowded(classes=CLASSES, pods=CLASSES, nodes=20)
        self.warm_up = WarmUp(
            self.state, Metrics(self.registry, "test"), budget=budget, clock=lambda: 0.0
        )
        self.answers = Answering(self.state, warm_up=self.warm_up)

    async def filter(self, asking: Pod) -> dict[str, Any]:
        """Ask about all nodes."""
        names = [f"n{number}" for number in range(20)]
        body = json.dumps({"Pod": asking, "NodeNames": names}).encode()
        answer: dict[str, Any] = json.loads(await self.answers.filter(body))
        return answer

    def counted(self, name: str) -> float | None:
        return self.registry.get_sample_value(f"affinity_extender_{name}_total")


HOSTILE = hostile(OF_RULES.terms)
CONDITIONS = [requirement("number", "Lt", str(9000 + n)) for n in range(OF_REQUESTS.conditions + 1)]
NODE_READER = PodReader(node_selection=True)
PLAIN = pod("plain", "ns1").labels(app="a1").anti_affinity(*narrow(2))


async def test_others_are_answered_while_a_costly_question_is_prepared() -> None:
    desk = Desk(10**9)
    waiting = asyncio.create_task(desk.filter(HOSTILE))
    await asyncio.sleep(0)
    for _ in range(5):
        assert (await desk.filter(PLAIN))["NodeNames"]
        await asyncio.sleep(0)
        assert not waiting.done()
    assert len((await waiting)["FailedAndUnresolvableNodes"]) == 20
    slices = desk.counted("question_slices")
    assert slices is not None
    assert slices > OF_RULES.terms * CLASSES // (2 * AT_MOST.slice)


async def test_beyond_its_budget_a_call_gets_an_error_and_the_next_one_goes_on() -> None:
    desk = Desk(50_000)
    errors = []
    while error := (await desk.filter(HOSTILE))["Error"]:
        errors.append(error)
    assert 1 <= len(errors) <= 6
    assert "ns0/hostile" in errors[0]
    assert "%" not in errors[0]
    assert "\n" not in errors[0]
    assert desk.counted("questions_over_budget") == len(errors)


async def test_who_has_had_least_is_next() -> None:
    desk = Desk(10**9)
    larger = asyncio.create_task(desk.filter(hostile(OF_RULES.terms, "larger")))
    for _ in range(10):
        await asyncio.sleep(0)
    smaller = asyncio.create_task(desk.filter(hostile(8, "smaller")))
    await smaller
    assert not larger.done()
    await larger


async def test_turns_go_to_who_has_had_least_and_of_equals_to_who_came_first() -> None:
    warm_up, order = WarmUp(ClusterState(), Metrics()), []

    async def ask(spent: int, name: str) -> None:
        await warm_up._turn(spent)
        order.append(name)

    asking = ((300, "a"), (100, "b"), (200, "c"), (100, "d"), (300, "e"))
    await asyncio.gather(*(ask(*each) for each in asking))
    assert "".join(order) == "bdcae"


@pytest.mark.parametrize(("seconds", "is_told"), [(0.0, False), (0.2, True)])
async def test_who_takes_too_long_gets_an_error(*, seconds: float, is_told: bool) -> None:
    state, clock = crowded(classes=CLASSES, pods=CLASSES, nodes=20), Clock()
    warm_up = WarmUp(state, Metrics(), clock=clock)
    preparing = asyncio.create_task(warm_up.prepare(model_pod(HOSTILE)))
    while not preparing.done():
        clock.now += seconds
        await asyncio.sleep(0)
    assert isinstance(preparing.exception(), OverBudgetError) is is_told
    assert not is_told or AT_MOST.patience < clock.now < AT_MOST.patience + 2


@pytest.mark.parametrize(("seconds", "done"), [(0.0, 20), (1.0, 3), (3.5, 1)])
async def test_steps_end_with_their_time_and_the_first_is_always_done(
    seconds: float, done: int
) -> None:
    clock, found = Clock(), []
    warm_up = WarmUp(ClusterState(), Metrics(), clock=clock)
    async for each in warm_up.in_turns(model_pod(pod("p")), range(20), 3.0):
        found.append(each)
        clock.now += seconds
    assert found == [*range(done)]


async def test_what_has_to_be_prepared_again_takes_no_longer_than_the_steps_may() -> None:
    state, clock = crowded(classes=CLASSES, pods=CLASSES, nodes=20), Clock()
    warm_up, found = WarmUp(state, Metrics(), clock=clock), []

    async def take() -> None:
        # It is as if all that was prepared had been dropped.
        async for each in warm_up.in_turns(model_pod(HOSTILE), range(20), 1.0):
            found.append(each)
            clock.now += 0.01

    taking = asyncio.create_task(take())
    while not taking.done():
        clock.now += 0.2
        await asyncio.sleep(0)
    await taking
    assert (found, clock.now < 1.0 + 3 * 0.2) == ([0], True), clock.now


async def test_no_more_than_so_many_are_prepared_at_a_time() -> None:
    desk = Desk(10**9)
    asking = [
        model_pod(pod(f"h{n}", "ns0").anti_affinity(*unlike_anything(OF_RULES.terms, kind=f"{n}-")))
        for n in range(AT_MOST.waiting + 1)
    ]
    prepared = await asyncio.gather(*map(desk.warm_up.prepare, asking), return_exceptions=True)
    (refused,) = [each for each in prepared if each is not None]
    assert "too many" in str(refused)


async def test_one_slice_is_done_in_each_turn_of_the_loop() -> None:
    desk = Desk(10**9)
    tasks = [asyncio.create_task(desk.filter(hostile(32, f"h{number}"))) for number in range(8)]
    before, most = 0.0, 0.0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        now = desk.counted("question_slices") or 0.0
        most, before = max(most, now - before), now
    assert most <= 1


async def test_a_question_is_whole_when_the_preparer_returns() -> None:
    desk = Desk(10**9)
    asking = model_pod(HOSTILE)
    assert not desk.warm_up.prepares_at_once(asking)
    await desk.warm_up.prepare(asking)
    assert sum(desk.state.preparing(asking.pod_class, AT_MOST.slice)) == 0


def test_what_takes_longer_than_a_few_slices_is_not_prepared_in_the_turn_of_the_call() -> None:
    desk = Desk(10**9)
    for number in range(AT_MOST.slice // 2):
        made = pod(f"job-{number}", "ns0").labels(job=f"j{number}").on("n1")
        desk.state.upsert_pod(model_pod(made))
    others = {"matchExpressions": [requirement("job", "Exists")]}
    asking = model_pod(pod("new", "ns0").anti_affinity(term(HOST, others)))
    prepared, calls = calls_during(lambda: desk.warm_up.prepares_at_once(asking))
    assert not prepared
    assert calls < 10 * AT_MOST.slice


async def test_what_is_dropped_meanwhile_is_prepared_again_a_few_times() -> None:
    state = ClusterState(most_matching_sets=50)
    for number in range(300):
        state.upsert_pod(model_pod(pod(f"p{number}").labels(app=f"a{number}").on(f"n{number}")))
    state.upsert_node(model_node(node("n0", {"kubernetes.io/hostname": "n0"})))
    warm_up = WarmUp(state, Metrics(), budget=10**9)
    assert not state.prepares_at_once(model_pod(HOSTILE).pod_class)
    with pytest.raises(OverBudgetError, match="dropped from memory"):
        await warm_up.prepare(model_pod(HOSTILE))


@pytest.mark.parametrize(
    ("asking", "refused"),
    [
        pytest.param(
            pod("p").requires_nodes(node_term(*CONDITIONS[: OF_REQUESTS.conditions])),
            False,
            id="as many conditions as a request may have",
        ),
        pytest.param(
            pod("p").requires_nodes(node_term(*CONDITIONS)),
            True,
            id="one more condition",
        ),
        pytest.param(
            pod("p").requires_nodes(*map(node_term, CONDITIONS)),
            True,
            id="one more term with a condition",
        ),
        pytest.param(
            pod("p").prefers_nodes(1, node_term(*CONDITIONS)),
            True,
            id="one more condition of a preference",
        ),
        pytest.param(
            pod("p").selects(**{f"k{n}": "v" for n in range(OF_REQUESTS.conditions + 1)}),
            True,
            id="one more label in the node selector",
        ),
    ],
)
async def test_a_pod_of_the_watch_is_not_judged_by_longer_node_affinity_than_a_request_may_have(
    asking: Pod, refused: bool
) -> None:
    desk = Desk(10**9)
    running = NODE_READER.read(json.dumps(asking).encode())
    assert desk.warm_up.prepares_at_once(running) is not refused
    if refused:
        with pytest.raises(OverBudgetError, match="node affinity"):
            await desk.warm_up.prepare(running)
        assert desk.counted("questions_over_budget") == 1


async def test_prioritize_and_plain_pods_never_wait_for_a_turn() -> None:
    desk = Desk(1)
    body = json.dumps({"Pod": PLAIN, "NodeNames": ["n1", "n2"]}).encode()
    for call in (desk.answers.filter(body), desk.answers.prioritize(body)):
        with pytest.raises(StopIteration):
            call.send(None)
        await asyncio.sleep(0)


async def test_of_questions_that_come_at_once_each_has_a_turn_of_its_own() -> None:
    desk, answered = Desk(10**9), []

    async def ask(number: int) -> None:
        await desk.filter(PLAIN)
        answered.append(number)

    tasks = [asyncio.create_task(ask(number)) for number in range(4)]
    turns = []
    while not all(task.done() for task in tasks):
        before = len(answered)
        await asyncio.sleep(0)
        turns.append(len(answered) - before)
    assert answered == [*range(4)]
    assert max(turns) == 1
