"""Tenants whose running pods come to break rules, and operators who deal with that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.acting import Acting
from simulation.apiserver.store import Json, is_live
from simulation.caller import Caller
from simulation.loop import spawn
from simulation.movable import DISK, SSD, budget, movable
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload

LEASE: Final = "kube-system/affinity-extender"
ACKNOWLEDGED: Final = "affinity-extender.io/acknowledged-violations"
MOST_PODS: Final = 4
"""For each node, in all: with more, each second takes longer and shows nothing new."""
_RULING: Final = "namespace", "labels", "annotations"
"""The metadata on which rules depend."""


class EvictingUsers(Acting):
    """Carries out the actions of `evicting_plan.EVICTING_USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        super().__init__(caller, controllers, setup)
        self.acts = {
            "new disks": self._new_disks,
            "movable workload": self._workload,
            "bare movable pod": self._bare,
            "rival by hand": self._rival,
            "disks change": self._change_few,
            "disks change for a moment": self._flicker,
            "model changes": self._change_model,
            "most disks change": self._change_many,
            "budget changes": self._change_budget,
            "acknowledge": self._acknowledge,
        }

    # Workloads

    def _workload(self, chance: Random) -> None:
        """Create a workload of pods that may have to move; some have a budget."""
        wanted = sum(each.replicas for each in self._controllers.workloads.values())
        if wanted > MOST_PODS * len(self._store.all("nodes")):
            return
        app, made_of = self._made_of(chance)
        self._controllers.apply(
            Workload(
                name=app,
                space=chance.choice(("default", "default", "other")),
                made_of=made_of,
                replicas=chance.choice((1, 2, 2, 3, 5)),
                scheduler=self._setup.any_scheduler(chance),
                milli=chance.choice((100, 100, 1500)),
                ordered=chance.random() < 0.3,
            )
        )
        if chance.random() < 0.3:
            made = budget(app, chance.choice((0, 1, 1, 2)))
            self._do(partial(self._store.create, "poddisruptionbudgets", made, "users"))

    def _bare(self, chance: Random) -> None:
        """Create a pod that no controller would replace."""
        app, made_of = self._made_of(chance)
        scheduler = self._setup.any_scheduler(chance)
        pod = templates.pod(app, "default", made_of, owner="", scheduler=scheduler, milli=10)
        metadata = {
            name: each for name, each in pod["metadata"].items() if name != "ownerReferences"
        }
        self._do(partial(self._store.create, "pods", {**pod, "metadata": metadata}, "users"))

    def _rival(self, chance: Random) -> None:
        """Place a pod by hand where one like it is that it excludes: the younger one has to go."""
        rivals = [
            pod
            for _, pod in sorted(self._store.all("pods").items())
            if pod["spec"].get("nodeName")
            and is_live(pod)
            and "podAntiAffinity" in pod["spec"].get("affinity", {})
        ]
        if not rivals:
            return
        old, name = chance.choice(rivals), f"rival{chance.randrange(1 << 20)}"
        metadata = {
            **{each: old["metadata"][each] for each in _RULING if each in old["metadata"]},
            "name": name,
            "ownerReferences": [{"kind": "ReplicaSet", "name": name, "controller": True}],
        }
        pod = {"metadata": metadata, "spec": old["spec"], "status": {"phase": "Pending"}}
        self._do(partial(self._store.create, "pods", pod, "users"))

    def _made_of(self, chance: Random) -> tuple[str, Json]:
        app = f"movable{len(self._apps)}"
        made_of = movable(chance, app, self._apps)
        self._apps.append(app)
        return app, made_of

    # Labels

    def _new_disks(self, chance: Random) -> None:
        """Give most nodes the disk that pods ask for."""
        for name in sorted(self._store.all("nodes")):
            if chance.random() < 0.8:
                self._label(name, DISK, SSD)

    def _change_model(self, chance: Random) -> None:
        """Give a node another label that is a number, or none."""
        names = sorted(self._store.all("nodes"))
        if names:
            self._label(chance.choice(names), templates.MODEL, chance.choice(templates.MODELS))

    def _change_few(self, chance: Random) -> None:
        self._change(chance, chance.choice((1, 1, 2)))

    def _change_many(self, chance: Random) -> None:
        self._change(chance, chance.randint(2, 9))

    def _change(self, chance: Random, count: int) -> list[str]:
        """Take the label from some nodes, or give it back where it is missing."""
        names = sorted(self._store.all("nodes"))
        chosen = chance.sample(names, min(count, len(names)))
        for name in chosen:
            has = self._store.all("nodes")[name]["metadata"]["labels"].get(DISK) == SSD
            self._label(name, DISK, "hdd" if has else SSD)
        return chosen

    def _flicker(self, chance: Random) -> None:
        spawn(self._change_and_undo(chance), "users")

    async def _change_and_undo(self, chance: Random) -> None:
        """Change labels, and undo it while evictions may be under way."""
        before = {
            name: node["metadata"]["labels"].get(DISK, "hdd")
            for name, node in self._store.all("nodes").items()
        }
        for_seconds = chance.choice((0.2, 2.0, 6.0, 20.0)) * chance.uniform(0.5, 1.5)
        chosen = self._change(chance, 1)
        await asyncio.sleep(for_seconds)
        for name in chosen:
            self._label(name, DISK, before[name])

    def _label(self, name: str, key: str, value: str) -> None:
        """Set a label of a node; "" takes it away."""

        def change(node: Json) -> Json:
            labels: Mapping[str, str] = node["metadata"]["labels"]
            labelled = {name: each for name, each in {**labels, key: value}.items() if each}
            return {**node, "metadata": {**node["metadata"], "labels": labelled}}

        self._do(partial(self._store.update, "nodes", name, change, "users"))

    # Operators

    def _change_budget(self, chance: Random) -> None:
        """Let a budget allow more, or nothing."""
        known = sorted(self._store.all("poddisruptionbudgets"))
        unavailable = chance.choice((0, 1, 2))

        def change(found: Json) -> Json:
            return {**found, "spec": {**found["spec"], "maxUnavailable": unavailable}}

        if known:
            name = chance.choice(known)
            self._do(partial(self._store.update, "poddisruptionbudgets", name, change, "users"))

    def _acknowledge(self, chance: Random) -> None:
        """Say of so many affected pods that they are fine, or take that back."""
        number = str(chance.choice((0, 3, 10, 50)))

        def change(found: Json) -> Json:
            annotations = {**found["metadata"].get("annotations", {}), ACKNOWLEDGED: number}
            return {**found, "metadata": {**found["metadata"], "annotations": annotations}}

        self._do(partial(self._store.update, "leases", LEASE, change, "users"))
