"""A cluster in which both who evict are at work, on a clock that a test moves.

Controllers make successors and kubelets start them, unless a test says otherwise, and the process
may be restarted: what it knows of moves is in the annotations of its Lease.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.model.objects import Pod as ModelPod
from extender.core.ports import LeaseNotes
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.nominating import Chooser
from extender.core.warm_up import WarmUp
from extender.core.wire.objects import PodReader, read_budget
from extender.features.moving.askers import Askers
from extender.features.moving.eviction import EvictionController
from extender.features.moving.mover import EvictionLimits
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.repair import RepairController
from extender.features.moving.repair_mover import RepairLimits
from extender.features.moving.rules.improving import steered
from extender.features.moving.stopping import Stopping
from extender.features.moving.turns import EvictionTurns, Notes
from tests.beside import RULES
from tests.builders import (
    HOST,
    ZONE,
    Pod,
    budget,
    model_node,
    node,
    node_term,
    pod,
    requirement,
    selector,
    term,
)
from tests.features.moving.booked import shared_over
from tests.features.moving.evicting import EVERYWHERE, Mover
from tests.leading import Leader

PLUGINS = (InterPodAffinity(), NodeSelectionPlugin())
GRACE = SETTLE = 5.0
REST = 10.0
ROOM = {"pods": "400", "cpu": "400"}


class Renewing(Leader):
    """Leads, and keeps what is written with each confirmation of the lead."""

    notes: LeaseNotes
    annotations: Mapping[str, str]

    def __init__(self) -> None:
        super().__init__()
        self.annotations = {}

    def keep(self, notes: LeaseNotes) -> None:
        self.notes = notes

    def renew(self) -> None:
        written = self.notes.written(self.annotations, leads=True)
        self.annotations = {**self.annotations, **written}

    async def confirm(self) -> bool:
        self.renew()
        return await super().confirm()


@dataclass(eq=False)
class App:
    """A ReplicaSet: how many pods it is to have, and what they are like."""

    name: str
    space: str
    replicas: int
    template: Pod
    makes: bool = True
    """Whether it can make pods: no webhook is down, no quota is used up."""
    starts: Callable[[str], float | None] = lambda _: 1.0
    """Seconds until a pod is ready on a node; None: never."""
    pods: dict[str, float] = field(default_factory=dict)
    """Since when each is ready, by uid; more than now for later."""


class Cluster:
    """Three zones; pods with disks are to be on nodes with disks, and apps prefer to be spread."""

    def __init__(
        self,
        *,
        per_minute: int = 100,
        share: float = 1.0,
        required: bool = True,
        preferred: bool = True,
        hosts: int = 2,
        dry_runs: tuple[bool, bool] = (False, False),
    ) -> None:
        self.now = 100_000.0
        self.state = ClusterState()
        self.mover, self.leader = Mover(self.state), Renewing()
        self.mover.answer = self._evict
        self.apps: dict[str, App] = {}
        self.reader = PodReader(node_selection=True, owners=True, requirements=True, rules=RULES)
        self.numbers = count()
        self.moved: list[tuple[float, ModelPod]] = []
        self.checks: list[Callable[[ModelPod], None]] = []
        """Asked about each pod that is evicted, right before it goes."""
        self.owner_uid = ""
        """Of the controllers of apps that are created, if it is not for the builder to say."""
        self.settings = per_minute, share, required, preferred, dry_runs
        for zone in "abc":
            for number in range(hosts):
                self.node(f"{zone}{number}", disk="ssd")
        self.start()

    # The process

    def start(self) -> None:
        """Start the process, which knows of earlier moves what the Lease tells."""
        per_minute, share, required, preferred, dry_runs = self.settings
        self.registry, self.history = CollectorRegistry(), History()
        clock = self._clock
        context = ControllerContext(
            self.state,
            PLUGINS,
            metrics := Metrics(self.registry),
            WarmUp(self.state, metrics),
            self.history,
            Clocks(clock, clock, lambda: 0.0, self._sleep),
        )
        self.state.ledgers = ()
        shared = shared_over(self.state, EVERYWHERE, metrics, self.mover)
        live, dry = (
            EvictionTurns.of(self.leader, shared.books, per_minute, clock, dry_run=each)
            for each in (False, True)
        )
        self.turns, self.askers = live, Askers(clock)
        self.askers.note("default-scheduler")
        notes = Notes(live, self.askers)
        self.leader.keep(notes)
        notes.learn(self.leader.annotations, leads=True)
        self.eviction = self.repair = None
        self.stopping = Stopping(context, shared, live)
        limits = EvictionLimits(per_minute, GRACE, share, dry_runs[0])
        if required:
            self.eviction = EvictionController(
                context,
                shared,
                dry if dry_runs[0] else live,
                execution=EVERYWHERE,
                limits=limits,
                unready=lambda: None,
            )
        if preferred:
            self.repair = RepairController(
                context,
                shared,
                dry if dry_runs[1] else live,
                limits=RepairLimits(1, SETTLE, REST),
                eviction=EvictionLimits(per_minute, GRACE, share, dry_runs[1]),
                asks=self.askers.asks,
                holds=(lambda _: False) if self.eviction is None else self.eviction.holds,
                unready=lambda: None,
            )

    def _clock(self) -> float:
        return self.now

    async def _sleep(self, seconds: float) -> None:
        """Let no time pass: `after` does."""

    # The cluster

    def node(self, name: str, **labels: str) -> None:
        """Add a node, or give it other labels."""
        own = {HOST: name, ZONE: name[0], **labels}
        self.state.upsert_node(model_node(node(name, own, ROOM)))

    def app(
        self,
        name: str,
        on: list[str],
        *,
        space: str = "default",
        disks: bool = True,
        avoids: str | None = None,
        **more: Any,
    ) -> App:
        """Create an app whose pods run somewhere by now, and avoid each other or another app."""
        template = pod(name, space).labels(app=name).owned_by(f"ReplicaSet/{name}")
        if self.owner_uid:
            template["metadata"]["ownerReferences"][0]["uid"] = self.owner_uid
        template = template.avoids(100, term(ZONE, selector(app=avoids or name)))
        if disks:
            template = template.requires_nodes(node_term(requirement("disk", "In", "ssd")))
        app = self.apps[name] = App(name, space, len(on), template, **more)
        for each in on:
            self._run(app, self._create(app), each, self.now)
        return app

    def budget(self, app: App) -> None:
        raw = budget(app.name, selector(app=app.name), 1)
        self.state.upsert_budget(read_budget(json.dumps(raw).encode()))

    def _create(self, app: App) -> str:
        name = f"{app.name}-{next(self.numbers)}"
        app.pods[name] = float("inf")
        self._show(app, name)
        return name

    def _show(self, app: App, name: str, on: str = "", *, ready: bool = False) -> None:
        raw = app.template.uid(name)
        raw["metadata"]["name"] = name
        if on:
            raw = raw.on(on).ready(yes=ready)
        self.state.upsert_pod(self.reader.read(json.dumps(raw).encode()))

    def _run(self, app: App, name: str, on: str, ready_at: float) -> None:
        app.pods[name] = ready_at
        self._show(app, name, on, ready=ready_at <= self.now)

    def _evict(self, gone: ModelPod) -> Eviction:
        for check in self.checks:
            check(gone)
        self.moved.append((self.now, gone))
        return Eviction(Evicted.DONE)

    def delete(self, name: str) -> None:
        """Take a pod away, as an autoscaler does."""
        gone = next(each for each in self.state.pods.values() if each.uid == name)
        self.state.remove_pod(gone.key, gone.uid)

    # Time

    async def after(self, seconds: float) -> None:
        """Let time pass, a second at a time."""
        end = self.now + seconds
        while self.now < end:
            await self.step()

    async def step(self) -> None:
        """Let controllers and kubelets do what is due, and a second pass."""
        if self.eviction is not None:
            await self.eviction.look()
            while await self.eviction.process_next():
                pass
        if self.repair is not None:
            await self.repair.round()
        await self.stopping.look()
        if int(self.now) % 2 == 0:
            self.leader.renew()
        self.now += 1.0
        known = {each.uid: each for each in self.state.pods.values()}
        for app in self.apps.values():
            for name in [each for each in app.pods if each not in known]:
                del app.pods[name]
            for name, ready_at in app.pods.items():
                seen = known[name]
                if seen.node is not None and seen.status.ready is not (ready_at <= self.now):
                    self._show(app, name, seen.node, ready=ready_at <= self.now)
            if app.makes and len(app.pods) < app.replicas:
                self._schedule(app, self._create(app))

    def _schedule(self, app: App, name: str) -> None:
        """Place a pod as a scheduler does, by the scores that it is given."""
        made = next(each for each in self.state.waiting_pods if each.uid == name)
        takers = list(Chooser(self.state, PLUGINS).takers(made))
        scored = steered(self.state, made, self.state.nodes.asked(takers), 20)
        points = zip(scored.names, scored.raw, strict=True)
        best = {each: scored.final[raw] for each, raw in points}
        chosen = max(takers, key=lambda each: best.get(each, 0), default="")
        if chosen:
            after = app.starts(chosen)
            self._run(app, name, chosen, float("inf") if after is None else self.now + after)

    # What is to be seen

    def ready(self, app: App) -> int:
        """Return how many pods of an app are ready."""
        known = {each.uid for each in self.state.pods.values()}
        return sum(at <= self.now and name in known for name, at in app.pods.items())

    def of(self, app: App) -> int:
        """Return how many pods of an app were moved."""
        return sum(each.pod_class.labels["app"] == app.name for _, each in self.moved)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"affinity_extender_{name}", labels)
