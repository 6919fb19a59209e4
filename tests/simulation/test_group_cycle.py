"""A group's cycle in the simulated scheduler: where it means its members to go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import pytest

from simulation.loop import simulate
from simulation.scheduler.cache import Cache
from simulation.scheduler.choosing import Chooser, Settings
from simulation.scheduler.extender import CallError, Extender
from simulation.scheduler.group_cycle import Attempt, GroupCycle
from simulation.scheduler.objects import GroupInfo, PodInfo, pod_info
from simulation.templates import GROUPS, ZONE, node, pod, template

NODES = {"a1": "a", "a2": "a", "b1": "b"}


@dataclass
class Answering:
    """An extender that refuses some pods everywhere, and fails for others."""

    refuses: Sequence[str] = ()
    fails: Sequence[str] = ()
    asked: list[str] = field(default_factory=list)

    async def filter(self, pod: PodInfo, names: Sequence[str]) -> tuple[list[str], list[str]]:
        self.asked.append(pod.key.removeprefix("default/"))
        if self.asked[-1] in self.fails:
            raise CallError("no")
        return ([] if self.asked[-1] in self.refuses else [*names]), []

    async def prioritize(self, _: PodInfo, __: Sequence[str]) -> Mapping[str, int]:
        return {}


def member(name: str, sort: str) -> PodInfo:
    made_of = template(sort, "app", "group") | {"pod_group": "gang"}
    raw = pod(name, "default", made_of, owner="", scheduler=GROUPS, milli=10)
    return pod_info(raw | {"metadata": raw["metadata"] | {"uid": name}})


def tried(
    sort: str, group: GroupInfo, count: int, extender: Answering | None = None, bound: str = ""
) -> tuple[Attempt, Cache]:
    """Try a group of as many members; one more may be bound to a node."""
    cache = Cache()
    for number, (name, zone) in enumerate(NODES.items()):
        cache.set_node(node(name, zone, 4, number))
    if bound:
        there = member("there", sort)
        cache.add_member(there)
        cache.place(there, bound)
    members = [member(f"m{number}", sort) for number in range(count)]
    for each in members:
        cache.add_member(each)
    settings, chance = Settings("scheduler", group_profile=GROUPS), Random(1)
    chooser = Chooser(settings, cast("Extender", extender or Answering()), chance)
    return simulate(GroupCycle(chooser, chance).run(group, members, cache)), cache


def gang(least: int, topology: str | None = None) -> GroupInfo:
    return GroupInfo("default/gang", least, topology)


def test_members_see_where_those_before_are_to_go_and_nobody_else_does() -> None:
    attempt, cache = tried("apart by host", gang(3), 3)
    assert sorted(attempt.places.values()) == [*NODES]
    assert attempt.fits
    assert cache.scheduled("default/gang") == []
    assert all(not each.pods and not each.used for each in cache.nodes.values())


def zones(attempt: Attempt) -> set[str]:
    return {NODES[name] for name in attempt.places.values()}


CASES: dict[str, tuple[dict[str, Any], int | None]] = {
    "one has no place": ({"sort": "apart by host", "group": gang(4), "count": 4}, None),
    "one has no place and need not": ({"sort": "apart by host", "group": gang(3), "count": 4}, 3),
    "one is there already": (
        {"sort": "apart by host", "group": gang(3), "count": 2, "bound": "a1"},
        2,
    ),
    "the extender refuses one": (
        {"sort": "plain", "group": gang(3), "count": 3, "extender": Answering(refuses=["m1"])},
        None,
    ),
    "the domains are too small": (
        {"sort": "apart by host", "group": gang(3, ZONE), "count": 3},
        None,
    ),
    "one domain is large enough": (
        {"sort": "apart by host", "group": gang(2, ZONE), "count": 2},
        2,
    ),
}


@pytest.mark.parametrize(("given", "placed"), CASES.values(), ids=CASES)
def test_enough_members_get_a_node_or_the_group_waits(
    given: dict[str, Any], placed: int | None
) -> None:
    attempt, _ = tried(**given)
    assert (len(attempt.places) if attempt.fits else None) == placed
    assert not attempt.error


def test_what_must_be_near_follows_the_first() -> None:
    attempt, _ = tried("together", gang(4), 4)
    assert len(zones(attempt)) == 1


def test_a_domain_is_that_of_the_members_that_have_a_node() -> None:
    attempt, _ = tried("plain", gang(3, ZONE), 2, bound="b1")
    assert zones(attempt) == {"b"}


def test_nobody_is_asked_about_once_too_few_are_left() -> None:
    extender = Answering(refuses=["m0"])
    tried("plain", gang(3), 3, extender)
    assert extender.asked == ["m0"]


def test_an_error_ends_the_cycle() -> None:
    extender = Answering(fails=["m1"])
    attempt, _ = tried("plain", gang(2), 4, extender)
    assert "m1" in attempt.error
    assert extender.asked == ["m0", "m1"]
