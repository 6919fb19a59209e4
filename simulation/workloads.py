"""Those who create and end pods: workload controllers, and a kubelet for every node."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from simulation import templates
from simulation.apiserver.store import (
    Change,
    Json,
    Refused,
    Store,
    is_live,
    key_of,
    patched_status,
)
from simulation.apiserver.verbs import delete
from simulation.caller import Caller
from simulation.controlling import first_to_go, is_ready, next_of_set
from simulation.loop import spawn, the_loop

MAKERS: Final = "makers"
"""Whose code makes pods."""
KUBELETS: Final = "kubelets"
SETTLE_SECONDS: Final = 0.1
"""Between an event and what a controller does about it."""
AGAIN_SECONDS: Final = 2.0
READY: Final = {"type": "Ready", "status": "True"}


@dataclass(slots=True, eq=False)
class Workload:
    """A ReplicaSet, a StatefulSet (`ordered`), or a Job (`lasts`)."""

    name: str
    space: str
    made_of: Json
    replicas: int
    scheduler: str
    milli: int
    ordered: bool = False
    in_order: bool = False
    """Of a StatefulSet: OrderedReady, not Parallel."""
    lasts: float | None = None
    completions: int | None = None
    """How many pods of a job there are to be, `replicas` of them at a time; else as many."""
    rests: float = 0.0
    """Seconds until it does anything about what has become of its pods: some back off."""
    yields_to: Callable[[], int] | None = None
    """How many of its places others have for now; it does not come back for these."""
    revision: int = 0
    started: int = 0
    pods: dict[str, str] = field(default_factory=dict)
    """Key to revision of the pods that it has made and that have not gone."""

    @property
    def left(self) -> int:
        """Return how many pods may still be made; only jobs come to an end."""
        if self.lasts is None:
            return self.replicas + 1
        wanted = self.replicas if self.completions is None else self.completions
        return wanted - self.started

    @property
    def lacks(self) -> int:
        """Return how many pods there are to be, apart from those that there are."""
        taken = 0 if self.yields_to is None else self.yields_to()
        return self.replicas - taken - len(self.pods)

    def pod(self, name: str, **more: Any) -> Json:
        """Build one of its pods, made of `more` than the others if need be."""
        labels = {**self.made_of["labels"], templates.REVISION: str(self.revision)}
        return templates.pod(
            name,
            self.space,
            {**self.made_of, "labels": labels, **more},
            owner=self.name,
            scheduler=self.scheduler,
            milli=self.milli,
        )


class Controllers:
    """kube-controller-manager: keeps as many pods of each workload as there are to be."""

    def __init__(self, caller: Caller, chance: Random) -> None:
        self.workloads: dict[str, Workload] = {}
        self._caller = caller
        self._store: Store = caller.server.store
        self._chance = chance
        self._due: set[str] = set()
        self._busy: set[str] = set()
        self._owners: dict[str, str] = {}
        self._down = False
        self.refuses: Callable[[Workload], bool] = lambda _: False
        """Whether no pod of a workload can be made now."""
        self.adds: Callable[[], Json] = dict
        """What pods are made of that are made now, beside what their workload says."""
        self._store.observers.append(self._look)

    def apply(self, workload: Workload) -> None:
        self.workloads[workload.name] = workload
        self.wake(workload.name)

    def end_jobs(self) -> None:
        """Start no more pods of jobs."""
        for workload in self.workloads.values():
            if workload.lasts is not None:
                workload.completions = workload.started

    def restart(self, seconds: float) -> None:
        """Stop in the middle of whatever is being done, and begin a while later by what is stored.

        What it had asked for may still come.
        """
        the_loop().kill(MAKERS)
        self._busy.clear()
        self._down = True
        the_loop().call_later(seconds, self._begin)

    def _begin(self) -> None:
        self._down, there = False, self._store.all("pods")
        for name, workload in self.workloads.items():
            workload.pods = {key: made for key, made in workload.pods.items() if key in there}
            self.wake(name)

    def wake(self, name: str) -> None:
        """Look at a workload soon."""
        if name not in self._due and name in self.workloads:
            self._due.add(name)
            pause = SETTLE_SECONDS * self._chance.random() + self.workloads[name].rests
            asyncio.get_running_loop().call_later(pause, self._start, name)

    def _start(self, name: str) -> None:
        self._due.discard(name)
        if self._down:
            return
        if name in self._busy:
            self.wake(name)
        else:
            self._busy.add(name)
            spawn(self._work(self.workloads[name]), MAKERS)

    async def _work(self, workload: Workload) -> None:
        try:
            await self._reconcile(workload)
        finally:
            self._busy.discard(workload.name)

    def _look(self, change: Change) -> None:
        if change.resource != "pods":
            return
        name = self._owners.get(change.key)
        if name is None:
            return
        if change.new is None:
            self.workloads[name].pods.pop(change.key, None)
            self.wake(name)
        elif change.old is None:
            made = change.new["metadata"]["labels"][templates.REVISION]
            self.workloads[name].pods.setdefault(change.key, made)
        elif not is_live(change.new) or self._has_come_up(name, change):
            self.wake(name)

    def _has_come_up(self, name: str, change: Change) -> bool:
        """Return whether a pod is ready by now for which others of its StatefulSet wait."""
        old, new = change.old, change.new
        if not self.workloads[name].ordered or old is None or new is None:
            return False
        return is_ready(new) and not is_ready(old)

    async def _reconcile(self, workload: Workload) -> None:
        if workload.left <= 0:
            return
        old = [key for key, made in workload.pods.items() if made != str(workload.revision)]
        wanted = workload.replicas
        going = [key for key in workload.pods if self._is_going(key)]
        settled = True
        if workload.ordered:
            settled = await self._go_on(workload, set(old))
        elif (missing := workload.lacks + bool(old) + len(going)) > 0:
            # One that is rolled out goes on with the next.
            settled = await self._create_many(workload, missing) and not old
        elif old and (first := next((key for key in old if key not in going), None)):
            settled = await self._delete(first)
        more = len(workload.pods) - len(going) - wanted - bool(old)
        if more > 0 and not workload.ordered:
            pods = self._store.all("pods")
            spare = first_to_go(
                [pods[key] for key in workload.pods if key not in going], self._chance
            )
            for pod in spare[:more]:
                settled = await self._delete(key_of(pod))
            self.wake(workload.name)
        self._look_again(workload, settled=settled)

    async def _go_on(self, workload: Workload, old: set[str]) -> bool:
        """Do what the controller of a StatefulSet does next; return whether that succeeded."""
        pods = self._store.all("pods")
        there = {_ordinal(key): pods[key] for key in workload.pods if key in pods}
        outdated = {_ordinal(key) for key in old}
        gone, made = next_of_set(there, outdated, workload.replicas, in_order=workload.in_order)
        settled = True
        for each in gone:
            settled &= await self._delete(f"{workload.space}/{workload.name}-{each}")
        beyond = sum(_ordinal(key) >= workload.replicas for key in workload.pods)
        for _ in range(min(len(made), workload.lacks + beyond)):
            settled &= await self._create(workload)
        return settled

    def _look_again(self, workload: Workload, *, settled: bool) -> None:
        loop = asyncio.get_running_loop()
        if workload.yields_to is not None and len(workload.pods) < workload.replicas:
            # Nobody tells it when others give up the places that are its own.
            loop.call_later(SETTLE_SECONDS, self.wake, workload.name)
        elif not settled:
            loop.call_later(AGAIN_SECONDS, self.wake, workload.name)

    def _is_going(self, key: str) -> bool:
        pod = self._store.all("pods").get(key)
        return pod is None or "deletionTimestamp" in pod["metadata"] or not is_live(pod)

    async def _create(self, workload: Workload) -> bool:
        if self.refuses(workload):
            return False
        if workload.ordered:
            ordinals = [f"{workload.name}-{n}" for n in range(workload.replicas)]
            free = (each for each in ordinals if f"{workload.space}/{each}" not in workload.pods)
            if (name := next(free, "")) == "":
                return True  # Scaled down while it was busy: none is missing any more.
        else:
            name = f"{workload.name}-{workload.revision}-{workload.started}"
        workload.started += 1
        key = f"{workload.space}/{name}"
        pod = workload.pod(name, **self.adds())
        workload.pods[key] = str(workload.revision)
        self._owners[key] = workload.name
        if not await self._caller.try_to(lambda: self._store.create("pods", pod, "controllers")):
            if key not in self._store.all("pods"):
                workload.pods.pop(key, None)
            return False
        return True

    async def _create_many(self, workload: Workload, missing: int) -> bool:
        """Create pods in batches, each twice as large as the last, until one is refused.

        So do those of ReplicaSets and Jobs (slowStartBatch).
        """
        left, batch = min(missing, workload.left), 1
        while left > 0:
            pods = (self._create(workload) for _ in range(min(batch, left)))
            if not all(await asyncio.gather(*pods)):
                return False
            left, batch = left - batch, 2 * batch
        return True

    async def _delete(self, key: str) -> bool:
        grace = self._chance.choice((0.5, 2.0, 5.0))
        return await self._caller.try_to(
            lambda: delete(self._store, key, "controllers", grace=grace)
        )


def _ordinal(key: str) -> int:
    return int(key.rpartition("-")[2])


class Kubelets:
    """Runs pods that are bound, ends those that are deleted, and finishes those of jobs."""

    def __init__(self, caller: Caller, controllers: Controllers, chance: Random) -> None:
        self._caller = caller
        self._store = caller.server.store
        self._controllers = controllers
        self._chance = chance
        self.start: Callable[[Json], Awaitable[None]] | None = None
        """Returns once the containers of a pod run; None where they do at once."""
        self._store.observers.append(self._look)

    def _look(self, change: Change) -> None:
        new = change.new
        if change.resource != "pods" or new is None or not new["spec"].get("nodeName"):
            return
        if not is_live(new):
            spawn(self._end(change.key, new["metadata"]["uid"], 5.0), KUBELETS)
        elif "deletionTimestamp" in new["metadata"]:
            if change.old is None or "deletionTimestamp" not in change.old["metadata"]:
                grace = float(new["metadata"]["deletionGracePeriodSeconds"])
                spawn(self._end(change.key, new["metadata"]["uid"], grace), KUBELETS)
        elif change.old is None or not change.old["spec"].get("nodeName"):
            spawn(self._run(change.key, new), KUBELETS)

    def restart(self) -> None:
        """Begin anew by what is stored: other pods are none of theirs."""
        the_loop().kill(KUBELETS)
        for key, pod in sorted(self._store.all("pods").items()):
            self._look(Change(self._store.version, "pods", key, None, pod, ""))

    async def _run(self, key: str, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        await asyncio.sleep(self._chance.uniform(0.05, 1.0))
        if self.start is not None:
            await self.start(pod)
        await self._set_phase(key, uid, "Running", READY)
        owner = pod["metadata"].get("ownerReferences", [{}])[0].get("name", "")
        workload = self._controllers.workloads.get(owner)
        if workload is not None and workload.lasts is not None:
            await asyncio.sleep(workload.lasts * self._chance.uniform(0.5, 1.5))
            await self._set_phase(key, uid, "Succeeded")

    async def _set_phase(self, key: str, uid: str, phase: str, *more: Json) -> None:
        def change(pod: Json) -> Json:
            if not is_live(pod):
                return pod
            conditions = [*pod["status"].get("conditions", ())]
            conditions += [each for each in more if each not in conditions]
            return patched_status(pod, phase=phase, conditions=conditions or None)

        await self._surely(lambda: self._store.update("pods", key, change, "kubelet", uid=uid))

    async def _end(self, key: str, uid: str, grace: float) -> None:
        await asyncio.sleep(self._chance.uniform(0.05, max(grace, 0.1)))
        await self._surely(lambda: self._store.remove("pods", key, "kubelet", uid=uid))

    async def _surely(self, act: Callable[[], object]) -> None:
        """Have something done, however long that takes: a kubelet never gives up."""
        with suppress(Refused):
            await self._caller.server.commit(act)
