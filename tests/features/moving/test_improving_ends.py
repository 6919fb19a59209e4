"""Moves come to an end: each round raises one sum over all pods, and what lowers it is a miss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import pytest
from msgspec import structs

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Controller
from extender.core.model.objects import Pod as ModelPod
from extender.core.verbs.interaction import prefer
from extender.core.verbs.nominating import Chooser
from extender.features.moving.rules.improving import (
    Improvement,
    best_improvement,
    chooser_of_places,
    gain_on,
    improvement,
    steered,
)
from tests.annotating import PREFERRED, annotated
from tests.beside import COVERS_ALL
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    node_term,
    pod,
    requirement,
    selector,
    term,
)
from tests.verbs.judging import AFFINITY

SPACES = ("one", "two")
APPS = ("a", "b", "c", "d")
KEYS = (ZONE, HOST, "rack")
ROUNDS = 60
"""Far more than it takes: controllers that still move then have missed, and rest for days."""


@dataclass(frozen=True)
class Wish:
    """A preferred term: what it adds for each pod of an app in its owner's domain."""

    weight: int
    key: str
    app: str
    spaces: tuple[str, ...]


@dataclass(frozen=True)
class App:
    """What the pods of a controller prefer."""

    name: str
    space: str
    wishes: tuple[Wish, ...]
    zone: tuple[int, str] | None
    annotated: Wish | None


class World:
    """A cluster drawn at random, in which rounds of moves are carried out."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = Random(seed)
        self.state = ClusterState(scope=COVERS_ALL)
        self.chooser: Chooser = chooser_of_places(self.state, AFFINITY)
        self.numbers = count()
        self.labels: dict[str, dict[str, str]] = {}
        for space in SPACES:
            self.state.upsert_namespace(model_namespace(namespace(space)))
        for number in range(chance.randint(3, 6)):
            name = f"n{number}"
            own = {HOST: name, ZONE: chance.choice("xyz"), "rack": chance.choice("12")}
            self.labels[name] = own = {key: own[key] for key in own if chance.random() < 0.95}
            room = {"pods": str(chance.randint(2, 8)), "cpu": "9"}
            self.state.upsert_node(model_node(node(name, own, room)))
        self.apps = {name: self._draw(name) for name in APPS[: chance.randint(2, 4)]}
        self.misses: dict[Controller, int] = {}
        self.rests: dict[Controller, int] = {}
        for app in self.apps.values():
            for _ in range(chance.randint(1, 4)):
                made = self._make(app)
                if chance.random() < 0.3:
                    # Its annotation, if it has one, was edited when it had its place.
                    made = made.with_status(record="")
                self._place(made, chance.choice(sorted(self.labels)))

    def _draw(self, name: str) -> App:
        chance, space = self.chance, self.chance.choice(SPACES)
        wishes = tuple(
            Wish(
                chance.choice((-100, -50, -10, -1, 1, 10, 50, 100)),
                chance.choice(KEYS),
                chance.choice(APPS),
                chance.choice(((space,), (space,), SPACES)),
            )
            for _ in range(chance.randint(1, 3))
        )
        zone = (chance.randint(1, 60), chance.choice("xyz")) if chance.random() < 0.3 else None
        more = Wish(-7, ZONE, chance.choice(APPS), (space,)) if chance.random() < 0.3 else None
        return App(name, space, wishes, zone, more)

    def _make(self, app: App) -> ModelPod:
        name = f"{app.name}-{next(self.numbers)}"
        raw: Any = pod(name, app.space).labels(app=app.name).owned_by(f"ReplicaSet/{app.name}")
        raw = raw.uid(name)
        for wish in app.wishes:
            said = term(wish.key, selector(app=wish.app), namespaces=[*wish.spaces])
            raw = (raw.prefers if wish.weight > 0 else raw.avoids)(abs(wish.weight), said)
        if app.zone is not None:
            weight, zone = app.zone
            raw = raw.prefers_nodes(weight, node_term(requirement(ZONE, "In", zone)))
        if app.annotated is not None:
            extra = term(ZONE, selector(app=app.annotated.app))
            weighted = {"weight": 7, "podAffinityTerm": extra}
            raw = Pod(annotated(raw, {"podAntiAffinity": {PREFERRED: [weighted]}}))
        return model_pod(raw)

    def _place(self, made: ModelPod, on: str) -> None:
        self.state.upsert_pod(structs.replace(made, node=on))

    def round(self) -> list[tuple[ModelPod, ModelPod]]:
        """Move every pod that is due, all at once; return each successor with the pod that went."""
        due: dict[Controller, Improvement] = {}
        for placed in list(self.state.placed_classes):
            for each in best_improvement(self.state, self.chooser, placed, 1):
                owner = None if each is None else each.pod.controller
                if each is not None and owner is not None and owner not in due:
                    due[owner] = each
        going: list[ModelPod] = []
        for owner, each in due.items():
            mine = [one for one in going if one.pod_class.namespace == owner.namespace]
            waits = any(prefer(self.state, one.pod_class, each.pod.pod_class) for one in mine)
            if waits or self.rests.get(owner, 0) > 0:
                continue
            if improvement(self.state, self.chooser, each.pod, 1) is not None:
                going.append(each.pod)
        self.rests = {owner: left - 1 for owner, left in self.rests.items() if left > 0}
        for gone in going:
            self.state.remove_pod(gone.key, gone.uid)
        made = [self._make(self.apps[gone.pod_class.labels["app"]]) for gone in going]
        for each_made in made:
            self._place(each_made, self._chosen(each_made))
        return list(zip(made, going, strict=True))

    def _chosen(self, made: ModelPod) -> str:
        takers = list(self.chooser.takers(made))
        scored = steered(self.state, made, self.state.nodes.asked(takers), 20)
        final = dict(zip(scored.names, map(scored.final.__getitem__, scored.raw), strict=True))
        best = max((final.get(name, 0) for name in takers), default=0)
        return self.chance.choice([each for each in takers if final.get(each, 0) == best])

    def judge(self, moved: list[tuple[ModelPod, ModelPod]]) -> int:
        """Have controllers rest whose successor has not landed; return how many have missed."""
        missed = 0
        for made, gone in moved:
            known = self.state.pod(made.key, made.uid)
            back = (
                None if known is None else gain_on(self.state, self.chooser, known, gone.node or "")
            )
            owner = gone.controller
            if owner is not None and back is not None and back > -1:
                missed += 1
                self.misses[owner] = self.misses.get(owner, 0) + 1
                self.rests[owner] = 4 ** self.misses[owner]
        return missed

    def worth(self) -> int:
        """Return the sum of what all places are worth, counted the slow and obvious way."""
        return sum(self._worths())

    def _worths(self) -> Iterator[int]:
        pods = [each for each in self.state.pods.values() if each.node is not None]
        for one in pods:
            app, here = self.apps[one.pod_class.labels["app"]], self.labels[one.node or ""]
            if app.zone is not None and here.get(ZONE) == app.zone[1]:
                yield app.zone[0]
            for wish in self._wishes(one, app):
                for other in pods:
                    there = self.labels[other.node or ""]
                    near = wish.key in here and here[wish.key] == there.get(wish.key)
                    own = other.pod_class
                    meant = own.labels["app"] == wish.app and own.namespace in wish.spaces
                    if other.uid != one.uid and near and meant:
                        yield wish.weight

    def _wishes(self, one: ModelPod, app: App) -> Iterator[Wish]:
        yield from app.wishes
        if app.annotated is not None and not one.pod_class.later:
            yield app.annotated


def check(seed: int) -> int:
    """Move pods until none moves; return how many have moved."""
    world, moved = World(seed), 0
    for number in range(ROUNDS):
        before = world.worth()
        moves = world.round()
        missed, after = world.judge(moves), world.worth()
        moved += len(moves)
        spaces = {gone.pod_class.namespace for _, gone in moves}
        if moves and len(spaces) == 1:
            assert after > before, f"seed {seed}, round {number}: {before} became {after}"
        if moves and after <= before:
            assert missed >= 2, f"seed {seed}, round {number}: lower, and no controller rests"
        if not moves and not any(world.rests.values()):
            return moved
    assert world.misses, f"seed {seed} moves for ever"
    return moved


@pytest.mark.parametrize("part", range(5))
def test_no_cluster_moves_for_ever(part: int) -> None:
    assert sum(check(seed) for seed in range(part * 30, part * 30 + 30)) > 10


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(30))
def test_none_of_three_thousand_clusters_moves_for_ever(part: int) -> None:
    assert sum(check(seed) for seed in range(1000 + part * 100, 1100 + part * 100)) > 30


def test_a_pod_follows_none_that_avoids_it_by_rules_that_it_was_not_placed_by() -> None:
    """Its own terms would raise its own worth alone, and the other's term its own in turn."""
    state = ClusterState(scope=COVERS_ALL)
    for name in ("n1", "n2"):
        room = {"pods": "9", "cpu": "9"}
        state.upsert_node(model_node(node(name, {HOST: name, ZONE: name}, room)))
    other = (
        pod("b").labels(app="b").owned_by("ReplicaSet/b").avoids(5, term(ZONE, selector(app="a")))
    )
    follower = pod("a").labels(app="a").owned_by("ReplicaSet/a").on("n1")
    wish = {"weight": 50, "podAffinityTerm": term(ZONE, selector(app="b"))}
    raw = Pod(annotated(follower, {"podAffinity": {PREFERRED: [wish]}}))
    state.upsert_pod(model_pod(raw).with_status(record=""))
    state.upsert_pod(model_pod(other.on("n2")))
    chooser = chooser_of_places(state, AFFINITY)
    found = [
        each
        for placed in list(state.placed_classes)
        for each in best_improvement(state, chooser, placed, 1)
        if each is not None
    ]
    assert found == []
