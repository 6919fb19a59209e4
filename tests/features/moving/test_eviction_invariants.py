"""Whatever happens: never above the limit, never two of an owner, never without a cause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extender.core.errors import ApiError, ExtenderError
from extender.core.model.objects import Pod as ModelPod
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.rules.breaches import breaches
from tests.builders import HOST, Pod, pod, selector, term
from tests.features.moving.evicting import GRACE, ON_SSD, Rig

OWNERS = ("one", "two")
NODES = ("a", "b", "c")
STEPS = 120
TEMPLATES = (
    ON_SSD.labels(app="disk"),
    pod("near").labels(app="near").affinity(term("zone", selector(app="db"))),
    pod("solo").labels(app="solo").anti_affinity(term(HOST, selector(app="solo"))),
    pod("db").labels(app="db"),
)


class Life:
    """A cluster in which anything happens, and an API server that says anything."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.per_minute = 1 + 7 * (seed % 2)
        """So few that it binds, or so many that owners do."""
        self.rig = Rig(per_minute=self.per_minute)
        self.rig.mover.answer = self._answer
        self.rig.mover.lingers = True
        self.sent: list[tuple[float, str]] = []
        """When an eviction was carried out, and for which owner."""
        self.going: dict[str, tuple[str, ModelPod]] = {}
        """Evicted pods that are not gone, or not replaced: owner and pod, by uid."""
        self.broken_since: dict[str, float] = {}
        self.number = 0
        self.wrong: list[str] = []
        for name in NODES:
            self.rig.node(name, disk="ssd", zone=name)
        self.rig.node("spare", disk="ssd", zone="spare")
        self.acts: list[Callable[[], None]] = [
            self._label, self._label, self._create, self._create, self._remove, self._lead,
        ]  # fmt: skip

    def _answer(self, evicted: ModelPod) -> Eviction | Exception:
        try:
            self._check(evicted)
        except AssertionError as error:
            # The controller would take it for a failure of this eviction.
            self.wrong.append(str(error))
        lot = self.chance.random()
        if lot < 0.2:
            return Eviction(Evicted.REFUSED, "a budget", self.chance.choice((None, 20.0)))
        if lot < 0.3:
            return ApiError(500, "InternalError", "etcd")
        if lot < 0.35:
            # It was not carried out, but nobody can know that.
            self.sent.append((self.rig.now, self._owner(evicted)))
            return ExtenderError("no answer")
        self.sent.append((self.rig.now, self._owner(evicted)))
        self.going[evicted.uid] = (self._owner(evicted), evicted)
        return Eviction(Evicted.DONE)

    def _owner(self, evicted: ModelPod) -> str:
        assert evicted.spec.owner is not None
        return evicted.spec.owner.uid

    def _check(self, evicted: ModelPod) -> None:
        """Judge an eviction when it is asked for."""
        now, owner = self.rig.now, self._owner(evicted)
        recent = [at for at, _ in self.sent if at > now - 60]
        assert len(recent) < self.per_minute, "above the limit"
        assert owner not in {each for each, _ in self.going.values()}, "two of an owner"
        assert list(breaches(self.rig.watch, evicted)), "without a cause"
        assert now - self.broken_since[evicted.uid] >= GRACE, "within the grace period"
        assert self.rig.leader.leads, "without the lead"
        known = self.rig.state.pods[evicted.key]
        assert known.uid == evicted.uid
        assert not known.status.deleting

    def _label(self) -> None:
        labels = {"zone": self.chance.choice(NODES)}
        if self.chance.random() < 0.3:
            labels["disk"] = "ssd"
        self.rig.node(self.chance.choice(NODES), **labels)

    def _create(self) -> None:
        self._put(self.chance.choice(TEMPLATES), self.chance.choice(OWNERS))

    def _put(self, template: Pod, owner: str) -> None:
        if len(self.rig.state.pods) < 16:
            self.number += 1
            self.rig.place(
                template.priority(self.chance.randrange(2)),
                self.chance.choice(NODES),
                f"p{self.number}",
                owner=f"ReplicaSet/{owner}",
            )

    def _remove(self) -> None:
        if self.rig.state.pods:
            gone = self.rig.state.pods[self.chance.choice(sorted(self.rig.state.pods))]
            self._forget(gone)

    def _forget(self, gone: ModelPod) -> None:
        self.rig.state.remove_pod(gone.key, gone.uid)
        self.going.pop(gone.uid, None)

    def _lead(self) -> None:
        self.rig.leader.leads = self.chance.random() < 0.8

    def _replace(self) -> None:
        """Let pods that were evicted end, and their owners replace them at once."""
        for owner, evicted in list(self.going.values()):
            if self.chance.random() < 0.3:
                self._forget(evicted)
                if self.chance.random() < 0.8:
                    self._put(self.chance.choice(TEMPLATES), owner.removeprefix("ReplicaSet/"))

    def _judge_everybody(self) -> None:
        """Note since when each pod has broken a rule, without looking at what the program knows."""
        for each in self.rig.state.pods.values():
            if list(breaches(self.rig.watch, each)):
                self.broken_since.setdefault(each.uid, self.rig.now)
            else:
                self.broken_since.pop(each.uid, None)

    async def run(self) -> None:
        for _ in range(STEPS):
            if self.chance.random() < 0.3:
                self.chance.choice(self.acts)()
            self._replace()
            self._judge_everybody()
            await self.rig.controller.look()
            while await self.rig.controller.process_next():
                self._judge_everybody()
            self.rig.now += self.chance.choice((0.25, 2.0, 6.0))


@pytest.mark.thorough
@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_no_eviction_is_above_the_limit_beside_another_of_its_owner_or_without_a_cause(
    seed: int,
) -> None:
    life = Life(seed)
    asyncio.run(life.run())
    assert life.wrong == []


def test_in_such_a_life_pods_are_evicted() -> None:
    lives = [Life(seed) for seed in range(20)]
    for life in lives:
        asyncio.run(life.run())
    assert sum(len(life.sent) for life in lives) > 10
