"""What takes long in clusters of many parts, by the longest turn of the event loop.

See `bench.scale`. Events come as a watch sends them, through the program's own mirror.
"""

from __future__ import annotations

import asyncio
import gc
import random
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from time import perf_counter, time
from typing import Any, Final, TypeAlias, TypeVar

import orjson

from bench.agreeing import Agreeing
from bench.hostile_pods import PREFERRED, PRIORITY, REQUIRED, alike, hostile_pods
from bench.refusing import Refusing
from bench.turns import Turns, patrolling, taking
from bench.workloads import HOST, ZONE, Json
from extender.core.callbacks.preempting import Preemptions
from extender.core.cluster.state import ClusterState
from extender.core.collecting import Collector, keep_collecting
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.kube.frames import Resource, read_event
from extender.core.kube.mirroring import Mirror
from extender.core.kube.observers import Unobserved
from extender.core.kube.pacing import USUAL_TIMING, ObjectSlices
from extender.core.kube.watchers import StateSink
from extender.core.metrics import Metrics
from extender.core.model.disruption import PodDisruptionBudget
from extender.core.model.keys import key_of
from extender.core.model.labels import Operator, Requirement, Selector
from extender.core.model.node_resources import Allocatable
from extender.core.model.objects import Namespace, Node, Pod, PodClass
from extender.core.model.pod_affinity import Affinity, PodSelector, Term, WeightedTerm
from extender.core.reading import ApartReader
from extender.core.resources import NAMESPACES, NODES, PODS, WatchedResource
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.warm_up import WarmUp
from extender.core.wire.objects import PodReader
from tests.answering import Answering, requests_of
from tests.features.every import in_steps

T = TypeVar("T")
Activity: TypeAlias = Callable[[], Awaitable[object]]

TARGET_MS: Final = 20.0
NODE_COUNT, POD_COUNT, CLASSES, DOMAINS = 15_000, 500_000, 10_000, 1_000
BIG: Final = 50_000
"""Pods of one namespace."""
RELABELLED, PLACED, BUDGETS, NAMES, CANDIDATES = 500, 4_096, 5_000, 500, 100
LOOKS: Final = 4
"""At what the controller has to do: at the whole cluster first, then at the pod."""
STEPS: Final = 1_500
"""Of activities that go on for minutes."""
_PLUGINS = (InterPodAffinity(),)
_ROOM = Allocatable({"pods": 110, "cpu": 64_000})


async def measure(wanted: Callable[[str], bool]) -> dict[str, float]:
    """Return the longest turn of each activity that is wanted, in milliseconds."""
    found: dict[str, float] = {}
    for cluster, activities in _CLUSTERS.items():
        names = [name for name in activities if wanted(name)]
        if not names:
            continue
        bench, turns = Bench(cluster()), Turns()
        prepared = {name: activities[name](bench) for name in names}
        # As in the program.
        gc.collect()
        gc.freeze()
        collecting = asyncio.create_task(keep_collecting())
        for name, activity in prepared.items():
            found[name], _ = await turns.longest(activity())
            print(f"  {name}: {found[name]:.1f} ms", file=sys.stderr)
        collecting.cancel()
        # The next cluster is measured without this one.
        del bench, prepared, activity
        gc.unfreeze()
        gc.collect()
    return found


class Bench:
    """The parts of a program in mode replace, over one cluster."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        metrics = Metrics()
        warm_up = WarmUp(state, metrics)
        self.pods = PodReader(owners=True, requirements=True)
        self.answers = Answering(state, metrics, _PLUGINS, scoring=_PLUGINS, warm_up=warm_up)
        requests = requests_of(state, metrics, warm_up=warm_up)
        clocks = Clocks(perf_counter, time, lambda: 0.5)
        self.preemptions = Preemptions(requests, _PLUGINS, may_be_empty=False, clock=clocks.clock)
        context = ControllerContext(state, _PLUGINS, metrics, warm_up, History(), clocks)
        self.refusing = Refusing(context, Agreeing(state))

    def watching(self, watched: WatchedResource[T], events: Iterable[tuple[str, Json]]) -> Activity:
        """Return what takes events of one watch that have all come already."""
        apart = ApartReader(watched.reader(self.pods), watched.reader(self.pods.another()))
        resource: Resource[Any] = Resource(watched.name, watched.path, apart.here, {}, apart)
        sink: StateSink[Any] = StateSink(self.state, watched)
        mirror = Mirror(resource, sink, Unobserved(), USUAL_TIMING, lambda _why, _what: None)
        lines = [orjson.dumps({"type": kind, "object": each}) + b"\n" for kind, each in events]

        async def take() -> None:
            slices = ObjectSlices()
            for line in lines:
                await mirror.take(read_event(line))
                if slices.end():
                    await asyncio.sleep(0)

        return take

    def asking(self, *paths: str) -> Activity:
        """Return what asks about a pod of a new workload."""
        names = list(islice(self.state.nodes, NAMES))
        body = orjson.dumps({"Pod": _ASKED, "NodeNames": names})
        calls = {"/filter": self.answers.filter, "/prioritize": self.answers.prioritize}

        async def ask() -> None:
            for path in paths:
                await calls[path](body)

        return ask

    def preempt(self) -> Activity:
        """Return what asks about victims of which there is one on each of many nodes."""
        nodes = list(islice(self.state.nodes, CANDIDATES))
        victims = {
            name: {"Pods": [{"UID": each.uid} for each in self.state.pods_on(name)[:2]]}
            for name in nodes
        }
        body = orjson.dumps({"Pod": _ASKED, "NodeNameToMetaVictims": victims})
        return lambda: self.preemptions.answer(body)

    def search(self) -> Activity:
        """Return what has victims searched for a pod that was refused everywhere."""
        pod = self.pods.read(orjson.dumps(_ASKED))

        async def look() -> None:
            self.state.upsert_pod(pod)
            await self.refusing.help(pod, LOOKS)

        return look

    def walk(self) -> Activity:
        """Return what has the collector walk all that there is: its last resort."""
        collector = Collector(lambda: 1e9)

        async def step() -> None:
            collector.walk_all()

        return step


def _relabelled(key: str) -> Iterator[tuple[str, Json]]:
    for number in range(0, NODE_COUNT, NODE_COUNT // RELABELLED):
        labels = {**_node_labels(number), key: "moved"}
        yield "MODIFIED", _object(f"n{number}", labels=labels)


def _object(name: str, **metadata: Any) -> Json:
    return {"metadata": {"name": name, "resourceVersion": "1", **metadata}}


def _node_labels(number: int) -> dict[str, str]:
    return {HOST: f"n{number}", ZONE: f"z{number % DOMAINS}"}


def _big(team: str) -> list[tuple[str, Json]]:
    return [("MODIFIED", _object("ns0", labels={"team": team}))]


def _hostile(kind: str) -> Iterator[tuple[str, Json]]:
    hostile = hostile_pods()["64 terms with a label"]
    for number in range(PLACED):
        pod = alike(hostile, number)
        terms = pod["spec"]["affinity"]["podAntiAffinity"]
        # Each has rules of its own.
        own = [{**each, "namespaces": [f"own-{number}"]} for each in terms[REQUIRED]]
        spec = {
            **pod["spec"],
            "affinity": {"podAntiAffinity": {REQUIRED: own}},
            "nodeName": f"n{number}",
        }
        metadata = {**pod["metadata"], "resourceVersion": "1"}
        yield kind, {**pod, "metadata": metadata, "spec": spec}


def _large_cluster() -> ClusterState:
    """Build 500,000 pods of 10,000 classes: a tenth in one namespace, half of them all different.

    A third is apart by host, a third spread over 1,000 zones; terms choose namespaces by label.
    """
    state = _empty(NODE_COUNT)
    chance = random.Random(1)
    classes = [_class(number, f"ns{1 + number % 100}") for number in range(CLASSES)]
    for number in range(POD_COUNT):
        if number < BIG // 2:
            pod_class = _class(number, "ns0", index=str(number))
        elif number < BIG:
            pod_class = classes[0] = _class(0, "ns0") if number == BIG // 2 else classes[0]
        else:
            pod_class = classes[number % CLASSES]
        _place(state, pod_class, number, f"n{chance.randrange(NODE_COUNT)}")
    return state


def _small_cluster() -> ClusterState:
    state = _empty(3000)
    for number in range(60_000):
        _place(state, _class(number % 3000, f"ns{number % 100}"), number, f"n{number % 3000}")
    return state


def _many_budgets() -> ClusterState:
    """Build a node whose pods are in 5,000 budgets, each in as many as are compared at all."""
    state = _small_cluster()
    victims = 110
    for number in range(victims):
        pod_class = PodClass("ns0", {"app": f"v{number}"})
        _place(state, pod_class, 100_000 + number, "n0")
    for number in range(BUDGETS):
        alike = _alike(f"v{number % victims}")
        state.upsert_budget(
            PodDisruptionBudget(key_of("ns0", f"b{number}"), f"b{number}", alike, 0)
        )
    return state


def _empty(nodes: int) -> ClusterState:
    state = ClusterState()
    for number in range(nodes):
        state.upsert_node(Node(f"n{number}", _node_labels(number), _ROOM))
    for number in range(101):
        state.upsert_namespace(Namespace(f"ns{number}", {"team": "red"}))
    return state


def _place(state: ClusterState, pod_class: PodClass, number: int, node: str) -> None:
    key = key_of(pod_class.namespace, f"p{number}")
    state.upsert_pod(Pod(key, f"uid-{number}", node, pod_class))


def _class(number: int, namespace: str, **labels: str) -> PodClass:
    term = Term(
        PodSelector(_alike(f"a{number}"), frozenset((namespace,)), _TEAM if number % 2 else None),
        HOST if number % 3 == 0 else ZONE,
    )
    affinity = (
        Affinity(required_anti=(term,)),
        Affinity(preferred=(WeightedTerm(term, -10),)),
        Affinity(),
    )[number % 3]
    return PodClass(namespace, {"app": f"a{number}", **labels}, affinity)


def _alike(app: str) -> Selector:
    return Selector.of([Requirement("app", Operator.IN, frozenset((app,)))])


_TEAM: Final = Selector.of([Requirement("team", Operator.IN, frozenset(("red",)))])
_ASKED: Final[Json] = {
    "metadata": {"name": "new", "namespace": "ns0", "uid": "new", "labels": {"app": "a0"}},
    "spec": {
        "priority": PRIORITY,
        "affinity": {
            "podAntiAffinity": {
                REQUIRED: [{"labelSelector": {"matchLabels": {"app": "a0"}}, "topologyKey": HOST}],
                PREFERRED: [
                    {
                        "weight": 1,
                        "podAffinityTerm": {
                            "labelSelector": {"matchLabels": {"app": "a1"}},
                            "namespaceSelector": {"matchLabels": {"team": "red"}},
                            "topologyKey": ZONE,
                        },
                    }
                ],
            }
        },
    },
}


def _taking(steps: Callable[[ClusterState], Iterable[object]]) -> Callable[[Bench], Activity]:
    return lambda bench: taking(steps, bench.state, STEPS)


_EVERYWHERE: Final[dict[str, Callable[[Bench], Activity]]] = {
    "filter and prioritize": lambda bench: bench.asking("/filter", "/prioritize"),
    "preempt": Bench.preempt,
    "a search for victims": Bench.search,
    "a full walk of the collector, its last resort": Bench.walk,
}
_CLUSTERS: Final[dict[Callable[[], ClusterState], dict[str, Callable[[Bench], Activity]]]] = {
    _large_cluster: {
        "large: a label that nobody uses on 500 nodes": lambda bench: bench.watching(
            NODES, _relabelled("heartbeat")
        ),
        "large: another zone for 500 nodes": lambda bench: bench.watching(NODES, _relabelled(ZONE)),
        **{f"large: {name}": activity for name, activity in _EVERYWHERE.items()},
        "large: a namespace with 50,000 pods is relabelled": lambda bench: bench.watching(
            NAMESPACES, _big("blue")
        ),
        **{f"large: {name}": _taking(steps) for name, steps in in_steps().items()},
        "large: patrol": lambda bench: lambda: patrolling(bench.state, STEPS),
    },
    _small_cluster: {
        "terms: 4,096 pods of 64 are placed": lambda bench: bench.watching(PODS, _hostile("ADDED")),
        **{f"terms: {name}": activity for name, activity in _EVERYWHERE.items()},
        "terms: they are deleted": lambda bench: bench.watching(PODS, _hostile("DELETED")),
    },
    _many_budgets: {
        f"budgets: {name}": _EVERYWHERE[name] for name in ("preempt", "a search for victims")
    },
}
