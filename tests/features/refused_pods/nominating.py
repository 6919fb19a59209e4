"""A cluster in which the nomination controller acts, on a clock that stands still."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.metrics import Metrics
from extender.core.model.objects import Pod as ModelPod
from extender.core.model.verdict import Reason
from extender.core.warm_up import WarmUp
from extender.features.refused_pods.hints import HintController, HintLimits
from extender.features.refused_pods.part import Helping
from extender.features.refused_pods.refusals import SETTLING_SECONDS, WHOLE_SEARCH
from tests.builders import HOST, Pod, model_pod, node, pod, selector, state_of, term
from tests.verbs.judging import AFFINITY

ROOM = {"cpu": "4", "pods": "110"}


NODES = [node(name, {HOST: name}, ROOM) for name in ("a", "b")]


PATIENCE = 5.0


WAIT = 5.0


RESULTS = (
    "set",
    "renewed",
    "taken",
    "elsewhere",
    "gone",
    "refused",
    "withdrawn",
    "preempted",
    "woken",
    "failed",
    "skipped",
)


def loner(name: str) -> Pod:
    """Build a pod that wants a node without others of its kind."""
    return pod(name).labels(app="web").anti_affinity(term(HOST, selector(app="web")))


ONE, TWO, THREE = loner("one"), loner("two"), loner("three")


class Nominator:
    """Takes nominations, and shows them to the state as a watch would."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.made: list[tuple[str, str | None, str | None]] = []
        self.woken: list[str] = []
        self.done = True
        self.error: Exception | None = None
        self.shown = True
        self.gate: asyncio.Event | None = None
        self.arrived = asyncio.Event()

    async def nominate(self, pod: ModelPod, before: str | None, node: str | None) -> bool:
        self.made.append((pod.key.removeprefix("default/"), before, node))
        self.arrived.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        known = self.state.pods.get(pod.key)
        if not self.done or known is None or known.status.nominated != before:
            return False
        if self.shown:
            show(self.state, pod.key.removeprefix("default/"), node)
        return True

    async def wake(self, pod: ModelPod) -> bool:
        self.woken.append(pod.key.removeprefix("default/"))
        if self.error is not None:
            raise self.error
        return self.state.pod(pod.key, pod.uid) is not None


def show(state: ClusterState, name: str, nominated: str | None) -> None:
    """Show a waiting pod with its nomination."""
    raw = loner(name) if nominated is None else loner(name).nominated(nominated)
    state.upsert_pod(model_pod(raw))


class NominationRig:
    """Two nodes; pods that want one each; everything happens when a test says so."""

    def __init__(self, *pods: Pod, per_second: float = 100, most: int = 10) -> None:
        self.now, self.chance = 100.0, 0.0
        self.state = state_of(NODES, [], pods)
        self.api = Nominator(self.state)
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, "test")
        self.history = History()
        context = ControllerContext(
            self.state,
            AFFINITY,
            self.metrics,
            WarmUp(self.state, self.metrics),
            self.history,
            Clocks(lambda: self.now, lambda: self.now, lambda: self.chance),
        )
        limits = HintLimits(per_second, most, PATIENCE)
        self.controller = HintController(
            context, Helping.metrics(self.metrics.make).hints, self.api, limits
        )

    def refuse(self, raw: Pod, asked: int = WHOLE_SEARCH) -> None:
        names = [f"asked-{number}" for number in range(asked)]
        refused = [(Reason.ANTI_AFFINITY, names)]
        self.controller.refused(model_pod(raw), refused)

    async def pass_time(self, seconds: float = SETTLING_SECONDS) -> None:
        """Let time pass, and do what is due."""
        self.now += seconds
        while await self.controller.process_next():
            pass

    async def tick(self) -> None:
        await self.pass_time(LOOK_SECONDS)

    def counts(self) -> dict[str, int]:
        found = {
            result: self.registry.get_sample_value(
                "affinity_extender_hints_total", {"result": result}
            )
            for result in RESULTS
        }
        return {result: int(count) for result, count in found.items() if count}
