"""Pods that break a rule are moved: once, with care, and no more at a time than allowed."""

from __future__ import annotations

import asyncio

import pytest

from extender.core.errors import ApiError
from extender.core.model.objects import Pod as ModelPod
from extender.features.moving import eviction
from extender.features.moving.limits import CircuitBreaker, Pauses
from extender.features.moving.moves import LATE_SECONDS
from extender.features.moving.ports import Evicted, Eviction
from tests.annotating import DURING, annotated
from tests.builders import HOST, Pod, pod, selector, term
from tests.features.moving.evicting import GRACE, ON_SSD, Rig

DB = selector(app="db")
NEAR_DB = pod("api").affinity(term("zone", DB))
SOLO = pod("solo").labels(app="web").anti_affinity(term(HOST, selector(app="web")))


def with_disks(**options: object) -> Rig:
    """Build a cluster of two nodes of which each would take the pods of the other."""
    rig = Rig(**options)  # type: ignore[arg-type]
    rig.node("a", disk="ssd")
    rig.node("b", disk="ssd")
    return rig


async def test_a_pod_goes_once_when_its_grace_period_is_over() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a")
    await rig.after(5)
    rig.node("a")
    await rig.after(GRACE - 1)
    assert rig.mover.evicted == []
    await rig.after(2)
    assert rig.mover.evicted == ["disk"]
    (note,) = rig.mover.notes("EvictedByAffinityRule")
    assert "required node affinity (disk in (ssd)) is not met by the labels of node a" in note
    assert "since 1970-01-01T00:16:45Z" in note
    assert "another node would take it" in note
    await rig.after(300)
    assert rig.mover.tried == ["disk"]
    assert rig.counted("evicted") == 1
    assert rig.outcomes() == {}
    missed, entry = rig.history.latest()
    # No other pod was made.
    assert (missed.result, missed.pod) == ("missed", "default/disk")
    assert (entry.kind, entry.result, entry.pod) == ("eviction", "evicted", "default/disk")
    assert "required node affinity (disk in (ssd)) is not met" in entry.note


async def test_what_is_undone_within_the_grace_period_evicts_nobody() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a")
    rig.node("a")
    await rig.after(GRACE - 1)
    rig.node("a", disk="ssd")
    await rig.after(1)
    rig.node("a")
    await rig.after(GRACE - 1)
    assert rig.mover.tried == []


async def test_a_dry_run_does_all_but_evict() -> None:
    rig = with_disks(dry_run=True)
    rig.place(ON_SSD, "a")
    rig.node("a")
    await rig.after(300)
    assert (rig.mover.tried, rig.mover.evicted) == (["disk"], [])
    assert rig.counted("dryRun") == 1
    assert rig.outcomes() == {"disk": "dryRun"}
    (note,) = rig.mover.notes("WouldEvictByAffinityRule")
    assert "would be evicted (dry run) now" in note


@pytest.mark.parametrize(
    ("owner", "policy", "goes"),
    [
        ("Job/once", "Never", True),
        ("Job/once", "OnFailure", True),
        ("Workflow/steps", "Never", False),
        ("Workflow/steps", "OnFailure", False),
        ("CloneSet/web", "Always", True),
        ("Database/own", "Always", True),
    ],
)
async def test_a_pod_that_runs_once_goes_only_if_its_job_runs_it_again(
    owner: str, policy: str, *, goes: bool
) -> None:
    rig = with_disks()
    rig.place(ON_SSD.restarts(policy), "a", owner=owner)
    rig.node("a")
    await rig.after(GRACE + 5)
    assert bool(rig.mover.evicted) is goes
    assert rig.outcomes() == ({} if goes else {"disk": "noController"})


@pytest.mark.parametrize(
    ("owner", "outcome"),
    [("", "noController"), ("Node/a", "staticPod")],
    ids=["a pod without a controller", "a static pod"],
)
async def test_who_would_not_be_replaced_stays(owner: str, outcome: str) -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a", owner=owner)
    rig.node("a")
    await rig.after(400)
    assert rig.mover.tried == []
    assert rig.outcomes() == {"disk": outcome}
    assert len(rig.mover.notes("NotEvictedByAffinityRule")) == 1


async def test_who_has_nowhere_to_go_stays_until_a_node_comes() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a")
    rig.node("a")
    rig.node("b")
    await rig.after(100)
    assert rig.outcomes() == {"disk": "noOtherNode"}
    rig.node("c", disk="ssd")
    await rig.after(300)
    assert rig.mover.evicted == ["disk"]


async def test_who_has_lost_a_partner_follows_it() -> None:
    rig = Rig()
    rig.node("a", zone="a")
    rig.node("b", zone="b")
    rig.place(pod("db").labels(app="db"), "a", "db-1")
    rig.place(NEAR_DB, "a")
    await rig.after(1)
    rig.state.remove_pod("default/db-1", "db-1")
    rig.place(pod("db").labels(app="db"), "b", "db-2")
    await rig.after(GRACE + 1)
    assert rig.mover.evicted == ["api"]
    (note,) = rig.mover.notes("EvictedByAffinityRule")
    assert "no such pod is in zone=a" in note


async def test_of_two_that_exclude_each_other_the_less_important_one_goes() -> None:
    rig = with_disks()
    rig.place(SOLO.priority(5), "a", "low", owner="ReplicaSet/low")
    rig.place(SOLO.priority(7), "a", "high", owner="ReplicaSet/high")
    rig.mover.lingers = True
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["low"]
    assert rig.outcomes() == {"low": "evicted", "high": "othersGo"}


async def test_of_two_equal_ones_the_younger_goes() -> None:
    rig = with_disks()
    rig.place(SOLO.started("2026-01-02T00:00:00Z"), "a", "young", owner="ReplicaSet/one")
    rig.place(SOLO.started("2026-01-01T00:00:00Z"), "a", "old", owner="ReplicaSet/two")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["young"]


@pytest.mark.parametrize("dry_run", [False, True])
async def test_of_too_many_for_a_limit_as_many_go_as_are_above_it(*, dry_run: bool) -> None:
    rig = with_disks(dry_run=dry_run)
    rig.node("c")
    for name, at in (("one", 1), ("two", 2), ("three", 3), ("four", 4)):
        rule = {"podAntiAffinity": {DURING: [term(HOST, selector(app="web"), maxMatchingPods=2)]}}
        raw = pod(name).labels(app="web").started(f"2026-01-0{at}T00:00:00Z")
        rig.place(Pod(annotated(raw, rule)), "a", owner=f"ReplicaSet/{name}")
    await rig.after(GRACE + 5)
    if dry_run:
        gone = {"three": "dryRun", "four": "dryRun"}
        assert rig.outcomes() == {"one": "othersGo", "two": "othersGo"} | gone
    else:
        assert sorted(rig.mover.evicted) == ["four", "three"]


async def test_an_owner_that_its_own_limit_does_not_count_goes_for_one_too_many() -> None:
    rig = with_disks()
    rule = {"podAntiAffinity": {DURING: [term(HOST, selector(app="web"), maxMatchingPods=1)]}}
    rig.place(Pod(annotated(pod("guard"), rule)), "a", owner="ReplicaSet/guard")
    for name in ("one", "two"):
        rig.place(pod(name).labels(app="web"), "a", owner=f"ReplicaSet/{name}")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["guard"]


async def test_the_one_whose_rule_it_is_goes_however_important_it_is() -> None:
    rig = with_disks()
    guard = pod("guard").priority(9).anti_affinity(term(HOST, selector(app="web")))
    rig.place(guard, "a", owner="ReplicaSet/guard")
    rig.place(pod("plain").labels(app="web"), "a", owner="ReplicaSet/plain")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == ["guard"]
    (note,) = rig.mover.notes("EvictedByAffinityRule")
    assert "by default/plain" in note


async def test_no_minute_has_more_evictions_than_allowed() -> None:
    rig = with_disks(per_minute=3)
    for number in range(8):
        rig.place(ON_SSD, "a", f"p{number}", owner=f"ReplicaSet/{number}")

    def replaced(gone: ModelPod) -> Eviction:
        owner = f"ReplicaSet/{gone.uid[1:]}"
        rig.place(ON_SSD, "c", f"{gone.uid}-again", owner, ready=True)
        return Eviction(Evicted.DONE)

    rig.mover.answer = replaced
    rig.node("a")
    rig.node("b", disk="ssd")
    rig.node("c", disk="ssd")
    for minutes, gone in ((1, 3), (2, 6), (3, 8)):
        await rig.after(GRACE if minutes > 1 else GRACE + 5)
        assert len(rig.mover.evicted) == gone


async def test_a_minute_counts_from_when_an_eviction_was_carried_out() -> None:
    rig = with_disks(per_minute=1)
    times: list[tuple[float, float]] = []

    def slowly(_: object) -> Eviction:
        began = rig.now
        rig.now += 4 if not times else 0
        times.append((began, rig.now))
        return Eviction(Evicted.DONE)

    rig.mover.answer = slowly
    for name in ("one", "two"):
        rig.place(ON_SSD, "a", name, owner=f"ReplicaSet/{name}")
    rig.node("a")
    await rig.after(GRACE + 70)
    (_, done), (began, _) = times
    assert began - done >= 60


async def test_the_pods_of_a_controller_go_one_at_a_time() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a", "one")
    rig.place(ON_SSD, "a", "two")
    rig.node("a")
    await rig.after(GRACE + 5)
    (first,) = rig.mover.evicted
    rig.put(ON_SSD.uid("new").owned_by("ReplicaSet/web"))
    await rig.after(40)
    assert rig.mover.evicted == [first]
    rig.put(ON_SSD.uid("new").owned_by("ReplicaSet/web").on("b"))
    await rig.after(30)
    assert rig.mover.evicted == [first]
    rig.put(ON_SSD.uid("new").owned_by("ReplicaSet/web").on("b").ready())
    await rig.after(15)
    assert sorted(rig.mover.evicted) == ["one", "two"]


async def test_room_is_kept_for_those_that_are_to_replace_others() -> None:
    rig = with_disks()
    large = ON_SSD.requests(cpu="3")
    for name in ("one", "two"):
        rig.place(large, "a", name, owner=f"ReplicaSet/{name}")
    rig.node("a")
    await rig.after(GRACE + 5)
    (first,) = rig.mover.evicted
    assert rig.outcomes() == {({"one", "two"} - {first}).pop(): "noOtherNode"}
    rig.node("c", disk="ssd")
    await rig.after(15)
    assert sorted(rig.mover.evicted) == ["one", "two"]


async def test_a_pod_that_is_about_to_be_preempted_is_none_that_is_left() -> None:
    rig = with_disks()
    for name in ("one", "two"):
        rig.place(ON_SSD, "a", name, ready=True)
    marked = rig.state.pods["default/two"]
    rig.state.upsert_pod(marked.with_status(victim_of="preemptor"))
    rig.node("a")
    await rig.after(GRACE + 5)
    assert rig.mover.tried == []
    rig.state.upsert_pod(marked)
    await rig.after(15)
    assert rig.mover.tried


async def test_room_is_left_to_a_preemptor_whose_victims_are_gone() -> None:
    rig = with_disks()
    rig.place(ON_SSD.requests(cpu="3"), "a")
    rig.put(pod("preemptor").requests(cpu="3").priority(10).nominated("b"))
    rig.node("a")
    await rig.after(GRACE + 5)
    assert rig.mover.evicted == []
    assert list(rig.outcomes().values()) == ["noOtherNode"]


async def test_a_domain_is_kept_for_who_is_to_replace_another_that_excludes_the_next() -> None:
    rig = Rig()
    for name, zone in (("a", "a"), ("b", "b"), ("c1", "c"), ("c2", "c")):
        rig.node(name, zone=zone, disk="ssd")
    for name, on, other in (("one", "a", "two"), ("two", "b", "one")):
        apart = ON_SSD.labels(app=name).anti_affinity(term("zone", selector(app=other)))
        rig.place(apart, on, name, owner=f"ReplicaSet/{name}")
    rig.node("a", zone="a")
    rig.node("b", zone="b")
    await rig.after(GRACE + 5)
    (first,) = rig.mover.evicted
    assert rig.outcomes() == {({"one", "two"} - {first}).pop(): "noOtherNode"}
    rig.node("d", zone="d", disk="ssd")
    await rig.after(15)
    assert sorted(rig.mover.evicted) == ["one", "two"]


async def test_a_budget_is_waited_for_longer_each_time_and_said_once() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a")
    rig.node("a")
    rig.mover.answer = lambda _: Eviction(Evicted.REFUSED, "the budget says no", 30.0)
    await rig.after(GRACE + 25)
    assert rig.mover.tried == ["disk"]
    await rig.after(600)
    assert 4 <= len(rig.mover.tried) <= 6
    assert rig.outcomes() == {"disk": "budget"}
    (note,) = rig.mover.notes("NotEvictedByAffinityRule")
    assert "the budget says no" in note
    assert rig.controller.broken.records["disk"].since == 1000.0
    rig.mover.answer = lambda _: Eviction(Evicted.DONE)
    await rig.after(300)
    assert rig.mover.evicted == ["disk"]


async def test_a_refused_eviction_takes_nobody_s_turn() -> None:
    rig = with_disks(per_minute=1)
    rig.place(ON_SSD, "a", "kept", owner="ReplicaSet/kept")
    rig.node("a")
    rig.mover.answer = lambda _: Eviction(Evicted.REFUSED, "no")
    await rig.after(GRACE + 1)
    rig.mover.answer = lambda each: (
        Eviction(Evicted.REFUSED, "no") if each.uid == "kept" else Eviction(Evicted.DONE)
    )
    rig.place(ON_SSD, "a", "free", owner="ReplicaSet/free")
    await rig.after(GRACE + 1)
    assert rig.mover.evicted == ["free"]


async def test_a_failure_is_tried_again_later() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a")
    rig.node("a")
    rig.mover.answer = lambda _: ApiError(500, "InternalError", "two budgets")
    await rig.after(GRACE + 5)
    assert rig.counted("failed") == 1
    assert rig.outcomes() == {"disk": "failed"}
    rig.mover.answer = lambda _: Eviction(Evicted.DONE)
    # Until then it may be carried out yet.
    await rig.after(LATE_SECONDS)
    assert rig.mover.evicted == ["disk"]


async def test_too_many_at_once_pause_it_until_that_is_undone() -> None:
    rig = with_disks(max_affected=0.1)
    for number in range(5):
        rig.place(ON_SSD, "a", f"a{number}", owner=f"ReplicaSet/{number}")
    for number in range(5):
        rig.place(pod("calm"), "b", f"b{number}")
    rig.node("a")
    await rig.after(200)
    assert rig.mover.tried == []
    assert set(rig.outcomes().values()) == {"paused"}
    (note,) = rig.mover.notes("EvictionsPaused")
    assert "in namespace default: 5 of its pods" in note
    assert "acknowledged-violations=5" in note
    rig.node("a", disk="ssd")
    await rig.after(1)
    assert len(rig.mover.notes("EvictionsResumed")) == 1


async def test_too_many_at_once_go_when_that_is_acknowledged_after_a_new_grace_period() -> None:
    rig = with_disks(max_affected=0.1)
    for number in range(5):
        rig.place(ON_SSD, "a", f"a{number}", owner=f"ReplicaSet/{number}")
    rig.node("a")
    await rig.after(200)
    rig.leader.acknowledged = 5
    await rig.after(GRACE - 1)
    assert rig.mover.tried == []
    await rig.after(5)
    assert len(rig.mover.evicted) == 5


async def test_who_does_not_lead_evicts_nobody_and_says_nothing() -> None:
    rig = with_disks()
    rig.leader.leads = False
    rig.place(ON_SSD, "a")
    rig.node("a")
    await rig.after(GRACE + 5)
    assert (rig.mover.tried, rig.mover.said) == ([], [])
    assert rig.outcomes() == {"disk": "standby"}
    rig.leader.leads = True
    await rig.after(2)
    assert rig.mover.evicted == ["disk"]


async def test_a_lead_that_lapses_between_two_looks_leaves_no_pod_behind() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a", "late")
    rig.node("a")
    await rig.controller.look()
    rig.now += GRACE
    rig.leader.leads = False
    while await rig.controller.process_next():
        pass
    rig.leader.leads = True
    await rig.after(2)
    assert rig.mover.evicted == ["late"]


async def test_while_evictions_are_paused_nothing_is_added_up_for_each_that_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Thousands of controllers ask, and pods of thousands of namespaces may be affected."""
    rig = with_disks(max_affected=0.01)
    for number in range(3):
        rig.place(ON_SSD, "a", f"p{number}", owner=f"ReplicaSet/{number}")
    rig.node("a")
    await rig.after(2)
    judged: list[int] = []

    def judge(*_: object) -> Pauses:
        judged.append(1)
        return Pauses()

    monkeypatch.setattr(CircuitBreaker, "judge", judge)
    assert rig.controller.holds("default")
    assert not judged
    rig.controller._breaker.pauses = Pauses()
    assert not rig.controller.holds("default")
    assert judged


@pytest.mark.parametrize("why", ["lead", "pause"])
async def test_what_concerns_all_pods_is_taken_up_in_several_turns(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eviction, "MOST_AT_ONCE", 2)
    rig = with_disks(max_affected=0.01 if why == "pause" else 1.0)
    for number in range(7):
        rig.place(ON_SSD, "a", f"p{number}", owner=f"ReplicaSet/{number}")
    rig.leader.leads = why == "pause"
    rig.node("a")
    await rig.after(GRACE + 1)
    assert {*rig.outcomes().values()} == {"paused" if why == "pause" else "standby"}
    rig.leader.leads, rig.leader.acknowledged = True, 7
    turns, waiting = [], len(rig.controller._queue)
    looking = asyncio.create_task(rig.controller.look())
    while not looking.done():
        await asyncio.sleep(0)
        turns.append(len(rig.controller._queue) - waiting)
        waiting += turns[-1]
    assert (sum(turns), max(turns)) == (7, 2)


async def test_without_a_confirmed_lead_nothing_is_sent() -> None:
    rig = with_disks()
    rig.leader.confirms = False
    rig.place(ON_SSD, "a")
    rig.node("a")
    await rig.after(GRACE + 5)
    assert rig.leader.asked
    assert rig.mover.tried == []


async def test_what_is_undone_while_the_lead_is_confirmed_evicts_nobody() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a")
    rig.node("a")
    rig.leader.meanwhile = lambda: rig.node("a", disk="ssd")
    await rig.after(GRACE + 5)
    assert rig.leader.asked
    assert rig.mover.tried == []


async def test_a_new_leader_keeps_to_what_the_last_one_left_of_the_minute() -> None:
    rig = with_disks(per_minute=2)
    rig.leader.leads = False
    rig.place(ON_SSD, "a")
    rig.node("a")
    await rig.after(GRACE + 5)
    rig.turns.window.fill(2)
    rig.leader.leads = True
    await rig.after(59)
    assert rig.mover.evicted == []
    await rig.after(3)
    assert rig.mover.evicted == ["disk"]


async def test_while_the_picture_is_in_doubt_nobody_goes() -> None:
    rig = with_disks()
    rig.place(ON_SSD, "a")
    rig.node("a")
    await rig.after(1)
    rig.state.stale = "the watch is silent"
    await rig.after(GRACE + 5)
    assert rig.mover.tried == []
    rig.state.stale = None
    await rig.after(5)
    assert rig.mover.evicted == ["disk"]
