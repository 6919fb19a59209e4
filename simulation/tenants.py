"""Tenants whose pods depend on each other or on what the extender does not look at."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.acting import Acting
from simulation.apiserver.store import Json, key_of
from simulation.apiserver.verbs import delete
from simulation.caller import Caller
from simulation.invariants.quotas import SCOPE
from simulation.loop import spawn
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload

PARTINGS: Final = 6
"""How often the pods of a couple are deleted, to come again."""
TAINT: Final = {"key": "dedicated", "value": "others", "effect": "NoSchedule"}


OTHER_QUOTAS: Final = (
    templates.quota("of-others", {"pods": "0"}, ("NotBestEffort",)),
    templates.quota("of-best-effort", {"pods": "0"}, (SCOPE, "BestEffort")),
    templates.quota("of-burstable", {"pods": "5", "cpu": "100m"}, (SCOPE, "NotBestEffort")),
    templates.quota("of-what-no-pod-says", {"limits.cpu": "10"}),
)
"""Two that keep nothing away, one that limits two resources, and one that allows no pod here."""


class Tenants(Acting):
    """Carries out some of the actions of `themes.USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        super().__init__(caller, controllers, setup)
        self._couples = 0
        self.acts = {
            "couple": self._couple,
            "bound to a zone": self._bound_to_a_zone,
            "taint": self._taint,
            "quota": self._limit,
        }

    def _couple(self, chance: Random) -> None:
        """Create a pod, and others that must be near it; all come again and again."""
        self._couples += 1
        leader, followers = f"leader{self._couples}", f"follower{self._couples}"
        near = templates.template("near another", followers, leader)
        alone = templates.template("plain", leader, leader)
        # Those of a StatefulSet come back with the same names.
        ordered = chance.random() < 0.6
        self._apply(leader, alone, 1, chance, ordered=ordered)
        self._apply(followers, near, chance.randint(1, 3), chance, ordered=ordered)
        spawn(self._part(leader, followers, chance), "users")

    async def _part(self, leader: str, followers: str, chance: Random) -> None:
        for _ in range(PARTINGS):
            await asyncio.sleep(chance.uniform(2.0, 6.0))
            for name in (followers, leader):
                for key in [*self._controllers.workloads[name].pods]:
                    act = partial(delete, self._store, key, "users", grace=0.0)
                    await self._caller.try_to(act)

    def _bound_to_a_zone(self, chance: Random) -> None:
        """Create pods whose volumes are in one zone, too many for it; they evict no pod."""
        self._couples += 1
        app, zone = f"stateful{self._couples}", f"z{chance.randrange(self._setup.zones)}"
        made_of = templates.template("apart by host", app, app)
        made_of |= {"patient": True, "volume_zone": zone}
        nodes = len(self._store.all("nodes"))
        self._apply(app, made_of, min(nodes // self._setup.zones + 1, 8), chance)

    def _limit(self, chance: Random) -> None:
        """Create pods that exclude each other across namespaces, more than a new quota allows."""
        self._couples += 1
        limit, app, milli = chance.randint(1, 4), f"limited{self._couples}", chance.choice((10, 30))
        quota = _any_quota(chance, limit, milli)

        def set_limit() -> None:
            name = key_of(quota)
            if name in self._store.all("resourcequotas"):
                self._store.update(
                    "resourcequotas", name, lambda old: {**old, "spec": quota["spec"]}, "users"
                )
            else:
                self._store.create("resourcequotas", quota, "users")

        self._do(set_limit)
        self._controllers.apply(
            Workload(
                name=app,
                space=templates.LIMITED,
                made_of=templates.template("away from a team", app, app),
                replicas=limit + chance.randint(1, 3),
                scheduler=self._setup.any_scheduler(chance),
                milli=milli,
                lasts=chance.uniform(0.3, 3.0),
                completions=chance.randint(20, 60),
            )
        )
        if chance.random() < 0.5:
            self._press(chance, f"{app}-important", app)

    def _press(self, chance: Random, name: str, app: str) -> None:
        """Create important pods that others keep away, and that the quota often has no room for."""
        self._controllers.apply(
            Workload(
                name=name,
                space=templates.LIMITED,
                made_of=templates.template("away from a team", name, app, 50),
                replicas=2,
                scheduler=self._setup.any_scheduler(chance),
                milli=10,
                lasts=chance.uniform(0.3, 3.0),
                completions=chance.randint(10, 30),
            )
        )

    def _apply(
        self, name: str, made_of: Json, replicas: int, chance: Random, *, ordered: bool = False
    ) -> None:
        scheduler = self._setup.any_scheduler(chance)
        self._controllers.apply(
            Workload(name, "default", made_of, replicas, scheduler, 10, ordered=ordered)
        )

    def _taint(self, chance: Random) -> None:
        names = sorted(self._store.all("nodes"))
        if not names:
            return

        def change(node: Json) -> Json:
            tainted = "taints" in node["spec"]
            return {**node, "spec": {} if tainted else {"taints": [TAINT]}}

        self._do(partial(self._store.update, "nodes", chance.choice(names), change, "users"))


def _any_quota(chance: Random, limit: int, milli: int) -> Json:
    """Build one by a number of pods and what each may ask for, or one of another kind."""
    if chance.random() < 0.2:
        return chance.choice(OTHER_QUOTAS)
    name = chance.choice(("pods", "pods", "count/pods", "cpu", "requests.cpu"))
    amount = str(limit) if name.endswith("pods") else f"{limit * milli}m"
    return templates.quota(chance.choice(("crossing", "crossing", "second")), {name: amount})
