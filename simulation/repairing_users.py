"""Tenants whose pods prefer places, and zones and nodes that are lost and come back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.acting import Acting
from simulation.apiserver.store import Json
from simulation.apiserver.verbs import delete
from simulation.caller import Caller
from simulation.loop import spawn
from simulation.movable import budget
from simulation.plan import Setup
from simulation.preferring import STAYS, preferring
from simulation.workloads import Controllers, Workload

MOST_PODS: Final = 3
"""For each node, in all."""
TRIES: Final = 5
"""The API server may answer nothing for so many times as long as anybody waits for it."""
LOST: Final = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


class RepairingUsers(Acting):
    """Carries out the actions of `repairing_plan.REPAIRING_USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        super().__init__(caller, controllers, setup)
        self.acts = {
            "preferring workload": self._workload,
            "workload that stays": self._staying,
            "zone fails": self._zone_fails,
            "node fails": self._node_fails,
            "node is replaced": self._node_is_replaced,
            "roll out again": self._roll_out,
        }

    def _workload(self, chance: Random) -> None:
        """Create a workload; some have a budget."""
        app = self._apply(chance, {})
        if app and chance.random() < 0.3:
            made = budget(app, chance.choice((0, 1, 1, 2)))
            self._do(partial(self._store.create, "poddisruptionbudgets", made, "users"))

    def _staying(self, chance: Random) -> None:
        """Create a workload whose pods prefer places as well, and are to stay where they are."""
        self._apply(chance, chance.choice(STAYS))

    def _apply(self, chance: Random, more: Json) -> str:
        wanted = sum(each.replicas for each in self._controllers.workloads.values())
        if wanted > MOST_PODS * len(self._store.all("nodes")):
            return ""
        app = f"preferring{len(self._apps)}"
        made_of = preferring(chance, app, self._apps, required=not self._assists)
        self._apps.append(app)
        self._controllers.apply(
            Workload(
                name=app,
                space=chance.choice(("default", "default", "other")),
                made_of=made_of | more,
                replicas=chance.choice((1, 2, 3, 4, 6)),
                scheduler=self._setup.any_scheduler(chance),
                milli=chance.choice((100, 100, 100, 1500)),
                ordered=chance.random() < 0.2,
            )
        )
        return app

    @property
    def _assists(self) -> bool:
        return self._setup.repairing is not None and self._setup.repairing.assists

    def _roll_out(self, chance: Random) -> None:
        """Make all pods of a workload anew, as they were."""
        if (workload := self._any(chance)) is not None:
            workload.revision += 1
            self._controllers.wake(workload.name)

    # Nodes

    def _zone_fails(self, chance: Random) -> None:
        nodes = self._store.all("nodes")
        zones = sorted({each["metadata"]["labels"][templates.ZONE] for each in nodes.values()})
        if len(zones) > 1:
            zone = chance.choice(zones)
            names = [
                name
                for name, each in sorted(nodes.items())
                if each["metadata"]["labels"][templates.ZONE] == zone
            ]
            spawn(self._fail(chance, names), "users")

    def _node_fails(self, chance: Random) -> None:
        names = sorted(self._store.all("nodes"))
        if len(names) > 1:
            spawn(self._fail(chance, [chance.choice(names)]), "users")

    async def _fail(self, chance: Random, names: Sequence[str]) -> None:
        """Let nodes be out of reach: their pods are deleted, and the nodes come back."""
        await asyncio.gather(*(self._set(name, {"taints": [LOST]}) for name in names))
        await asyncio.sleep(chance.uniform(0.0, 5.0))
        for key in [key for name in names for key in self._on(name)]:
            act = partial(delete, self._store, key, "controllers", grace=chance.choice((0.0, 3.0)))
            await self._caller.try_to(act)
        await asyncio.sleep(_away(chance))
        for name in [*names] * TRIES:
            if self._store.all("nodes").get(name, {}).get("spec", {}).get("taints") == [LOST]:
                await self._set(name, {})

    async def _set(self, name: str, spec: Json) -> bool:
        def change(node: Json) -> Json:
            return {**node, "spec": spec}

        return await self._caller.try_to(
            partial(self._store.update, "nodes", name, change, "users")
        )

    def _node_is_replaced(self, chance: Random) -> None:
        names = sorted(self._store.all("nodes"))
        if len(names) > 2:
            spawn(self._replace(chance, chance.choice(names)), "users")

    async def _replace(self, chance: Random, name: str) -> None:
        """Take a node away with all its pods, and have one of its name and labels later."""
        old = self._store.all("nodes").get(name)
        if old is None or not await self._caller.try_to(
            partial(self._store.remove, "nodes", name, "users")
        ):
            return
        seconds = _away(chance)
        while (keys := self._on(name)) or seconds > 0:
            for key in keys:
                await self._caller.try_to(partial(self._store.remove, "pods", key, "controllers"))
            await asyncio.sleep(5.0)
            seconds -= 5.0
        metadata = {each: old["metadata"][each] for each in ("name", "labels")}
        again = {"metadata": metadata, "spec": {}, "status": old["status"]}
        for _ in range(TRIES):
            if name not in self._store.all("nodes"):
                await self._caller.try_to(partial(self._store.create, "nodes", again, "users"))


def _away(chance: Random) -> float:
    return chance.choice((1.0, 10.0, 40.0, 120.0)) * chance.uniform(0.5, 1.0)
