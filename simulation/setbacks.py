"""Controllers that make no pods, or for one zone, and kubelets that start them late, or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from simulation import templates
from simulation.actions import Action
from simulation.apiserver.store import Json, Store
from simulation.loop import the_loop
from simulation.workloads import Controllers, Kubelets, Workload

SLOW_SECONDS: Final = 90.0
"""Until a pod is ready that starts slowly."""
EVERYWHERE: Final = ""


class Hindered(Protocol):
    store: Store
    controllers: Controllers
    kubelets: Kubelets

    @property
    def now(self) -> float: ...


class Setbacks:
    """Carries out the faults of `setbacks_plan.SETBACKS`; each ends by itself."""

    def __init__(self, world: Hindered) -> None:
        self._world = world
        self._unmade: dict[str, float] = {}
        """By namespace, until when no pod can be made there; EVERYWHERE for all."""
        self._lame: dict[str, float] = {}
        """By zone."""
        self._broken: dict[str, float] = {}
        """By the name of a workload, until when no pod that it makes gets ready."""
        self._slow = 0.0
        self._pinned = 0.0
        self._zone = ""
        """Where pods have to be that are made while they are pinned."""
        world.controllers.refuses = self._refuses
        world.controllers.adds = self._pin
        world.kubelets.start = self._start
        self.acts: dict[str, Callable[[Action], None]] = {
            "webhook is down": lambda action: self._begin(self._unmade, EVERYWHERE, action),
            "quota is used up": self._use_up,
            "zone is lame": self._make_lame,
            "pods start slowly": self._slow_down,
            "webhook pins pods": self._begin_pinning,
            "image is broken": self._break,
            "controllers restart": self._restart,
        }

    def _begin(self, where: dict[str, float], name: str, action: Action) -> None:
        where[name] = max(where.get(name, 0.0), self._world.now + action.seconds)

    def _use_up(self, action: Action) -> None:
        space = Random(action.number).choice(sorted(templates.NAMESPACES))
        self._begin(self._unmade, space, action)

    def _make_lame(self, action: Action) -> None:
        nodes = self._world.store.all("nodes").values()
        zones = sorted({each["metadata"]["labels"][templates.ZONE] for each in nodes})
        if zones:
            self._begin(self._lame, Random(action.number).choice(zones), action)

    def _break(self, action: Action) -> None:
        known = sorted(self._world.controllers.workloads)
        if known:
            self._begin(self._broken, Random(action.number).choice(known), action)

    def _restart(self, action: Action) -> None:
        loop = the_loop()
        turn = loop.turns + Random(action.number).randrange(2_000)
        loop.at_turn(turn, lambda: self._world.controllers.restart(action.seconds))

    def _slow_down(self, action: Action) -> None:
        self._slow = max(self._slow, self._world.now + action.seconds)

    def _begin_pinning(self, action: Action) -> None:
        nodes = self._world.store.all("nodes").values()
        self._zone = Random(action.number).choice(
            sorted({each["metadata"]["labels"][templates.ZONE] for each in nodes}) or [""]
        )
        self._pinned = max(self._pinned, self._world.now + action.seconds)

    def _pin(self) -> Json:
        """Return what a webhook adds to a pod that is made now, unknown to the extender."""
        return {"volume_zone": self._zone} if self._pinned > self._world.now else {}

    def _refuses(self, workload: Workload) -> bool:
        """Tell whether no pod of a workload can be made now."""
        until = (self._unmade.get(each, 0.0) for each in (workload.space, EVERYWHERE))
        return max(until) > self._world.now

    async def _start(self, pod: Json) -> None:
        """Return when the containers of a pod run."""
        if self._slow > self._world.now:
            await asyncio.sleep(SLOW_SECONDS)
        node = self._world.store.all("nodes").get(pod["spec"]["nodeName"])
        zone = "" if node is None else node["metadata"]["labels"].get(templates.ZONE, "")
        owner = pod["metadata"].get("ownerReferences", [{}])[0].get("name", "")
        until = max(self._lame.get(zone, 0.0), self._broken.get(owner, 0.0))
        await asyncio.sleep(max(0.0, until - self._world.now))
