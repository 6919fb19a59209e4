"""What a ledger hears, whenever it is joined to the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import Labels
from extender.core.model.objects import Pod as ModelPod
from tests.builders import (
    HOST,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    state_of,
)


class Hearing(Ledger):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.places: Counter[tuple[str, str]] = Counter()
        self.shifts: Counter[tuple[str, str]] = Counter()
        self.pods: list[str] = []
        self.others: list[str] = []

    def placed(self, pod: ModelPod, node: str, sign: int) -> None:
        self.places[pod.key, node] += sign

    def shifted(self, pod: ModelPod, node: str, sign: int) -> None:
        self.shifts[pod.key, node] += sign

    def relabelled(self, node: str, before: Labels) -> None:
        self.others.append(f"{node} was {dict(before)}")

    def shown(self, pod: ModelPod | None, before: ModelPod | None) -> None:
        """Note it."""
        keys = ("nothing" if each is None else each.key for each in (before, pod))
        self.pods.append(" became ".join(keys))

    def rematched(self, namespace: str, before: Labels | None, *, scope: bool) -> None:
        assert not scope
        team = None if before is None else before.get("team", "unknown")
        self.others.append(f"{namespace} was of team {team}")

    @property
    def counted(self) -> dict[tuple[str, str], int]:
        """What counts by all that was heard."""
        total = Counter(self.places)
        total.update(self.shifts)
        return {place: number for place, number in total.items() if number}


def a_state() -> ClusterState:
    state = state_of([node("n", {HOST: "n"})], [], [pod("a").on("n"), pod("waits")])
    state.reserve(model_pod(pod("waits")), "n", 10.0)
    return state


HERE = {("default/a", "n"): 1, ("default/waits", "n"): 1}


def test_it_hears_of_pods_and_reserved_places_and_of_those_that_were_there() -> None:
    late, soon, state = Hearing(), Hearing(), a_state()
    state.book_with(soon)
    state.upsert_pod(model_pod(pod("b").on("n")))
    state.book_with(late)
    assert soon.counted == late.counted == {**HERE, ("default/b", "n"): 1}
    state.expire(11.0)
    state.remove_pod("default/b", "default-b")
    assert soon.counted == late.counted == {("default/a", "n"): 1}


def test_what_is_left_out_is_shifted_and_counts_again() -> None:
    before, within, state = Hearing(), Hearing(), a_state()
    state.book_with(before)
    with state.without("default/a", "default-a"):
        state.book_with(within)
        left = {("default/waits", "n"): 1}
        assert before.counted == within.counted == left
        assert before.places == HERE, "it has its place all the same"
    assert before.counted == within.counted == HERE


def test_it_hears_of_each_pod_that_is_there_comes_changes_and_goes() -> None:
    hearing, state = Hearing(), a_state()
    state.book_with(hearing)
    known = ["nothing became default/a", "nothing became default/waits"]
    assert hearing.pods == known
    state.upsert_pod(model_pod(pod("a").on("n").ready()))
    state.upsert_pod(model_pod(pod("a").on("n").ready().labels(app="web")))
    state.upsert_pod(model_pod(pod("b")))
    state.remove_pod("default/b", "default-b")
    assert hearing.pods[len(known) :] == [
        *["default/a became default/a"] * 2,
        "nothing became default/b",
        "default/b became nothing",
    ]


def test_it_hears_of_labels_of_nodes_and_of_namespaces() -> None:
    hearing, state = Hearing(), a_state()
    state.book_with(hearing)
    for labels in ({HOST: "n"}, {HOST: "m"}):
        state.upsert_node(model_node(node("n", labels)))
    state.remove_node("n")
    for labels in ({}, {"team": "a"}, {"team": "a"}):
        state.upsert_namespace(model_namespace(namespace("default", labels)))
    assert hearing.others == [
        f"n was {{'{HOST}': 'n'}}",
        f"n was {{'{HOST}': 'm'}}",
        "default was of team None",
        "default was of team unknown",
    ]


class Named(Ledger):
    """Notes all that it hears, by the name of the method."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, tuple[Any, ...]]] = []

    def __getattribute__(self, name: str) -> Any:
        if name in {"shown", "placed", "shifted", "relabelled", "rematched", "scope_changed"}:
            return lambda *args, **more: self.heard.append((name, (*args, *more.items())))
        return super().__getattribute__(name)


def left_out(state: ClusterState) -> None:
    with state.without("default/a", "default-a"):
        pass


MOVED = {HOST: "m"}
EVENTS: dict[str, tuple[Callable[[ClusterState], object], set[str]]] = {
    "a pod comes to wait": (lambda s: s.upsert_pod(model_pod(pod("b"))), {"shown"}),
    "a pod comes to a node": (
        lambda s: s.upsert_pod(model_pod(pod("b").on("n"))),
        {"shown", "placed"},
    ),
    "a pod is ready": (lambda s: s.upsert_pod(model_pod(pod("a").on("n").ready())), {"shown"}),
    "a pod is relabelled": (
        lambda s: s.upsert_pod(model_pod(pod("a").labels(app="web").on("n"))),
        {"shown", "placed"},
    ),
    "a pod goes": (lambda s: s.remove_pod("default/a", "default-a"), {"shown", "placed"}),
    "a place is reserved": (
        lambda s: s.reserve(model_pod(pod("b")), "n", 9.0),
        {"placed"},
    ),
    "the time of a place is over": (lambda s: s.expire(11.0), {"placed"}),
    "a pod is left out": (left_out, {"shifted"}),
    "a node comes": (lambda s: s.upsert_node(model_node(node("m", MOVED))), {"relabelled"}),
    "a node is relabelled": (lambda s: s.upsert_node(model_node(node("n", MOVED))), {"relabelled"}),
    "a node goes": (lambda s: s.remove_node("n"), {"relabelled"}),
    "a namespace comes": (
        lambda s: s.upsert_namespace(model_namespace(namespace("other", {}))),
        {"rematched"},
    ),
    "a namespace is relabelled": (
        lambda s: s.upsert_namespace(model_namespace(namespace("default", {"team": "a"}))),
        {"rematched"},
    ),
    "a namespace goes": (lambda s: s.remove_namespace("default"), {"rematched"}),
}


@pytest.mark.parametrize("event", EVENTS)
def test_each_of_several_ledgers_hears_of_each_event(event: str) -> None:
    state = a_state()
    state.upsert_namespace(model_namespace(namespace("default", {})))
    ledgers = [Named() for _ in range(3)]
    for each in ledgers:
        state.book_with(each)
        each.heard.clear()
    happens, methods = EVENTS[event]
    happens(state)
    first, *others = (each.heard for each in ledgers)
    assert {name for name, _ in first} == methods
    assert others == [first] * 2
