"""The judge of moves for preferred rules, and what places are worth to it."""

from __future__ import annotations

import pytest

from simulation import templates
from simulation.apiserver.requests import EVICTS
from simulation.apiserver.store import Json, Store
from simulation.apiserver.verbs import bind, evict
from simulation.invariants.known import truth
from simulation.invariants.repairs import Repairs, stays
from simulation.invariants.worth import Worth
from simulation.preferring import PREFERRED, STAYS
from simulation.repairing_plan import Repairing

EXTENDER = "extender-1"
SETTINGS = Repairing(settle=30.0, rest=20.0, min_gain=1, per_minute=4, percent=100, assists=False)


def anti(weight: int, key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"podAntiAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": term}]}}


class Court:
    """Two zones, a judge, and an extender that leads."""

    def __init__(self) -> None:
        self.now = 0.0
        self.store = Store()
        self.judge = Repairs(self.store, lambda: self.now, SETTINGS, list, lambda: 0.0)
        self.store.create("namespaces", templates.namespace("default", "blue"), "users")
        for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
            self.store.create("nodes", templates.node(name, zone, 8), "users")
        lease = {"metadata": {"name": "it", "namespace": "default"}}
        self.store.create("leases", {**lease, "spec": {"holderIdentity": EXTENDER}}, EXTENDER)

    def place(self, name: str, node: str, affinity: Json, *, owner: str = "web") -> str:
        """Place a pod of an app."""
        made_of = {"labels": {"app": "web"}, "affinity": affinity, "priority": 0}
        pod = templates.pod(name, "default", made_of, owner=owner, scheduler="", milli=10)
        uid = str(self.store.create("pods", pod, "controllers")["metadata"]["uid"])
        bind(self.store, f"default/{name}", uid, node, "scheduler-1")
        return uid

    def move(self, name: str, at: float, *, made: float | None = None) -> list[str]:
        """Have a pod evicted and gone; return what is broken by that."""
        self.now = at
        by = f"{EXTENDER}{EVICTS}{at if made is None else made}"
        evict(self.store, f"default/{name}", by)
        self.store.remove("pods", f"default/{name}", "kubelet")
        found = [each.invariant for each in self.judge.broken]
        self.judge.broken.clear()
        return found


def test_a_place_is_worth_what_own_terms_and_those_of_others_say() -> None:
    court = Court()
    uid = court.place("one", "a1", anti(10, templates.ZONE))
    court.place("two", "a2", anti(3, templates.HOST))
    court.place("three", "a1", {}, owner="other")
    picture = truth(court.store)
    gains = Worth(picture).gains(picture.pods[uid])
    # In zone a there are two others. Whoever excludes it on a2 is met there alone.
    assert dict(gains) == {"a1": (0, 0), "a2": (0, -3), "b1": (20, 20)}
    assert Worth(picture).better(picture.pods[uid], 20) == {"b1"}
    assert Worth(picture).better(picture.pods[uid], 21) == set()


def test_labels_of_nodes_count_with_their_weight() -> None:
    court = Court()
    wish = {"matchExpressions": [{"key": templates.ZONE, "operator": "In", "values": ["b"]}]}
    nodes = {"nodeAffinity": {PREFERRED: [{"weight": 7, "preference": wish}]}}
    uid = court.place("one", "a1", nodes)
    picture = truth(court.store)
    assert Worth(picture).gains(picture.pods[uid])["b1"] == (7, 7)


def test_an_owner_rests_between_two_moves() -> None:
    court = Court()
    for name in ("one", "two", "three"):
        court.place(name, "a1", anti(10, templates.ZONE))
    assert court.move("one", 40.0) == []
    court.place("four", "b1", anti(10, templates.ZONE))
    assert court.move("two", 59.0) == ["moved before it rested"]
    court.place("five", "b1", anti(10, templates.ZONE))
    assert court.move("three", 100.0) == []


def test_an_owner_rests_four_times_as_long_when_its_only_successor_is_in_the_same_place() -> None:
    court = Court()
    for name in ("one", "two"):
        court.place(name, "a1", anti(10, templates.ZONE))
    assert court.move("one", 40.0) == []
    court.place("four", "a1", anti(10, templates.ZONE))
    assert court.move("two", 119.0) == ["moved before it rested"]


def test_nobody_goes_while_another_is_not_replaced_or_soon_after_the_lead_was_taken() -> None:
    court = Court()
    for name in ("one", "two"):
        court.place(name, "a1", anti(10, templates.ZONE))
    assert court.move("one", 29.0) == ["moved before it settled"]
    assert court.move("two", 60.0) == ["two pods of an owner"]


def test_half_of_the_evictions_of_a_minute_are_for_moves_and_late_ones_are_nobodys_fault() -> None:
    court = Court()
    for number in range(4):
        court.place(f"pod{number}", "a1", anti(10, templates.ZONE), owner=f"owner{number}")
    assert court.move("pod0", 40.0, made=34.0) == []
    assert court.move("pod1", 41.0) == []
    assert court.move("pod2", 42.0) == []
    assert court.move("pod3", 43.0) == ["too many evictions in a minute"]


@pytest.mark.parametrize("more", STAYS)
def test_pods_that_have_to_stay_are_known(more: Json) -> None:
    made_of = {"labels": {}, "affinity": anti(1, templates.ZONE), "priority": 0}
    usual, one = (
        templates.pod("one", "default", made_of | each, owner="it", scheduler="", milli=10)
        for each in ({}, more)
    )
    assert not stays(usual)
    assert stays(one)
