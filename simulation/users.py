"""What users and operators do to a cluster, hostile ones among them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.acting import Acting
from simulation.actions import Action
from simulation.annotating_users import AnnotatingUsers
from simulation.apiserver.store import Json, is_live
from simulation.apiserver.verbs import delete, evict
from simulation.caller import Caller
from simulation.gangs import GangUsers
from simulation.hinting_users import HintingUsers
from simulation.important import ImportantTenants
from simulation.loop import spawn
from simulation.plan import Setup
from simulation.tenants import Tenants
from simulation.themes import CONTENTION
from simulation.workloads import Controllers, Workload

MOST_AT_ONCE: Final = 30
"""Pods of a wave."""


class Users(Acting):
    """Carries out the actions of `themes.USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        super().__init__(caller, controllers, setup)
        self._nodes = 0
        crowded = setup.theme == CONTENTION
        self._wave_of = (200, 800) if crowded else (40, 240)
        """The fewest and the most pods of a wave."""
        self._shares = (0.5, 0.5, 0.7) if crowded else (0.75, 1.0, 1.0)
        """How many of the places are taken by a wave at once."""
        self._too_many = 0 if crowded else 1
        """Replicas that have no place."""
        self.acts = {
            "wave": self._wave,
            "new workload": self.new_workload,
            "scale": self._scale,
            "roll out": self._roll_out,
            "delete workload": self._delete_workload,
            "burst of pods": self._burst,
            "delete pods": self._delete_pods,
            "recreate by name": self._recreate,
            "place by hand": self._place_by_hand,
            "urgent pods": self._urgent,
            "relabel node": self._relabel_node,
            "relabel namespace": self._relabel_namespace,
            "cordon": self._cordon,
            "add node": lambda _: self.add_node(),
            "remove node": self._remove_node,
            "drain": self._drain,
            "consolidate": self._consolidate,
            **Tenants(caller, controllers, setup).acts,
            **ImportantTenants(caller, controllers, setup).acts,
            **GangUsers(caller, controllers, setup).acts,
            **AnnotatingUsers(caller, controllers, setup).acts,
            **HintingUsers(caller, controllers, setup).acts,
        }

    def act(self, action: Action) -> None:
        self.acts[action.what](Random(action.number))

    def add_node(self) -> None:
        self._nodes += 1
        zone = f"z{self._nodes % self._setup.zones}"
        node = templates.node(f"n{self._nodes:03d}", zone, self._setup.cpu, self._nodes)
        self._do(lambda: self._store.create("nodes", node, "users"))

    def new_workload(self, chance: Random) -> None:
        app = f"app{len(self._apps)}"
        made_of = templates.any_template(chance, app, self._apps)
        self._apps.append(app)
        self._apply(chance, app, made_of, chance.choice((1, 2, 3, 5, 8)))
        if chance.random() < 0.3:
            allowed = chance.randrange(2)
            self._do(
                lambda: self._store.create(
                    "poddisruptionbudgets", templates.budget(app, allowed), "users"
                )
            )

    def _places(self, made_of: Json) -> int:
        """Return how many pods have a place that are made alike."""
        nodes = len(self._store.all("nodes"))
        return {templates.HOST: nodes, templates.ZONE: self._setup.zones}.get(
            made_of.get("apart", ""), 3 * nodes
        )

    def _within_bounds(self, replicas: int, made_of: Json) -> int:
        """Return how many pods somebody may have more: hardly more than there is room for.

        Those without a place are tried again at each event, and nothing comes of it.
        """
        wanted = sum(each.replicas for each in self._controllers.workloads.values())
        room = 3 * len(self._store.all("nodes")) + 10 - wanted
        return max(min(replicas, room, self._places(made_of) + self._too_many), 1)

    def _apply(self, chance: Random, name: str, made_of: Json, replicas: int) -> None:
        kind = chance.random()
        self._controllers.apply(
            Workload(
                name=name,
                space=chance.choice(("default", "default", "other")),
                made_of=made_of,
                replicas=self._within_bounds(replicas, made_of),
                scheduler=self._setup.any_scheduler(chance),
                milli=chance.choice((100, 100, 500, 1000)),
                ordered=kind < 0.2,
                in_order=kind < 0.1,
                lasts=chance.uniform(1.0, 20.0) if kind > 0.8 else None,
            )
        )

    def _burst(self, chance: Random) -> None:
        """Create many pods that get in each other's way, at once."""
        app = f"app{len(self._apps)}"
        self._apps.append(app)
        sort = chance.choice(("apart by host", "apart by host", "apart by zone", "together"))
        made_of = templates.template(sort, app, app)
        self._apply(chance, app, made_of, chance.randint(2, self._places(made_of) + 3))

    def _wave(self, chance: Random) -> None:
        """Create jobs whose pods exclude each other, one after the other, where few have a place.

        Those without a place are tried again at each event, so that there are not always some.

        They may be of several apps, and of several schedulers.
        """
        group = f"app{len(self._apps)}"
        sort = chance.choice(("rivals by host", "rivals by host", "rivals by zone"))
        if self._setup.zones < 3:
            sort = "rivals by host"
        places = self._places(templates.template(sort, group, group))
        at_once = max(round(min(places, MOST_AT_ONCE) * chance.choice(self._shares)), 2)
        at_once += chance.choice((-1, 0, 1)) * self._too_many
        jobs = chance.randint(1, max(min(at_once // 2, 3), 1))
        for _ in range(jobs):
            app = f"app{len(self._apps)}"
            self._apps.append(app)
            self._controllers.apply(
                Workload(
                    name=app,
                    space="default",
                    made_of=templates.template(sort, app, group),
                    replicas=max(at_once // jobs, 1),
                    scheduler=self._setup.any_scheduler(chance),
                    milli=10,
                    lasts=chance.uniform(0.1, 2.0),
                    completions=chance.randint(*self._wave_of) // jobs,
                )
            )

    def _urgent(self, chance: Random) -> None:
        """Create pods that may drive out others."""
        app = f"app{len(self._apps)}"
        self._apps.append(app)
        sort = chance.choice(("plain", "apart by host", "away from another"))
        made_of = templates.template(sort, app, chance.choice(self._apps), 100)
        self._controllers.apply(
            Workload(
                app, "default", made_of, chance.randint(1, 4), "scheduler-1",
                1000 * self._setup.cpu // 2 + 100,
            )
        )  # fmt: skip

    def _scale(self, chance: Random) -> None:
        if (workload := self._any(chance)) is not None and workload.lasts is None:
            wanted = chance.choice((0, 1, 2, 3, 5, 8, 12))
            workload.replicas = self._within_bounds(wanted, workload.made_of) if wanted else 0
            self._controllers.wake(workload.name)

    def _roll_out(self, chance: Random) -> None:
        workload = self._any(chance)
        if workload is not None and workload.lasts is None:
            workload.revision += 1
            if chance.random() < 0.5:
                workload.made_of = templates.any_template(chance, workload.name, self._apps)
            self._controllers.wake(workload.name)

    def _delete_workload(self, chance: Random) -> None:
        if (workload := self._any(chance)) is not None:
            workload.replicas = 0
            self._controllers.wake(workload.name)

    def _delete_pods(self, chance: Random) -> None:
        for key in self._some_pods(chance, 5):
            grace = chance.choice((0.0, 1.0, 5.0))
            self._do(partial(delete, self._store, key, "users", grace=grace))

    def _recreate(self, chance: Random) -> None:
        """Delete pods and create others of the same names at once."""
        for key in self._some_pods(chance, 3):
            old = self._store.all("pods")[key]
            spec = {name: each for name, each in old["spec"].items() if name != "nodeName"}
            metadata = {name: each for name, each in old["metadata"].items() if name in _KEPT}

            def again(key: str = key, spec: Json = spec, metadata: Json = metadata) -> None:
                delete(self._store, key, "users", grace=0.0)
                fresh = {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
                self._store.create("pods", fresh, "users")

            self._do(again)

    def _place_by_hand(self, chance: Random) -> None:
        """Create a pod that has a node already, whatever the rules say."""
        app = chance.choice(self._apps or ["app0"])
        made_of = templates.any_template(chance, app, self._apps)
        pod = templates.pod(
            f"by-hand-{chance.randrange(1 << 20)}",
            "default",
            made_of,
            owner="",
            scheduler="",
            milli=10,
        )
        names = sorted(self._store.all("nodes"))
        if names:
            placed = {**pod, "spec": {**pod["spec"], "nodeName": chance.choice(names)}}
            self._do(lambda: self._store.create("pods", placed, "users"))

    def _relabel_node(self, chance: Random) -> None:
        zone = f"z{chance.randrange(self._setup.zones + 1)}"
        self._change_node(chance, lambda node: _labelled(node, {templates.ZONE: zone}))

    def _relabel_namespace(self, chance: Random) -> None:
        name, team = chance.choice(sorted(templates.NAMESPACES)), chance.choice(("blue", "green"))
        self._do(
            lambda: self._store.update(
                "namespaces", name, lambda each: _labelled(each, {"team": team}), "users"
            )
        )

    def _cordon(self, chance: Random) -> None:
        closed = chance.random() < 0.5
        self._change_node(
            chance, lambda node: {**node, "spec": {"unschedulable": True} if closed else {}}
        )

    def _change_node(self, chance: Random, change: Callable[[Json], Json]) -> None:
        names = sorted(self._store.all("nodes"))
        if names:
            name = chance.choice(names)
            self._do(lambda: self._store.update("nodes", name, change, "users"))

    def _remove_node(self, chance: Random) -> None:
        names = sorted(self._store.all("nodes"))
        if len(names) > 2:
            spawn(self._collect(chance.choice(names)), "users")

    async def _collect(self, node: str) -> None:
        await self._caller.try_to(lambda: self._store.remove("nodes", node, "users"))
        # The pod garbage collector is in no hurry; and pods may be bound there meanwhile.
        for _ in range(20):
            await asyncio.sleep(5.0)
            for key in self._on(node):
                await self._caller.try_to(partial(self._store.remove, "pods", key, "controllers"))

    def _drain(self, chance: Random) -> None:
        names = sorted(self._store.all("nodes"))
        if names:
            spawn(self._evict_all(chance.choice(names)), "users")

    def _consolidate(self, _: Random) -> None:
        """Have an autoscaler give up the node with the fewest pods, and add another later."""
        names = sorted(self._store.all("nodes"), key=lambda name: (len(self._on(name)), name))
        if len(names) > 2:
            spawn(self._give_up(names[0]), "users")

    async def _give_up(self, node: str) -> None:
        def close(spec: Json) -> Callable[[], object]:
            return lambda: self._store.update(
                "nodes", node, lambda each: {**each, "spec": spec}, "users"
            )

        await self._caller.try_to(close({"unschedulable": True}))
        for _ in range(3):
            await self._evict_all(node)
        if self._on(node):
            await self._caller.try_to(close({}))
            return
        await self._caller.try_to(lambda: self._store.remove("nodes", node, "users"))
        await asyncio.sleep(60.0)
        self.add_node()

    async def _evict_all(self, node: str) -> None:
        for _ in range(3):
            for key in self._on(node):
                await self._caller.try_to(partial(evict, self._store, key, "users", grace=2.0))
            await asyncio.sleep(2.0)

    def _some_pods(self, chance: Random, most: int) -> list[str]:
        live = sorted(key for key, pod in self._store.all("pods").items() if is_live(pod))
        return chance.sample(live, min(len(live), chance.randint(1, most)))


_KEPT = frozenset(("name", "namespace", "labels", "annotations", "ownerReferences"))


def _labelled(obj: Json, labels: dict[str, str]) -> Json:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "labels": {**metadata["labels"], **labels}}}
