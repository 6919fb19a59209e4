"""Pods that are all different, and everything that is done about each of them while it lives."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

import msgspec

from extender.callbacks.binding import Binds
from extender.callbacks.in_flight import InFlightPods
from extender.callbacks.preempting import Preemptions
from extender.cluster.state import ClusterState
from extender.cluster.view import MOST_MATCHING_SETS
from extender.controllers.nomination.controller import NominationController, NominationLimits
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.model.verdict import BindOutcome, Bound
from extender.verbs.conflicts import interact
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.plugins import Plugins
from extender.verbs.quota import CrossNamespacePodAffinity
from extender.wire.objects import NodeReader, PodReader, read_namespace
from tests.answering import Answering

NODES = 20
ALIVE = 60
"""Placed pods at a time."""
PER_NODE = 250
"""Pods after which one node is replaced by another, and another changes its zone."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HOST, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


class _Answer(msgspec.Struct):
    NodeNames: list[str]


_FITS = msgspec.json.Decoder(_Answer)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many pods there are of each size: one in so many."""

    large: int = 100
    """With some 8 KiB of labels, or of rules."""
    huge: int = 1000
    """With 400 KiB of them."""


class Churn:
    """An extender in this process, without its sockets, and pods that come and go."""

    def __init__(
        self, sizes: Sizes, *, most_matching_sets: int = MOST_MATCHING_SETS, seed: int = 1
    ) -> None:
        self._sizes = sizes
        self._chance = random.Random(seed)
        self._numbers = count()
        self._placed: deque[tuple[str, str]] = deque()
        self._pods = PodReader(charges=True)
        self._nodes = NodeReader()
        self.state = ClusterState(most_matching_sets=most_matching_sets)
        self.outcomes = {"placed": 0, "refused": 0}
        metrics = Metrics()
        in_flight = InFlightPods(partial(interact, self.state), hold=0)
        plugins: Plugins = (InterPodAffinity(), CrossNamespacePodAffinity())
        clock = partial(next, _clock())
        self.nomination = NominationController(
            self.state,
            self,
            metrics,
            NominationLimits(per_second=1000, most_outstanding=20, patience=1),
            plugins,
            clock=clock,
            chance=self._chance.random,
        )
        self.preemptions = Preemptions(
            self.state,
            metrics,
            plugins,
            unready=lambda: None,
            may_be_empty=False,
            clock=clock,
            pods=self._pods,
        )
        self.answers = Answering(
            self.state,
            metrics,
            plugins,
            in_flight=in_flight,
            pods=self._pods,
            nomination=self.nomination,
            held=self.preemptions.held,
            defer=lambda work: work(),
        )
        self.binds = Binds(
            self.state, self, in_flight, metrics, plugins, unready=lambda: None, clock=clock
        )
        self._names = [f"node-{number}" for number in range(NODES)]
        for name in self._names:
            self._learn(name, 0)

    # As the API server

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Bind whatever is asked for."""
        del pod, node, within
        return Bound(BindOutcome.BOUND)

    async def read(self, key: str) -> Pod | None:
        """Know no pod that the watch has not shown."""
        del key
        return None

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        """Accept every nomination."""
        del pod, before, node
        return True

    # As the scheduler and the watch

    async def run(self, pods: int) -> None:
        """Let so many pods live, and all but the last few die."""
        for _ in range(pods):
            await self._live(next(self._numbers))

    async def _live(self, number: int) -> None:
        uid, key, body = self._describe(number)
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
        self.outcomes["placed"] += 1
        if number % 50 == 0:
            await self.nomination.process_next()

    async def _give_up(self, uid: str, key: str, body: bytes) -> None:
        self.outcomes["refused"] += 1
        victims = {self._names[0]: {"Pods": [{"UID": self._placed[0][1]}]}} if self._placed else {}
        call = b'{"Pod":%s,"NodeNameToMetaVictims":%s}'
        await self.preemptions.answer(call % (body, msgspec.json.encode(victims)))
        self.state.remove_pod(key, uid)

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
            "metadata": {"name": name, "labels": {_HOST: name, _ZONE: f"zone-{number}"}},
            "status": {"allocatable": allocatable},
        }
        self.state.upsert_node(self._nodes.read(msgspec.json.encode(node)))

    # The pods

    def _describe(self, number: int) -> tuple[str, str, bytes]:
        """Return uid, namespace/name and manifest of a pod like no other."""
        uid, namespace, name = f"uid-{number:012}", f"space-{number % 1000}", f"pod-{number}"
        labels = {"app": f"app-{number}", "pod": name} | dict(self._padding(number, odd=0))
        manifest = {
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "labels": labels},
            "spec": self._spec(number),
            "status": {},
        }
        return uid, f"{namespace}/{name}", msgspec.json.encode(manifest)

    def _spec(self, number: int) -> dict[str, object]:
        """Return rules for a third of the pods, requests and a priority for a fifth."""
        spec: dict[str, object] = {"schedulerName": "default-scheduler"}
        if number % 3 == 1 or number % 10 == 0:
            spec["affinity"] = self._rules(number)
        if number % 5 == 0:
            requests = {"cpu": "1m", "memory": str(number)}
            spec["containers"] = [{"resources": {"requests": requests}}]
            spec |= {"priority": number, "priorityClassName": f"class-{number}"}
        return spec

    def _rules(self, number: int) -> dict[str, object]:
        """Return rules about pods of that kind alone; every tenth pod finds no company at all."""
        own = {"matchLabels": {"app": f"app-{number}"}}
        words = [value for _, value in self._padding(number, odd=1)]
        among = [{"key": "pod", "operator": "NotIn", "values": words}] if words else []
        wide = {"matchExpressions": among, **own}
        lonely = {"matchLabels": {"app": f"nobody-{number}"}}
        required = [{"labelSelector": lonely, "topologyKey": _ZONE}] if number % 10 == 0 else []
        preferred: dict[str, object] = {"labelSelector": own, "topologyKey": _ZONE}
        if number % 20 == 0:
            preferred["namespaceSelector"] = {}
        return {
            "podAffinity": {
                _REQUIRED: required,
                _PREFERRED: [{"weight": 1, "podAffinityTerm": preferred}],
            },
            "podAntiAffinity": {
                _REQUIRED: [
                    {"labelSelector": wide, "topologyKey": _HOST, "matchLabelKeys": ["pod"]}
                ]
            },
        }

    def _padding(self, number: int, *, odd: int) -> Iterator[tuple[str, str]]:
        """Yield what makes a pod large: labels of every other large one, rules of the rest."""
        if number % self._sizes.huge == 7:
            words, kind = 8000, number // self._sizes.huge
        elif number % self._sizes.large == 7:
            words, kind = 160, number // self._sizes.large
        else:
            return
        if kind % 2 == odd:
            for word in range(words):
                yield f"{number}-{word:024}", f"{word}-{number}"


def _clock() -> Iterator[float]:
    """Yield the time: a millisecond passes whenever somebody looks."""
    return (number / 1000 for number in count())
