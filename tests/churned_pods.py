"""Pods that are all different, and everything that is done about each of them while it lives."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import msgspec

from bench.binding import binds, success
from bench.refusing import helpers
from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.preempting import Preemptions
from extender.core.cluster.view import MOST_MATCHING_SETS
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.model.disruption import preemptor_in
from extender.core.model.objects import Pod, SeenPod
from extender.core.ports import Occurrence
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.interaction import interact
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import Plugins
from extender.core.warm_up import WarmUp
from extender.core.wire.objects import NodeReader, PodReader, read_namespace
from tests.answering import Answering, requests_of
from tests.beside import COVERS_ALL, RULES
from tests.builders import empty_state, every_facet
from tests.churned_manifests import HOST, ZONE, Manifests, Sizes
from tests.features.every import usual_plugins
from tests.shown_objects import Objects

NODES = 20
ALIVE = 60
"""Placed pods at a time."""
LOOKS = 20
"""Of each controller at what it has to do while a refused pod lives."""
PER_NODE = 250
"""Pods after which one node is replaced by another, and another changes its zone."""


class _Answer(msgspec.Struct):
    NodeNames: list[str]


_FITS = msgspec.json.Decoder(_Answer)


class Clock:
    """Tells the time: a millisecond passes whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class Churn:
    """An extender in this process, without its sockets, and pods that come and go."""

    def __init__(
        self, sizes: Sizes, *, most_matching_sets: int = MOST_MATCHING_SETS, seed: int = 1
    ) -> None:
        self._chance = random.Random(seed)
        self._numbers = count()
        self._placed: deque[tuple[str, str]] = deque()
        self._pods = PodReader(facets=every_facet(), rules=RULES, node_selection=True)
        self._nodes = NodeReader()
        self.state = empty_state(most_matching_sets=most_matching_sets, scope=COVERS_ALL)
        self.outcomes = {"placed": 0, "refused": 0}
        self.evicted = 0
        metrics = Metrics()
        in_flight = InFlightPods(partial(interact, self.state), hold=0)
        nodes = NodeSelectionPlugin()
        plugins: Plugins = (InterPodAffinity(), *usual_plugins())
        self.clock = clock = Clock()
        context = ControllerContext(
            self.state,
            plugins,
            metrics,
            WarmUp(self.state, metrics),
            History(),
            Clocks(clock, clock, self._chance.random, lambda _: asyncio.sleep(0)),
        )
        self.nomination, self.preemption = helpers(context, self)
        self.preemptions = Preemptions(
            requests_of(self.state, metrics, pods=self._pods),
            plugins,
            may_be_empty=False,
            clock=clock,
            release_nomination=self.nomination.release_nomination,
            preemption=self.preemption,
        )
        self.answers = Answering(
            self.state,
            metrics,
            plugins,
            scoring=(InterPodAffinity(), nodes),
            in_flight=in_flight,
            pods=self._pods,
            helpers=(self.nomination, self.preemption),
            held=self.preemptions.held,
            defer=lambda work: work(),
        )
        requests = requests_of(self.state, metrics)
        self.binds = binds(requests, plugins, in_flight, clock, self)
        self._names = [f"node-{number}" for number in range(NODES)]
        self._manifests = Manifests(sizes, self._names[0])
        for name in self._names:
            self._learn(name, 0)

    # As the API server

    @property
    def objects(self) -> Objects:
        """Have what was shown."""
        return Objects(self.state)

    async def bind(self, pod: Pod, node: str, within: float) -> Any:
        """Bind whatever is asked for."""
        del pod, node, within
        return success()

    async def read(self, key: str) -> SeenPod | None:
        """Know no pod that the watch has not shown."""
        del key
        return None

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        """Accept every nomination, and show it."""
        known = self.state.pod(pod.key, pod.uid)
        if known is None or known.status.nominated != before:
            return False
        self.state.upsert_pod(known.with_status(nominated=node))
        return True

    async def wake(self, pod: Pod) -> bool:
        """Know whether a pod is there."""
        return self.state.pod(pod.key, pod.uid) is not None

    async def mark(self, victim: Pod, message: str) -> bool:
        """Set the condition, and show it."""
        known = self.state.pod(victim.key, victim.uid)
        if known is not None:
            self.state.upsert_pod(known.with_status(victim_of=preemptor_in(message)))
        return known is not None

    async def delete(
        self, victim: Pod, *, dry_run: bool = False, may_go: Callable[[], bool] = lambda: True
    ) -> bool:
        """Delete a pod at once."""
        del may_go
        if self.state.pod(victim.key, victim.uid) is None:
            return False
        if not dry_run:
            self.evicted += 1
            self.state.remove_pod(victim.key, victim.uid)
        return True

    async def tell(self, victim: Pod, preemptor: Pod, note: str) -> None: ...

    async def report(self, pod: Pod | None, occurrence: Occurrence) -> None: ...

    # As the scheduler and the watch

    async def run(self, pods: int) -> None:
        """Let so many pods live, and all but the last few die."""
        for _ in range(pods):
            await self._live(next(self._numbers))

    def clear(self) -> None:
        """Let those that still live die."""
        while self._placed:
            self.state.remove_pod(*self._placed.popleft())

    async def _live(self, number: int) -> None:
        uid, key, body = self._manifests.describe(number)
        self.state.upsert_pod(self._pods.read(body))
        fits = await self._ask(body)
        if fits:
            await self._place(number, uid, key, body, self._chance.choice(fits))
        else:
            await self._give_up(uid, key, body)
        if len(self._placed) > ALIVE:
            self.state.remove_pod(*self._placed.popleft())
        if number % PER_NODE == 0:
            self._change_nodes(number)

    async def _ask(self, body: bytes) -> list[str]:
        call = b'{"Pod":%s,"Nodes":null,"NodeNames":%s}'
        names = msgspec.json.encode(self._names)
        answer = _FITS.decode(await self.answers.filter(call % (body, names)))
        if answer.NodeNames:
            asked = msgspec.json.encode(answer.NodeNames)
            await self.answers.prioritize(call % (body, asked))
        return answer.NodeNames

    async def _place(self, number: int, uid: str, key: str, body: bytes, node: str) -> None:
        namespace, _, name = key.partition("/")
        args = {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node}
        await self.binds.answer(msgspec.json.encode(args))
        placed = body.replace(b'"spec":{', b'"spec":{"nodeName":"%s",' % node.encode())
        pod = self._pods.read(placed)
        self.state.upsert_pod(pod)
        self._placed.append((key, uid))
        self._manifests.latest = node
        self.outcomes["placed"] += 1
        if number % 50 == 0:
            await self.nomination.process_next()

    async def _give_up(self, uid: str, key: str, body: bytes) -> None:
        self.outcomes["refused"] += 1
        victims = {self._names[0]: {"Pods": [{"UID": self._placed[0][1]}]}} if self._placed else {}
        call = b'{"Pod":%s,"NodeNameToMetaVictims":%s}'
        await self.preemptions.answer(call % (body, msgspec.json.encode(victims)))
        await self.look_after(LOOKS)
        self.state.remove_pod(key, uid)

    async def look_after(self, looks: int) -> None:
        """Let controllers have the time that a refused pod takes, and what they do then."""
        for _ in range(looks):
            await self.preemption.process_next()
            await self.nomination.process_next()

    def _change_nodes(self, number: int) -> None:
        """Replace the node that is there for longest, and move the next one to another zone."""
        self.state.remove_node(self._names.pop(0))
        self._names.append(f"node-{NODES + number}")
        self._learn(self._names[-1], number)
        self._learn(self._names[0], number)
        space = {"metadata": {"name": f"space-{number}", "labels": {"n": str(number)}}}
        self.state.upsert_namespace(read_namespace(msgspec.json.encode(space)))
        self.state.remove_namespace(f"space-{number - PER_NODE}")

    def _learn(self, name: str, number: int) -> None:
        allocatable = {"cpu": "64", "memory": f"{number + 1}Gi", "pods": "1000"}
        node = {
            "metadata": {"name": name, "labels": {HOST: name, ZONE: f"zone-{number}"}},
            "status": {"allocatable": allocatable},
        }
        self.state.upsert_node(self._nodes.read(msgspec.json.encode(node)))
