"""One record of moves for all who evict: the next one waits until the last one is made good."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise, permutations
from random import Random

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.controllers.rates import WINDOW_SECONDS
from extender.core.kube.failures import NoAnswerError
from extender.core.model.objects import Pod
from extender.core.ports import Remark
from extender.core.warm_up import WarmUp
from extender.features.moving import repair
from extender.features.moving.failed_moves import REST_SECONDS, FailedMoves
from extender.features.moving.limits import LastHour
from extender.features.moving.moves import (
    DAY,
    KEPT_SECONDS,
    LATE_SECONDS,
    PROVEN_SECONDS,
    READY_SECONDS,
    REPLACED_SECONDS,
    Moves,
)
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.rules.evicting import Outcome
from extender.features.moving.written import (
    MOST_BYTES,
    WrittenController,
    WrittenMoves,
    read_moves,
    write_moves,
)
from tests.builders import HOST, ZONE, model_node, node, selector, term
from tests.clock import Clock
from tests.features.moving import moving
from tests.features.moving.booked import books_over
from tests.features.moving.moving import GRACE, SETTLE, App, Cluster

HOUR = 3600.0
KINDS = ("required", "preferred")


def cluster(kind: str, **options: object) -> Cluster:
    """Build a cluster in which pods are moved for one kind of rules."""
    only = {each: each == kind for each in KINDS}
    return Cluster(**only, **options)  # type: ignore[arg-type]


def misplaced(it: Cluster, kind: str, name: str = "web", replicas: int = 6, **more: object) -> App:
    """Create an app all of whose pods have to be moved, or many of whose sit worse."""
    app = it.app(name, ["a0"] * replicas, **more)  # type: ignore[arg-type]
    if kind == "required":
        it.node("a0")
    return app


@pytest.mark.parametrize("kind", KINDS)
async def test_where_no_successors_are_made_one_pod_of_a_controller_is_lost(kind: str) -> None:
    it = cluster(kind)
    app = misplaced(it, kind, replicas=10, makes=False)
    await it.after(2 * HOUR)
    assert len(it.moved) == 1
    app.makes = True
    await it.after(HOUR)
    assert len(it.moved) > 1
    assert it.ready(app) == 10


@pytest.mark.parametrize("kind", KINDS)
async def test_no_pod_goes_for_room_that_another_is_expected_to_take(kind: str) -> None:
    it = cluster(kind)
    for name in ("a1", "b1", "c0", "c1"):
        it.node(name)
    labels = {HOST: "b0", ZONE: "b", "disk": "ssd"}
    it.state.upsert_node(model_node(node("b0", labels, {"pods": "1", "cpu": "4"})))
    for name in ("one", "two"):
        misplaced(it, kind, name, 2, makes=False)
    await it.after(GRACE + SETTLE + REPLACED_SECONDS / 2)
    assert len(it.moved) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_no_pod_goes_while_a_successor_is_not_ready_or_was_for_a_moment(kind: str) -> None:
    it = cluster(kind)
    app = misplaced(it, kind, starts=lambda _: 90.0)
    for _ in range(900):
        await it.step()
        assert it.ready(app) >= 5
    assert len(it.moved) >= 3
    times = [at for at, _ in it.moved]
    gaps = [after - before for before, after in pairwise(times)]
    assert min(gaps) >= 90 + PROVEN_SECONDS


@pytest.mark.parametrize("kind", KINDS)
async def test_who_is_refused_again_and_again_takes_little_of_the_time(kind: str) -> None:
    """A tenant has many pods that budgets protect, and each attempt takes a while."""
    it = cluster(kind)
    for number in range(40):
        misplaced(it, kind, f"many{number}", 2, space="tenant")
    few = misplaced(it, kind, "few", 4)

    def refuse(gone: Pod) -> Eviction:
        it.now += 0.5
        if gone.pod_class.namespace == "tenant":
            return Eviction(Evicted.REFUSED, "a budget")
        return it._evict(gone)

    it.mover.answer = refuse
    began = it.now
    while it.of(few) < 2:
        await it.step()
        assert it.now - began < 60
    tried = sum(name.startswith("many") for name in it.mover.tried)
    assert 2 <= tried <= 14


@pytest.mark.parametrize("first", [False, True])
async def test_a_namespace_with_very_many_controllers_leaves_room_for_those_of_others(
    monkeypatch: pytest.MonkeyPatch, *, first: bool
) -> None:
    monkeypatch.setattr(repair, "MOST_CONTROLLERS", 5)
    it = cluster("preferred")
    it.mover.answer = lambda gone: (
        Eviction(Evicted.REFUSED, "a budget")
        if gone.pod_class.namespace == "tenant"
        else it._evict(gone)
    )
    few = [misplaced(it, "preferred", "few", 4)] if first else []
    for number in range(20):
        misplaced(it, "preferred", f"many{number}", 2, space="tenant")
    await it.after(SETTLE + 2)
    few = few or [misplaced(it, "preferred", "few", 4)]
    await it.after(SETTLE + 120)
    assert it.of(few[0]) >= 1
    assert it.repair is not None
    assert len(it.repair.prospects) <= 5


@pytest.mark.parametrize("lingers", [False, True])
@pytest.mark.parametrize("kind", KINDS)
async def test_an_eviction_that_a_proxy_sends_twice_is_made_once(
    kind: str, *, lingers: bool
) -> None:
    """The first one evicts, and the answer is that of the second: the pod is gone, or going."""
    it = cluster(kind, per_minute=2)
    apps = [misplaced(it, kind, name, 4, starts=lambda _: 90.0) for name in ("one", "two", "three")]

    def twice(gone: Pod) -> Eviction:
        it.moved.append((it.now, gone))
        if lingers:
            it.state.upsert_pod(gone.with_status(deleting=True))
        else:
            it.state.remove_pod(gone.key, gone.uid)
        return Eviction(Evicted.GONE, "conflict")

    it.mover.answer = twice
    for _ in range(180):
        await it.step()
        assert sum(at > it.now - 60 for at, _ in it.moved) <= 2
        assert all(it.ready(app) >= 3 for app in apps if not lingers)
    assert len(it.moved) >= 2
    assert max(Counter(gone.controller for _, gone in it.moved).values()) <= (1 if lingers else 2)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_pod_that_takes_long_to_end_is_no_miss_if_its_successor_is_ready(kind: str) -> None:
    """A ReplicaSet replaces a pod as soon as it is on its way out, for hours maybe."""
    it = cluster(kind)
    it.mover.lingers = True
    app = misplaced(it, kind)
    it.checks.append(lambda gone: app.pods.__delitem__(gone.uid))
    await it.after(HOUR)
    ((_, leaving),) = it.moved
    assert it.ready(app) == 6
    it.mover.lingers = False
    it.state.remove_pod(leaving.key, leaving.uid)
    await it.after(60)
    assert len(it.moved) > 1
    assert "missed" not in {each.result for each in it.history.latest()}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_pod_that_does_not_end_and_is_not_replaced_is_a_miss(kind: str) -> None:
    it = cluster(kind)
    it.mover.lingers = True
    app = misplaced(it, kind)
    await it.after(READY_SECONDS + 60)
    assert it.ready(app) == 6
    assert [each.result for each in it.history.latest()].count("missed") == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_zone_that_is_back_but_lame_gets_one_pod_of_a_controller(kind: str) -> None:
    it = cluster(kind)
    app = misplaced(it, kind, replicas=12, starts=lambda _: None)
    await it.after(3 * HOUR)
    assert len(it.moved) == 1
    assert it.ready(app) == 11
    assert [each.result for each in it.history.latest()].count("missed") <= 1


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_controller_owes_is_forgotten_after_a_day_for_it_was_scaled_down(
    kind: str,
) -> None:
    it = cluster(kind)
    app = misplaced(it, kind, makes=False)
    await it.after(GRACE + SETTLE + REPLACED_SECONDS)
    assert len(it.moved) == 1
    it.now += DAY - 60
    await it.after(30)
    assert len(it.moved) == 1
    app.makes, app.replicas = True, 5
    it.now += 120
    await it.after(120)
    assert len(it.moved) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("replicas", "budget", "goes"), [(1, False, False), (1, True, True), (2, False, True)]
)
async def test_the_only_ready_pod_of_a_controller_stays_unless_a_budget_selects_it(
    kind: str, replicas: int, *, budget: bool, goes: bool
) -> None:
    it = cluster(kind)
    it.app("other", ["a0", "a0"], disks=False, avoids="")
    app = misplaced(it, kind, replicas=replicas, avoids="other")
    if budget:
        it.budget(app)
    await it.after(60)
    assert bool(it.of(app)) is goes


async def test_of_two_replicas_of_which_one_is_not_ready_the_other_one_stays() -> None:
    it = cluster("required")
    app = it.app("web", ["a0", "a0"])
    sick, well = app.pods
    app.pods[sick] = float("inf")
    await it.step()
    it.node("a0")
    await it.after(GRACE + 5)
    assert [gone.uid for _, gone in it.moved] == [sick]
    await it.after(60)
    assert [gone.uid for _, gone in it.moved] == [sick, well]


@pytest.mark.parametrize("kind", KINDS)
async def test_after_three_moves_in_a_row_that_failed_a_namespace_is_left_alone(kind: str) -> None:
    it = cluster(kind)
    for number in range(8):
        misplaced(it, kind, f"app{number}", 3, makes=False)
    fine = misplaced(it, kind, "fine", 3, space="other")
    await it.after(600)
    lost = len(it.moved) - it.of(fine)
    # Those that go in the minute until the first one is known to have failed are under way.
    assert 3 <= lost <= 8
    assert it.of(fine) >= 1
    remark = it.stopping.check()
    assert isinstance(remark, Remark)
    assert "in 1 namespace:" in remark
    assert it.metric("evictions_stopped_namespaces") == 1
    assert it.metric("evictions_stopped") == 0
    (note,) = it.mover.notes("EvictionsStopped")
    assert "no pod is moved in namespace default" in note


@pytest.mark.parametrize("tenants", [3, 12])
@pytest.mark.parametrize("starts", [True, False])
async def test_namespaces_whose_moves_always_fail_hold_up_no_other_for_long(
    tenants: int, *, starts: bool
) -> None:
    """Whether no successor is made, or none is ever ready; though they have far more to move."""
    it = cluster("required", hosts=4)
    for number in range(3 * tenants):
        space = f"tenant{number % tenants}"
        never = {"starts": lambda _: None} if starts else {"makes": False}
        misplaced(it, "required", f"bad{number}", 2, space=space, **never)
    await it.after(GRACE + REPLACED_SECONDS + 10)
    bad = len(it.moved)
    assert bad >= 3
    waited = []
    for number in range(4):
        late = misplaced(it, "required", f"late{number}", 3, space=f"fine{number}")
        began = it.now
        while not it.of(late):
            await it.step()
        waited.append(it.now - began)
        await it.after(900)
    assert max(waited) <= 4 * REST_SECONDS
    assert sum(waited) <= 4 * REST_SECONDS + 10 * GRACE


def test_a_trial_goes_to_any_namespace_without_a_failure_in_the_last_hour() -> None:
    names = ["honest", *(f"tenant{number}" for number in range(4))]
    first = Counter[str]()
    for seed in range(500):
        failed = FailedMoves(clock := Clock(1_000_000.0 + seed))
        for name in ("a", "b", "c"):
            failed.failed(name)
        waits = {name: failed.stops(name, {}) or 0.0 for name in names}
        assert REST_SECONDS <= min(waits.values()) <= max(waits.values()) < 2 * REST_SECONDS
        assert 2 * REST_SECONDS <= (failed.stops("a", {}) or 0.0) < 3 * REST_SECONDS
        chosen = min(waits, key=lambda name: waits[name])
        first[chosen] += 1
        clock.now += waits[chosen] + 0.001
        assert failed.stops(chosen, {}) is None
        failed.tried({})
        assert min(failed.stops(name, {}) or 0.0 for name in names) >= 2 * REST_SECONDS
        # Its successor is ready, and what has failed before fails again.
        failed.succeeded(chosen, {})
        for name in ("b", "c", "a"):
            failed.failed(name)
        assert [failed.stops(name, {}) for name in names] == [None] * 5, "they count once an hour"
    assert 70 <= first["honest"] <= 130


async def test_namespaces_whose_successors_are_always_late_hold_up_one_move_of_others() -> None:
    it = cluster("required", hosts=4)
    for number in range(3):
        misplaced(it, "required", f"slow{number}", 2, space=f"slow{number}", starts=lambda _: 580.0)
    await it.after(GRACE + REPLACED_SECONDS + 10)
    assert len(it.moved) == 3
    waited = []
    for number in range(3):
        fine = misplaced(it, "required", f"fine{number}", 2, space=f"fine{number}")
        began = it.now
        while not it.of(fine):
            await it.step()
        waited.append(it.now - began)
        await it.after(30)
    assert waited[0] > GRACE + 10, "all successors may turn out to be lame"
    assert max(waited[1:]) <= GRACE + 5


def test_namespaces_whose_successors_are_late_count_for_others_once_an_hour() -> None:
    failed = FailedMoves(clock := Clock(1_000_000.0))
    late = {f"tenant{number}": 1 for number in range(9)}
    failed.tried({})
    waits = []
    for _ in range(58):
        waits.append(failed.stops("honest", late) or 0.0)
        clock.now += waits[-1]
        failed.tried(late)
        failed.succeeded("honest", late)
        for name in late:
            failed.succeeded(name, {})
        clock.now += REST_SECONDS
    assert REST_SECONDS <= max(waits) == sum(waits) <= 2 * REST_SECONDS
    clock.now += HOUR
    failed.tried({})
    assert failed.stops("honest", late)


async def test_where_no_successor_is_made_anywhere_few_pods_are_lost() -> None:
    it = cluster("required", hosts=4)
    for number in range(24):
        misplaced(it, "required", f"app{number}", 2, space=f"space{number}", makes=False)
    it.settings = (3, *it.settings[1:])
    it.start()
    lost = []
    for _ in range(2):
        await it.after(HOUR)
        lost.append(len(it.moved))
    assert lost[0] <= 14, "some until the first is known to have failed, then trials"
    assert all(after - before <= 6 for before, after in pairwise(lost))
    assert it.metric("evictions_stopped") == 1
    assert len(it.mover.notes("EvictionsStopped")) == 1
    assert it.eviction is not None
    assert {each.outcome.value for each in it.eviction.broken.records.values()} >= {"stopped"}
    for app in it.apps.values():
        app.makes = True
    await it.after(HOUR)
    assert it.metric("evictions_stopped") == 0
    assert len(it.mover.notes("EvictionsResumed")) == 1


async def test_slow_successors_of_many_controllers_hold_up_the_next_until_they_are_ready() -> None:
    """Whether they are slow or lame cannot be known before."""
    it = cluster("required")
    for number in range(9):
        misplaced(it, "required", f"app{number}", 2, starts=lambda _: 200.0)
    unready = 0
    for _ in range(2000):
        await it.step()
        missing = sum(app.replicas - it.ready(app) for app in it.apps.values())
        unready = max(unready, missing)
    assert all(it.ready(app) == 2 for app in it.apps.values())
    assert len(it.moved) == 18


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_undone_soon_after_it_landed_is_a_miss(kind: str) -> None:
    """A consolidating autoscaler takes away the node that the successor has made necessary."""
    it = cluster(kind)
    misplaced(it, kind, replicas=2)
    undone = 0
    for _ in range(int(DAY) // 60):
        before = len(it.moved)
        await it.after(20)
        it.now += 40
        if it.moved and len(it.moved) == before:
            pods = [each for each in it.state.pods.values() if (each.node or "a0") != "a0"]
            if pods and it.now - it.moved[-1][0] > 1500:
                it.delete(pods[0].uid)
                app = it.apps["web"]
                name = it._create(app)
                it._run(app, name, "a0", it.now)
                undone += 1
    assert 3 <= len(it.moved) <= 10
    assert undone >= 3


@pytest.mark.parametrize("kind", KINDS)
async def test_a_successor_that_is_kept_for_an_hour_ends_the_row_of_misses(kind: str) -> None:
    it = cluster(kind)
    app = misplaced(it, kind, replicas=3)
    await it.after(60)
    assert len(it.moved) >= 1
    await it.after(KEPT_SECONDS)
    assert it.ready(app) == 3
    written = it.turns.moves.written(0)
    assert [each.misses for each in written.controllers] in ([], [0])


# The process ends


@pytest.mark.parametrize("kind", KINDS)
async def test_restarts_do_not_lose_a_second_pod_of_a_controller(kind: str) -> None:
    it = cluster(kind)
    misplaced(it, kind, replicas=10, makes=False)
    for _ in range(30):
        await it.after(420)
        it.start()
    assert len(it.moved) == 1


async def test_restarts_do_not_begin_a_new_hour() -> None:
    it = cluster("preferred", share=0.1)
    for number in range(3):
        it.app(f"app{number}", ["a0"] * 10, space=f"space{number}", disks=False)
    for _ in range(8):
        await it.after(420)
        it.start()
    assert len(it.moved) <= 3


@pytest.mark.parametrize("kind", KINDS)
async def test_restarts_do_not_forget_moves_that_may_turn_out_to_have_failed(kind: str) -> None:
    """Each begins before it is known of the last pods that they are not replaced."""
    it = cluster(kind, hosts=4, per_minute=6)
    for number in range(40):
        misplaced(it, kind, f"app{number}", 2, space=f"space{number}", makes=False)
    await it.after(REPLACED_SECONDS - 10)
    for _ in range(6):
        it.start()
        await it.after(WINDOW_SECONDS + REPLACED_SECONDS - 20)
    assert 3 <= len(it.moved) <= 14


async def test_a_move_of_another_leader_that_is_not_made_good_has_failed() -> None:
    it = cluster("required")
    apps = [misplaced(it, "required", name, 2, makes=False) for name in ("one", "two", "three")]
    await it.after(GRACE + 10)
    assert len(it.moved) == 3
    it.start()
    await it.after(READY_SECONDS + 5)
    assert it.turns.moves.failed.stopped == (False, frozenset({"default"}))
    it.start()
    for app in apps:
        app.makes = True
    await it.after(HOUR)
    assert len(it.moved) == 6


async def test_a_restart_while_a_move_is_open_does_not_end_its_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(moving, "REST", 900.0)
    it = cluster("preferred")
    misplaced(it, "preferred", starts=lambda _: 30.0)
    await it.after(SETTLE + 5)
    it.start()
    await it.after(880)
    assert len(it.moved) == 1
    await it.after(120)
    assert len(it.moved) == 2


@pytest.mark.parametrize("seed", range(20))
def test_no_more_moves_are_believed_than_there_can_have_been(seed: int) -> None:
    chance, clock = Random(seed), Clock(1_000_000.0)
    names = [f"space{number}" for number in range(4)]
    hour = LastHour(clock, per_minute=10)
    for _ in range(chance.randrange(700)):
        hour.take(chance.choice(names))
    own = sum(hour.moves.values())
    notes = {name: (chance.choice([0, 5, 10**9]), chance.uniform(-10, 9000)) for name in names}
    hour.inherit({**notes, **{f"bogus{number}": (10**9, 30.0) for number in range(4_000)}})
    assert own <= sum(hour.moves.values()) <= max(600, own)
    assert len(hour.moves) <= 604
    clock.now += HOUR
    assert hour.moves == {}


@pytest.mark.parametrize("seed", range(10))
def test_the_moves_of_the_last_hour_add_up_by_namespace(seed: int) -> None:
    dice, clock = Random(seed), Clock()
    hour, noted = LastHour(clock, 600), list[tuple[float, str]]()
    for _ in range(200):
        clock.now += dice.choice((0.0, 10.0, 300.0))
        if noted and dice.random() < 0.2:
            gone = noted.pop()
            hour.give_back((*gone, 1))
        else:
            noted.append(hour.take(dice.choice("abc"))[:2])
        noted = [each for each in noted if each[0] > clock.now - HOUR]
        assert hour.moves == Counter(name for _, name in noted)


async def test_many_controllers_are_considered_in_several_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repair, "MOST_AT_ONCE", 2)
    it = cluster("preferred")
    for number in range(5):
        misplaced(it, "preferred", f"app-{number}")
    assert it.repair is not None
    considered: list[object] = []
    turns: list[int] = []

    def whether(owner: object, *_: object) -> Outcome:
        considered.append(owner)
        return Outcome.GRACE

    monkeypatch.setattr(it.repair, "_whether", whether)

    async def sleep(seconds: float) -> None:
        if not seconds:
            turns.append(len(considered))

    monkeypatch.setattr(it.repair, "_sleep", sleep)
    await it.repair.round()
    assert (turns, len(considered)) == ([2, 4], 5)


async def test_a_successor_is_proven_from_when_it_was_ready_last() -> None:
    it = cluster("required")
    app = misplaced(it, "required", replicas=4)
    while not it.moved:
        await it.step()
    await it.after(5)
    (successor,) = (each.uid for each in it.state.pods.values() if each.node not in {"a0", None})
    again = app.pods[successor] = it.now + 4
    while len(it.moved) < 2:
        await it.step()
    assert it.moved[1][0] >= again + PROVEN_SECONDS


async def test_a_successor_that_is_being_deleted_is_not_there_for_long() -> None:
    it = cluster("required")
    misplaced(it, "required", replicas=4)
    while not it.moved:
        await it.step()
    await it.after(5)
    (successor,) = (each for each in it.state.pods.values() if each.node not in {"a0", None})
    it.state.upsert_pod(successor.with_status(deleting=True))
    await it.after(3 * PROVEN_SECONDS)
    assert "missed" not in [each.result for each in it.history.latest()], "nor has it landed"


def test_of_what_two_leaders_have_written_the_longer_counts() -> None:
    clock = Clock(1_000_000.0)
    notes = (
        WrittenController("shop", "uid", 1, 10.0, 100.0, 2, 1000.0),
        WrittenController("shop", "uid", 2, 20.0, 50.0, 1, 500.0),
    )
    for order in permutations(notes):
        moves = Moves(books_over(ClusterState()), clock, 10)
        for each in order:
            moves.inherit(WrittenMoves(controllers=[each]))
        (kept,) = moves.written(0).controllers
        assert kept == WrittenController("shop", "uid", 2, 10.0, 100.0, 2, 1000.0)


@pytest.mark.parametrize("age", [0.0, 10.0, HOUR - 10.0])
def test_each_move_counts_for_its_own_hour_whenever_it_was_heard_of(age: float) -> None:
    clock = Clock(1_000_000.0)
    hour = LastHour(clock, per_minute=10)
    hour.take("shop")
    hour.inherit({"bank": (3, age)})
    assert hour.moves == {"shop": 1, "bank": 3}
    clock.now += HOUR - age
    assert hour.moves.get("bank") is None
    assert hour.moves.get("shop") == (1 if age else None)


@pytest.mark.parametrize("other", ["bank", "zoo"])
def test_a_move_that_came_to_nothing_is_given_back_whatever_was_heard_of_meanwhile(
    other: str,
) -> None:
    hour = LastHour(Clock(1_000_000.0), per_minute=10)
    turn = hour.take("shop")
    hour.inherit({other: (3, 0.0)})
    hour.give_back(turn)
    assert (hour.moves, [*hour.latest]) == ({other: 3}, [other])


async def test_restarts_do_not_end_a_rest() -> None:
    it = cluster("preferred")
    app = it.app("web", ["a0"] * 4, disks=False)
    it.node("b0", disk="ssd")
    for _ in range(20):
        await it.after(SETTLE + PROVEN_SECONDS + 5)
        # All successors come back to where the pod was.
        for pod in [each for each in it.state.pods.values() if each.node not in {"a0", None}]:
            it.delete(pod.uid)
            it._run(app, it._create(app), "a0", it.now)
        it.start()
    assert len(it.moved) <= 4


async def test_a_lease_with_broken_annotations_is_taken_all_the_same() -> None:
    for text in ("", "{", "null", "[]", '{"hour": {"a": [1e999, 0]}}', '{"controllers": [[1]]}'):
        it = cluster("preferred")
        it.leader.annotations = {"affinity-extender.io/moves": text}
        it.start()
        it.app("web", ["a0"] * 4, disks=False)
        await it.after(60)
        assert it.moved


# Who shares turns


@pytest.mark.parametrize("dry", KINDS)
async def test_a_dry_run_takes_no_turns_from_what_is_none(dry: str) -> None:
    """Nor does it hold up a controller: with it, as many go as without it."""
    moved = []
    for options in ({dry: False}, {"dry_runs": (dry == "required", dry == "preferred")}):
        it = Cluster(per_minute=4, **options)
        for number in range(8):
            it.app(f"required{number}", ["a0"] * 3)
            it.app(f"preferred{number}", ["b0"] * 3, disks=False)
        it.node("a0")
        await it.after(120)
        moved.append(len(it.mover.evicted))
    assert moved[0] == moved[1] > 0


async def test_both_who_evict_wait_for_each_others_moves() -> None:
    it = Cluster()
    app = it.app("web", ["a0"] * 6, starts=lambda _: 30.0)
    it.node("a0")
    for _ in range(600):
        await it.step()
        assert it.ready(app) >= 5
    assert {each.result for each in it.history.latest()} >= {"evicted"}


async def test_while_too_many_break_a_rule_no_pod_of_theirs_moves_for_preferences_either() -> None:
    it = Cluster(share=0.2)
    it.app("web", ["a0"] * 20)
    it.node("a0")
    await it.after(120)
    assert it.moved == []
    assert it.repair is not None
    assert {each.outcome for _, each in it.repair.prospects} == {Outcome.PAUSED}
    it.node("a0", disk="ssd")
    await it.after(120)
    assert it.moved


# Who asks


async def test_pods_of_a_scheduler_that_has_not_asked_for_a_day_stay() -> None:
    it = cluster("preferred")
    it.app("web", ["a0"] * 4, disks=False)
    it.now += DAY + HOUR
    await it.after(60)
    assert it.moved == []
    it.askers.note("default-scheduler")
    await it.after(60)
    assert it.moved


@pytest.mark.parametrize("kind", KINDS)
async def test_a_move_that_begins_while_another_is_prepared_is_the_only_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = cluster(kind)
    app = misplaced(it, kind)
    before: list[str] = []

    async def prepare(_: WarmUp, pod: Pod) -> None:
        """Let another move of the controller begin meanwhile."""
        other = next(each for each in it.state.pods.values() if each.uid != pod.uid)
        if not before and other.pod_class.labels["app"] == app.name:
            before.append(other.uid)
            assert it.turns.moves.begin(other, "b0", ended=lambda *_: None) is not None

    monkeypatch.setattr(WarmUp, "prepare", prepare)
    await it.after(GRACE + SETTLE + 3)
    assert before
    assert it.mover.tried == []


@pytest.mark.parametrize("about", ["all namespaces", "itself"])
async def test_one_tenant_holds_up_no_other(about: str) -> None:
    """Its successor never gets a node, and its preference is about pods of all namespaces."""
    it = cluster("preferred", share=1.0)
    tenant = it.app("tenant", ["a0"] * 3, space="tenants", disks=False, makes=False)
    if about == "all namespaces":
        every = term(HOST, selector(), namespaceSelector={})
        tenant.template = tenant.template.avoids(1, every)
        for name in list(tenant.pods):
            it._run(tenant, name, "a0", it.now)
    waits = it._create
    await it.after(SETTLE + 2)
    assert it.of(tenant) == 1
    # A pod that no node takes.
    tenant.template = tenant.template.requests(cpu="4000")
    waits(tenant)
    other = it.app("other", ["a0"] * 3, disks=False)
    own = it.app("own", ["a0"] * 3, space="tenants", disks=False)
    await it.after(SETTLE + 5)
    assert it.of(other) == 1
    await it.after(REPLACED_SECONDS)
    assert it.of(own) >= 1
    await it.after(600)
    assert it.of(tenant) == 1
    assert it.ready(other) == it.ready(own) == 3


# What is remembered, and for how long


def remembered(misses: int, rests: float, owed: int = 0) -> WrittenMoves:
    """Return what a leader has noted of a controller whose pods are gone."""
    past = WrittenController("default", "gone", misses, 0.0, rests, owed, min(rests, DAY))
    return WrittenMoves(controllers=[past])


@pytest.mark.parametrize("misses", [1, 5, 6, 20])
async def test_a_controller_that_has_rested_for_a_day_rests_as_long_after_its_next_miss(
    misses: int,
) -> None:
    it = cluster("preferred")
    it.turns.moves.inherit(remembered(misses, DAY))
    it.now += DAY + HOUR
    it.turns.moves.look()
    assert [each.misses for each in it.turns.moves.written(0).controllers] == [misses]


@pytest.mark.parametrize("owed", [0, 3])
async def test_of_controllers_that_are_gone_nothing_is_kept(owed: int) -> None:
    it = cluster("preferred")
    it.turns.moves.inherit(remembered(1, DAY, owed))
    it.now += DAY + DAY + HOUR
    it.turns.moves.look()
    assert it.turns.moves.written(0).controllers == []


async def test_what_misses_each_day_for_years_rests_for_a_day_each_time() -> None:
    it = cluster("preferred")
    moves = it.turns.moves
    for number in range(600):
        past = WrittenController(
            "default", "it", 0, DAY, 0.0, 0, 0.0, [("gone", f"uid-{number}", 60.0)]
        )
        moves.inherit(WrittenMoves(controllers=[past]))
        moves.look()
        it.now += DAY + 1
    (kept,) = moves.written(0).controllers
    assert kept.rests == -1


@pytest.mark.parametrize("kind", KINDS)
async def test_while_an_eviction_may_still_be_carried_out_no_other_pod_of_a_controller_goes(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API server, or a proxy before it, takes long, and then nothing is heard of it."""
    it = cluster(kind)
    misplaced(it, kind)
    is_asked, is_late = asyncio.Event(), asyncio.Event()
    asked: list[Pod] = []

    async def evict(pod: Pod, **_: object) -> Eviction:
        asked.append(pod)
        is_asked.set()
        await is_late.wait()
        raise NoAnswerError("the connection broke")

    monkeypatch.setattr(it.mover, "evict", evict)
    moves = it.turns.moves
    passes = asyncio.create_task(it.after(GRACE + SETTLE + 3))
    await is_asked.wait()
    owner = asked[0].controller
    assert owner is not None
    for seconds in (0.0, LATE_SECONDS, LATE_SECONDS):
        it.now += seconds
        moves.look()
        refusal = moves.refusal(owner)
        assert refusal is not None
        assert refusal.outcome is Outcome.OWNER_BUSY
    is_late.set()
    await passes
    moves.look()
    refusal = moves.refusal(owner)
    assert refusal is not None
    assert refusal.outcome is Outcome.OWNER_BUSY
    assert len(asked) == 1
    # A proxy may hold it for a minute, and etcd hold the write for longer.
    it.now += LATE_SECONDS - 10
    moves.look()
    assert moves.refusal(owner) is not None
    it.now += 10
    moves.look()
    assert moves.refusal(owner) is None


async def test_an_eviction_that_may_be_carried_out_late_holds_the_next_leader_back() -> None:
    it = cluster("required")
    app = misplaced(it, "required", replicas=3)
    it.mover.answer = lambda _: NoAnswerError("the connection broke")
    await it.after(GRACE + 3)
    (late,) = it.mover.tried
    it.mover.answer = it._evict
    it.start()
    await it.after(LATE_SECONDS - 10)
    assert it.moved == []
    # The API server had it all the time, in the hands of a proxy or of etcd.
    it.delete(late)
    assert it.ready(app) == 2
    await it.after(HOUR)
    assert it.moved


@pytest.mark.parametrize("kind", KINDS)
async def test_a_process_that_ends_while_an_eviction_is_under_way_tells_the_next_leader(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = cluster(kind)
    misplaced(it, kind)
    is_asked = asyncio.Event()
    asked: list[Pod] = []

    async def evict(pod: Pod, **_: object) -> Eviction:
        asked.append(pod)
        is_asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(it.mover, "evict", evict)
        passes = asyncio.create_task(it.after(GRACE + SETTLE + 3))
        await is_asked.wait()
        passes.cancel()
        await asyncio.wait([passes])
    assert it.turns.window.recent == 1
    assert it.turns.moves.hour.moves == ({"default": 1} if kind == "preferred" else {})
    it.leader.renew()  # As the lead is given back.
    it.start()
    await it.after(LATE_SECONDS - 10)
    assert it.moved == []
    it.delete(asked[0].uid)
    await it.after(HOUR)
    assert it.moved


async def test_the_uid_in_an_owner_reference_pushes_nobody_out_of_the_notes() -> None:
    it = cluster("required")
    misplaced(it, "required", makes=False)
    it.owner_uid = "x" * MOST_BYTES
    misplaced(it, "required", "long", space="tenant")
    await it.after(GRACE + REPLACED_SECONDS + 10)
    moved = len(it.moved)
    assert {each.pod_class.namespace for _, each in it.moved} == {"default", "tenant"}
    it.start()
    await it.after(HOUR)
    # The one owes a pod yet, and rests.
    assert [each.key for _, each in it.moved[moved:] if each.key.startswith("default/")] == []


def test_successors_that_landed_push_no_controller_out_of_the_notes_that_is_owed_a_pod() -> None:
    """Their names are as long as a tenant likes, and there are as many as it has pods moved."""
    moves = Moves(books_over(ClusterState()), Clock(1_000_000.0), 10)
    owed = WrittenController("shop", "shop", 1, 3000.0, 0.0, 3, DAY - 3000.0)
    landed = [("x" * 253, f"uid-{each}", HOUR) for each in range(8)]
    many = [
        WrittenController("tenant", f"{each}", 0, DAY, 1.0, 0, 0.0, landed) for each in range(99)
    ]
    moves.inherit(WrittenMoves(controllers=[owed, *many]))
    read = read_moves(write_moves(moves.written(0)))
    assert read is not None
    assert len(read.controllers) < 100
    assert [each.owed for each in read.controllers if each.namespace == "shop"] == [3]
