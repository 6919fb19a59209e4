"""The judge finds what is wrong: made-up histories that break a rule, or do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faults.judge import DELAY_S, STUCK_S, Judge
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term

if TYPE_CHECKING:
    from collections.abc import Iterable

GRACE_S = 3.0
SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
WEB, DB = {"app": "web"}, {"app": "db"}


def made(name: str, on: str = "", priority: int = 0, **more: Any) -> JSON:
    """Return a pod as the API server has it; its uid is its name."""
    thing = pod(name, on=on or None, **more)
    thing["metadata"]["uid"] = name
    thing["spec"]["priority"] = priority
    return thing


def on_ssd(name: str, on: str = "") -> JSON:
    thing = made(name, on)
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [SSD]}}
    thing["spec"]["affinity"] = {"nodeAffinity": required}
    return thing


def ending(thing: JSON, reason: str, message: str = "") -> JSON:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    metadata = thing["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return thing | {
        "metadata": metadata,
        "status": {"conditions": [condition | {"message": message}]},
    }


def victim_of(preemptor: str, thing: JSON) -> JSON:
    return ending(thing, "PreemptionByScheduler", f"ours: preempting (uid {preemptor})")


def evicted(thing: JSON) -> JSON:
    return ending(thing, "EvictionByEvictionAPI")


def web(name: str, on: str = "", priority: int = 10) -> JSON:
    return made(name, on, priority, labels=WEB, apart=[term(HOSTNAME, DB)])


def db(name: str, on: str = "", priority: int = 0) -> JSON:
    return made(name, on, priority, labels=DB)


@pytest.fixture
def judge() -> Judge:
    judge = Judge(GRACE_S)
    for number in range(4):
        disk = "ssd" if number % 2 else "hdd"
        judge.node(node(f"n{number}", f"z{number // 2}", disk=disk), 0.0)
    return judge


def broken(judge: Judge) -> list[str]:
    return [rule for rule, _ in judge.wrong]


def hear(judge: Judge, *things: JSON, at: float = 1.0) -> None:
    for each in things:
        judge.pod(each, at)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_exclusive_pods_in_one_domain(judge: Judge, order: Iterable[int]) -> None:
    both = web("w", "n0"), db("d", "n0")
    hear(judge, *(both[number] for number in order))
    assert broken(judge) == ["exclusive pods met"]
    assert judge.counts["contested binds"] == 1


def test_exclusive_pods_in_two_domains(judge: Judge) -> None:
    hear(judge, web("w", "n0"), db("d", "n1"))
    assert broken(judge) == []


def test_a_terminating_pod_is_there_until_it_is_gone(judge: Judge) -> None:
    old = db("d", "n0")
    judge.deletes("d")
    hear(judge, old, ending(old, ""), web("w", "n0"))
    assert broken(judge) == ["exclusive pods met"]


def test_a_pod_that_is_gone_is_in_no_way(judge: Judge) -> None:
    old = db("d", "n0")
    judge.deletes("d")
    hear(judge, old)
    judge.pod(old, 1.0, gone=True)
    hear(judge, web("w", "n0"))
    assert broken(judge) == []


def crew(name: str, on: str) -> JSON:
    return made(name, on, labels=WEB, near=[term(ZONE, WEB)])


def test_a_group_that_starts_in_two_zones(judge: Judge) -> None:
    hear(judge, crew("a", "n0"), crew("b", "n1"))
    assert broken(judge) == []
    hear(judge, crew("c", "n2"))
    assert broken(judge) == ["affinity not held"]


def test_a_node_that_the_pod_does_not_match(judge: Judge) -> None:
    hear(judge, on_ssd("right", "n1"))
    assert broken(judge) == []
    hear(judge, on_ssd("wrong", "n0"))
    assert broken(judge) == ["node affinity not held"]


@pytest.mark.parametrize(("later", "wrong"), [(DELAY_S / 2, False), (2 * DELAY_S, True)])
def test_a_bind_may_be_carried_out_a_while_after_its_decision(
    judge: Judge, later: float, *, wrong: bool
) -> None:
    judge.node(node("n1", "z0", disk="hdd"), 10.0)
    hear(judge, on_ssd("late", "n1"), at=10.0 + later)
    assert broken(judge) == ["node affinity not held"] * wrong


def test_a_pod_that_is_bound_twice(judge: Judge) -> None:
    hear(judge, db("d"), db("d", "n0"), db("d", "n1"))
    assert broken(judge) == ["bound twice"]


def test_what_comes_back_with_a_backup_is_no_bind(judge: Judge) -> None:
    hear(judge, db("d"), db("d", "n0"))
    judge.restored()
    judge.pod(db("d"), 2.0, listed=True)
    hear(judge, db("d", "n1"))
    assert broken(judge) == []
    assert judge.counts["binds"] == 2


@pytest.mark.parametrize(
    ("changes", "at", "wrong"),
    [
        pytest.param([(2.0, "hdd")], 2.0 + GRACE_S, False, id="due"),
        pytest.param([(2.0, "hdd")], 2.5, True, id="within the grace period"),
        pytest.param([], 10.0, True, id="never broken"),
        pytest.param([(2.0, "hdd"), (3.0, "ssd")], 9.0, True, id="undone in time"),
        pytest.param([(2.0, "hdd"), (8.0, "ssd")], 9.0, False, id="undone a moment ago"),
        pytest.param([(2.0, "hdd"), (8.0, "ssd")], 8.0 + 2 * DELAY_S, True, id="undone long ago"),
    ],
)
def test_an_eviction_needs_a_rule_that_is_broken(
    judge: Judge, changes: list[tuple[float, str]], at: float, *, wrong: bool
) -> None:
    there = on_ssd("e", "n1")
    hear(judge, there)
    for when, disk in changes:
        judge.node(node("n1", "z0", disk=disk), when)
    hear(judge, evicted(there), at=at)
    assert judge.counts["evictions"] == 1
    assert broken(judge) == ["evicted without a cause"] * wrong


def test_a_user_needs_no_cause(judge: Judge) -> None:
    there = on_ssd("e", "n1")
    judge.deletes("e")
    hear(judge, there, evicted(there))
    assert broken(judge) == []
    assert judge.counts["evictions"] == 0


def test_a_victim_that_is_in_the_way(judge: Judge) -> None:
    there = db("d", "n0")
    hear(judge, there, web("w"), victim_of("w", there))
    assert broken(judge) == []
    assert judge.counts["preemptions"] == 1


@pytest.mark.parametrize(
    ("preemptor", "named"),
    [
        pytest.param(web("w", priority=0), "w", id="as important"),
        pytest.param(made("w", priority=10), "w", id="may be beside it"),
        pytest.param(web("w"), "other", id="unknown"),
    ],
)
def test_a_victim_for_no_reason(judge: Judge, preemptor: JSON, named: str) -> None:
    there = db("d", "n0")
    hear(judge, there, preemptor, victim_of(named, there))
    assert broken(judge) == ["preempted without a cause"]


@pytest.mark.parametrize(("later", "wrong"), [(DELAY_S / 2, False), (2 * DELAY_S, True)])
def test_a_victim_for_a_pod_that_has_a_place(judge: Judge, later: float, *, wrong: bool) -> None:
    there = db("d", "n0")
    hear(judge, there, web("w"), web("w", "n1"))
    hear(judge, victim_of("w", there), at=1.0 + later)
    assert broken(judge) == ["preempted without a cause"] * wrong


@pytest.mark.parametrize("gone", [False, True])
def test_a_second_set_of_victims(judge: Judge, *, gone: bool) -> None:
    one, other = db("d0", "n0"), db("d1", "n1")
    hear(judge, one, other, web("w"), victim_of("w", one))
    if gone:
        judge.pod(victim_of("w", one), 1.0, gone=True)
    hear(judge, victim_of("w", other))
    assert broken(judge) == ["two sets of victims"] * (not gone)
    assert judge.counts["preemptions"] == 2


def test_a_set_of_two_victims_is_one_preemption(judge: Judge) -> None:
    both = [db(name, "n0") for name in ("d0", "d1")]
    hear(judge, *both, web("w"), *(victim_of("w", each) for each in both))
    assert broken(judge) == []
    assert (judge.counts["preemptions"], judge.counts["victims"]) == (1, 2)


def test_a_pod_that_is_stuck_beside_a_place(judge: Judge) -> None:
    hear(judge, web("w"))
    judge.look(2.0)
    judge.look(1.0 + STUCK_S)
    assert broken(judge) == []
    assert judge.waiting == ["default/w"]
    for _ in range(2):
        judge.look(3.0 + STUCK_S)
        assert broken(judge) == ["pod stuck"]


def test_a_pod_without_a_place_is_not_stuck(judge: Judge) -> None:
    hear(judge, web("w"), *(db(f"d{number}", f"n{number}", priority=10) for number in range(4)))
    for at in (2.0, 3.0 + STUCK_S):
        judge.look(at)
    assert broken(judge) == []
    assert judge.waiting == []


def test_less_important_pods_leave_a_place(judge: Judge) -> None:
    hear(judge, web("w"), *(db(f"d{number}", f"n{number}") for number in range(4)))
    for at in (2.0, 3.0 + STUCK_S):
        judge.look(at)
    assert broken(judge) == ["pod stuck"]
