"""Tenants who write rules in annotations, some broken, and edit those of running pods."""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import Final

from simulation import templates
from simulation.acting import Acting
from simulation.apiserver.store import Json
from simulation.caller import Caller
from simulation.invariants.annotated import EDITED
from simulation.movable import AFFINITY
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload

BY: Final = ("host", "zone")
MOST_PODS: Final = 3
"""For each node, in all."""


class AnnotatingUsers(Acting):
    """Carries out the actions of `annotating_plan.ANNOTATING_USERS`."""

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        super().__init__(caller, controllers, setup)
        self.acts = {
            "annotated workload": self._workload,
            "annotated jobs": self._jobs,
            "broken annotation": self._break,
            "edit annotations": self._edit,
        }

    def _workload(self, chance: Random) -> None:
        """Create pods that keep pods of their own or another app away, by annotation alone."""
        wanted = sum(each.replicas for each in self._controllers.workloads.values())
        if wanted > MOST_PODS * len(self._store.all("nodes")):
            return
        app = self._new_app()
        about = chance.choice((app, app, chance.choice(self._apps)))
        made_of = _by_annotation(chance.choice((templates.HOST, templates.ZONE)), app, about)
        if (kind := chance.random()) < 0.3:
            made_of = templates.template("plain", app, app)
        elif kind < 0.4:
            made_of = templates.template(f"at most two by {chance.choice(BY)}", app, about)
        elif kind < 0.5:
            made_of = templates.template("plain", app, app)
            term = {"topologyKey": templates.ZONE, "labelSelector": {"matchLabels": {"app": about}}}
            made_of["annotations"] = {AFFINITY: _said(term, "podAffinity")}
        self._apply(chance, app, made_of, chance.choice((1, 2, 3, 5)))

    def _jobs(self, chance: Random) -> None:
        """Create pods of two apps that come and go, and of which one keeps the other away."""
        one, other = self._new_app(), self._new_app()
        limiting = chance.random() < 0.4
        for app, made_of in (
            (one, _by_annotation(templates.HOST, one, other, most=1 if limiting else None)),
            (other, templates.template("plain", other, other)),
        ):
            lasts = chance.uniform(0.5, 3.0)
            self._apply(chance, app, made_of, 3, lasts=lasts, completions=chance.randint(10, 30))

    def _break(self, chance: Random) -> None:
        app = self._new_app()
        made_of = templates.template("plain", app, app)
        annotations = {AFFINITY: chance.choice(templates.BROKEN)}
        self._apply(chance, app, {**made_of, "annotations": annotations}, chance.randint(1, 2))

    def _edit(self, chance: Random) -> None:
        """Have running pods say that they keep everything away, or nothing."""
        placed = sorted(
            key for key, each in self._store.all("pods").items() if each["spec"].get("nodeName")
        )
        anything = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        term = {"topologyKey": templates.ZONE, "labelSelector": anything}
        said = chance.choice((_said(term), _said(term), "{}"))

        def edited(pod: Json) -> Json:
            if not pod["spec"].get("nodeName"):
                return pod
            metadata = pod["metadata"]
            notes = {**(metadata.get("annotations") or {}), AFFINITY: said, EDITED: "yes"}
            return {**pod, "metadata": {**metadata, "annotations": notes}}

        for key in chance.sample(placed, min(len(placed), chance.randint(1, 4))):
            self._do(partial(self._store.update, "pods", key, edited, "users"))

    def _new_app(self) -> str:
        app = f"annotated{len(self._apps)}"
        self._apps.append(app)
        return app

    def _apply(
        self,
        chance: Random,
        app: str,
        made_of: Json,
        replicas: int,
        *,
        lasts: float | None = None,
        completions: int | None = None,
    ) -> None:
        scheduler = self._setup.any_scheduler(chance)
        self._controllers.apply(
            Workload(
                app, "default", made_of, replicas, scheduler, 10,
                lasts=lasts, completions=completions,
            )
        )  # fmt: skip


def _by_annotation(key: str, app: str, about: str, *, most: int | None = None) -> Json:
    made_of = templates.template("plain", app, app)
    term: Json = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": about}}}
    if most is not None:
        term["maxMatchingPods"] = most
    return {**made_of, "annotations": {AFFINITY: _said(term)}}


def _said(term: Json, side: str = "podAntiAffinity") -> str:
    return json.dumps({side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
