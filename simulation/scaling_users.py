"""Tenants whose pods keep apart and are scaled down, some with costs of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.acting import Acting
from simulation.apiserver.patches import COST
from simulation.apiserver.store import Json, is_live
from simulation.caller import Caller
from simulation.invariants.costs import GIVEN
from simulation.movable import AFFINITY
from simulation.plan import Setup
from simulation.preferring import PREFERRED, REQUIRED
from simulation.workloads import Controllers, Workload

MOST_PODS: Final = 4
"""For each node, in all."""
KINDS: Final = (
    *["ReplicaSet"] * 12,
    *["ReplicationController"] * 2,
    *["StatefulSet"] * 2,
    *["CloneSet", "Job", "DaemonSet", ""],
)
"""Of owners; some have pods whose costs nothing looks at."""


class ScalingUsers(Acting):
    """Carries out the actions of `scaling_plan.SCALING_USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        super().__init__(caller, controllers, setup)
        self.acts = {
            "spread workload": self._workload,
            "edit a cost": self._edit,
            "take costs away": self._take_away,
            "forge a cost": self._forge,
            "roll out once more": self._roll_out,
        }

    def _workload(self, chance: Random) -> None:
        wanted = sum(each.replicas for each in self._controllers.workloads.values())
        if wanted > MOST_PODS * len(self._store.all("nodes")):
            return
        app, kind = f"spread{len(self._apps)}", chance.choice(KINDS)
        made_of = {**_spread(chance, app, self._apps), "kind": kind}
        self._apps.append(app)
        self._controllers.apply(
            Workload(
                name=app,
                space=chance.choice(("default", "default", "other")),
                made_of=made_of,
                replicas=chance.choice((2, 3, 4, 6, 8, 12)),
                scheduler=self._setup.any_scheduler(chance),
                milli=100,
                ordered=kind == "StatefulSet",
                in_order=chance.random() < 0.5,
                lasts=chance.uniform(5.0, 40.0) if kind == "Job" else None,
            )
        )

    def _edit(self, chance: Random) -> None:
        """Set a cost, with or without the mark beside it, or take the mark away."""
        own = str(chance.choice((-5000, -1001, -1, 0, 1, 7, 2147483647)))
        change = chance.choice(({COST: own}, {COST: own}, {COST: own, GIVEN: None}, {GIVEN: None}))
        for key in self._some(chance, 4):
            self._annotate(key, change)

    def _forge(self, chance: Random) -> None:
        own = str(chance.choice((-1, 5, 1000)))
        for key in self._some(chance, 3):
            self._annotate(key, {COST: own, GIVEN: own})

    def _take_away(self, chance: Random) -> None:
        if (workload := self._any(chance)) is not None:
            for key in sorted(workload.pods):
                self._annotate(key, {COST: None, GIVEN: None})

    def _roll_out(self, chance: Random) -> None:
        """Make all pods of a workload anew, as they were."""
        if (workload := self._any(chance)) is not None:
            workload.revision += 1
            self._controllers.wake(workload.name)

    def _some(self, chance: Random, most: int) -> list[str]:
        """Return some pods, sooner those that are about to be bound."""
        pods = sorted(key for key, each in self._store.all("pods").items() if is_live(each))
        waiting = [key for key in pods if not self._store.all("pods")[key]["spec"].get("nodeName")]
        among = waiting if waiting and chance.random() < 0.7 else pods
        return chance.sample(among, min(len(among), chance.randint(1, most)))

    def _annotate(self, key: str, change: Mapping[str, str | None]) -> None:
        def annotated(pod: Json) -> Json:
            metadata = pod["metadata"]
            found = {**(metadata.get("annotations") or {}), **change}
            kept = {name: each for name, each in found.items() if each is not None}
            return {**pod, "metadata": {**metadata, "annotations": kept}}

        self._do(partial(self._store.update, "pods", key, annotated, "users"))


def _spread(chance: Random, app: str, apps: list[str]) -> Json:
    """Build what the pods of a workload are made of; in some, no rule is about themselves."""
    own = {"matchLabels": {"app": app}}
    zone, host = templates.ZONE, templates.HOST
    by_zone, by_host = _wish(100, zone, own), _wish(50, host, own)
    rule = {"topologyKey": host, "labelSelector": own}
    other = {"matchLabels": {"app": chance.choice(apps or ["none"])}}
    sorts: tuple[Json, ...] = (
        {PREFERRED: [by_zone, by_host]},
        {PREFERRED: [by_host, by_zone]},
        {PREFERRED: [by_zone]},
        {PREFERRED: [by_host]},
        {PREFERRED: [by_zone], REQUIRED: [rule]},
        {REQUIRED: [rule]},
        {REQUIRED: [{**rule, "topologyKey": zone}]},
        {PREFERRED: [_wish(100, templates.RACK, own), by_host]},
        {PREFERRED: [by_zone, _wish(20, templates.RACK, own)]},
        {PREFERRED: [_wish(100, zone, other)]},
        {},
    )
    anti = chance.choice(sorts)
    apart = anti[REQUIRED][0]["topologyKey"] if REQUIRED in anti else ""
    affinity = {"podAntiAffinity": anti} if anti else {}
    annotations: Json = {}
    if PREFERRED in anti and REQUIRED not in anti and chance.random() < 0.15:
        annotations, affinity = {AFFINITY: json.dumps(affinity)}, {}
    if chance.random() < 0.1:
        annotations = {**annotations, COST: str(chance.choice((-1, 5)))}
    return {
        "labels": {"app": app},
        "annotations": annotations,
        "affinity": affinity,
        "priority": 0,
        "apart": apart,
        "grace": chance.choice((0, 1, 3, 3, 30)),
    }


def _wish(weight: int, key: str, selector: Json) -> Json:
    return {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": selector}}
