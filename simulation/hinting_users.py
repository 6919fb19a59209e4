"""Tenants whose pods have places that a scheduler does not come to by itself."""

from __future__ import annotations

from functools import partial
from random import Random

from simulation import templates
from simulation.acting import Acting
from simulation.apiserver.store import Json
from simulation.apiserver.verbs import delete
from simulation.caller import Caller
from simulation.loop import the_loop
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload


class HintingUsers(Acting):
    """Carries out what the theme `hints` has beside others."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        super().__init__(caller, controllers, setup)
        self._walls = 0
        self.acts = {"hidden places": self._hide}

    def _hide(self, chance: Random) -> None:
        """Wall off nodes that follow each other, and create many pods that keep away from walls.

        In some cases their volumes are behind the wall, so that hints are of no use. In others they
        are important, and the nodes on which a scheduler would make room for them are walled too,
        or will have room in a while.
        """
        self._walls += 1
        wall, app = f"wall{self._walls}", f"hidden{self._walls}"
        nodes = self._store.all("nodes")
        names, start = sorted(nodes), chance.randrange(len(nodes))
        row = [*names[start:], *names[:start]]
        walled = row[: round(chance.uniform(0.6, 0.95) * len(row))]
        made_of = templates.template("away from another", app, wall)
        milli, replicas, lasts = 10, chance.randint(5, 60), chance.uniform(3.0, 40.0)
        kind = chance.random()
        if kind < 0.25:
            made_of["volume_zone"] = zone = f"z{chance.randrange(self._setup.zones)}"
            labels = {name: each["metadata"]["labels"] for name, each in nodes.items()}
            walled = [name for name in row if labels[name][templates.ZONE] == zone]
        elif kind < 0.8:
            milli, replicas = 1000 * self._setup.cpu // 2 + 100, chance.randint(2, 6)
            made_of["priority"], room = 100, chance.choice((0.0, 0.5))
            for name in row[len(row) // 2 + 1 :]:
                lesser = name in walled or chance.random() < room
                filler = templates.template("plain", "filler", wall, 0 if lesser else 100)
                self._stand(
                    chance, f"filler-{wall}", filler | {"grace": 30}, name, milli, most=30.0
                )
        for name in walled:
            self._stand(chance, wall, templates.template("plain", wall, wall), name, 10, most=lasts)
        self._apply(chance, app, made_of, replicas, milli)

    def _stand(
        self, chance: Random, name: str, made_of: Json, node: str, milli: int, *, most: float
    ) -> None:
        """Have a pod on a node for some seconds, at most `most`."""
        named = f"{name}-{node}"
        pod = templates.pod(named, "default", made_of, owner="", scheduler="", milli=milli)
        placed = {**pod, "spec": {**pod["spec"], "nodeName": node}}
        self._do(partial(self._store.create, "pods", placed, "users"))
        act = partial(delete, self._store, f"default/{named}", "users", grace=0.0)
        the_loop().call_later(most * chance.uniform(0.3, 1.0), self._do, act)

    def _apply(self, chance: Random, app: str, made_of: Json, replicas: int, milli: int) -> None:
        scheduler, lasts = self._setup.any_scheduler(chance), chance.uniform(0.5, 5.0)
        self._controllers.apply(
            Workload(
                app, "default", made_of, replicas, scheduler, milli,
                lasts=lasts, completions=2 * replicas,
            )
        )  # fmt: skip
