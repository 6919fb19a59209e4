"""A cluster in which the eviction controller acts, on a clock that a test moves."""

from __future__ import annotations

import json
from collections.abc import Callable

from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.model.labels import EVERYTHING
from extender.core.model.objects import Pod as ModelPod
from extender.core.ports import Occurrence
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.warm_up import WarmUp
from extender.core.wire.objects import PodReader
from extender.features.moving.eviction import EvictionController
from extender.features.moving.mover import EvictionLimits
from extender.features.moving.ports import Evicted, Eviction
from extender.features.moving.rules.execution import Execution
from extender.features.moving.turns import EvictionTurns
from tests.beside import COVERS_ALL, LIMITS, RULES
from tests.builders import HOST, Pod, model_node, node, node_term, pod, requirement
from tests.features.moving.booked import shared_over
from tests.leading import Leader
from tests.shown_objects import Objects

GRACE = 60.0
ROOM = {"pods": "10", "cpu": "4"}
EVERYWHERE = Execution(plain=EVERYTHING)
ON_SSD = pod("disk").requires_nodes(node_term(requirement("disk", "In", "ssd")))


class Mover:
    """Evicts pods as the API server would, and misbehaves on request."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.objects = Objects(state)
        self.evicted: list[str] = []
        self.tried: list[str] = []
        self.said: list[Occurrence] = []
        self.answer: Callable[[ModelPod], Eviction | Exception] = lambda _: Eviction(Evicted.DONE)
        self.lingers = False
        """Whether pods take their time to end."""

    async def evict(
        self, pod: ModelPod, *, version: str, dry_run: bool, may_go: Callable[[], bool]
    ) -> Eviction:
        assert version
        if not may_go():
            return Eviction(Evicted.NOT_SENT)
        self.tried.append(pod.uid)
        answer = self.answer(pod)
        if isinstance(answer, Exception):
            raise answer
        if answer.became is Evicted.DONE and not dry_run:
            self.evicted.append(pod.uid)
            if self.lingers:
                self.state.upsert_pod(pod.with_status(deleting=True))
            else:
                self.state.remove_pod(pod.key, pod.uid)
        return answer

    async def report(self, pod: ModelPod | None, occurrence: Occurrence) -> None:
        del pod
        self.said.append(occurrence)

    def notes(self, reason: str) -> list[str]:
        """Return what Events of a reason say."""
        return [each.note for each in self.said if each.reason == reason]


class Rig:
    """A controller, and all that it acts on."""

    def __init__(
        self,
        *,
        per_minute: int = 100,
        max_affected: float = 1.0,
        dry_run: bool = False,
        execution: Execution = EVERYWHERE,
    ) -> None:
        self.now = 1000.0
        self.state = ClusterState(scope=COVERS_ALL)
        self.mover, self.leader = Mover(self.state), Leader()
        self.registry = CollectorRegistry()
        self.reader = PodReader(node_selection=True, owners=True, requirements=True, rules=RULES)
        self.history = History()
        metrics, clock = Metrics(self.registry), lambda: self.now
        context = ControllerContext(
            self.state,
            (InterPodAffinity(), NodeSelectionPlugin(), *LIMITS),
            metrics,
            WarmUp(self.state, metrics),
            self.history,
            Clocks(clock, clock, lambda: 0.0),
        )
        shared = shared_over(self.state, execution, metrics, self.mover)
        self.watch = shared.books.watch
        self.turns = EvictionTurns.of(self.leader, shared.books, per_minute, clock, dry_run=dry_run)
        self.controller = EvictionController(
            context,
            shared,
            self.turns,
            execution=execution,
            limits=EvictionLimits(per_minute, GRACE, max_affected, dry_run),
            unready=lambda: None,
        )

    def node(self, name: str, **labels: str) -> None:
        """Add a node, or give it other labels."""
        self.state.upsert_node(model_node(node(name, {HOST: name} | labels, ROOM)))

    def place(
        self,
        raw: Pod,
        on: str,
        name: str = "",
        owner: str = "ReplicaSet/web",
        *,
        ready: bool = False,
    ) -> str:
        """Place a pod of a controller, or of none; return its uid."""
        metadata = raw["metadata"]
        name = name or metadata["name"]
        made = Pod({**raw, "metadata": {**metadata, "name": name, "uid": name}}).on(on)
        if owner:
            made = made.owned_by(owner)
        if ready:
            made = made.ready()
        self.put(made)
        return name

    def put(self, raw: Pod) -> None:
        self.state.upsert_pod(self.reader.read(json.dumps(raw).encode()))

    async def after(self, seconds: float) -> None:
        """Let time pass and the controller do what is due, step by step."""
        end = self.now + seconds
        while True:
            await self.controller.look()
            while await self.controller.process_next():
                pass
            if self.now >= end:
                return
            self.now = min(self.now + 0.5, end)

    def outcomes(self) -> dict[str, str]:
        """Return what becomes of each pod that breaks a rule."""
        found = self.controller.broken.records.values()
        return {each.identity.uid: each.outcome.value for each in found}

    def counted(self, result: str) -> float | None:
        labels = {"plugin": "RequiredDuringExecution", "result": result}
        return self.registry.get_sample_value("affinity_extender_evictions_total", labels)
