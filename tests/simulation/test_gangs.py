"""When a gang counts as bound in part, and what excuses it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.apiserver.store import Json, Store
from simulation.apiserver.verbs import bind, delete
from simulation.invariants.broken import BrokenError
from simulation.invariants.gangs import BEFORE_SECONDS, Gangs
from simulation.templates import node, pod, pod_group, template

QUIET = -2 * BEFORE_SECONDS


class Told:
    """A gang of three, its judge, and a clock that is set by hand."""

    def __init__(self, least: int | None = 3) -> None:
        self.now = 100.0
        self.store = Store()
        self.gangs = Gangs(self.store, lambda: self.now)
        self.store.create("podgroups", pod_group("gang", least), "users")
        for each in "abc":
            self.store.create("pods", member(each), "users")

    def bind(self, name: str, by: str = "extender-1") -> None:
        uid = self.store.get("pods", f"default/{name}")["metadata"]["uid"]
        bind(self.store, f"default/{name}", uid, "n1", by)

    def look(self, undisturbed: float = QUIET) -> None:
        self.gangs.look(undisturbed)


def member(name: str) -> Json:
    made_of = template("plain", "app", "app") | {"pod_group": "gang"}
    return pod(name, "default", made_of, owner="gang", scheduler="groups", milli=10)


def test_a_gang_may_not_be_in_part_for_long() -> None:
    told = Told()
    told.bind("a")
    told.bind("b")
    told.now += 0.9
    told.look()
    told.now += 0.2
    with pytest.raises(BrokenError, match="gang bound in part: default/gang: 2 of 3"):
        told.look()


def _whole(told: Told) -> None:
    for each in "bc":
        told.bind(each)


EXCUSES: dict[str, Callable[[Told], None]] = {
    "it becomes whole": _whole,
    "a member was deleted": lambda told: delete(told.store, "default/b", "users"),
    "others bound one": lambda told: told.bind("b", by="users"),
    "a node came": lambda told: (told.store.create("nodes", node("n", "z", 1), "users"), None)[1],
    "something was wrong": lambda told: told.look(told.now - 1.0),
}


@pytest.mark.parametrize("cause", EXCUSES.values(), ids=EXCUSES)
def test_it_may_with_a_cause_outside(cause: Callable[[Told], None]) -> None:
    told = Told()
    told.bind("a")
    cause(told)
    told.now += 60.0
    told.look()


def test_whoever_is_no_gang_may_be_bound_in_part() -> None:
    told = Told(least=None)
    told.bind("a")
    told.now += 60.0
    told.look()


def test_a_gang_that_was_whole_may_lose_members() -> None:
    told = Told(least=2)
    told.bind("a")
    told.bind("b")
    delete(told.store, "default/b", "kubelet", grace=0.0)
    told.now += 60.0
    told.look()
    assert told.gangs.counts["whole"] == 1
