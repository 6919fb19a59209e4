"""How long one pod with very many affinity terms can hold up others: `python -m bench.hostile`.

Measured in processor time of the loop's thread between two of its turns, so that whoever shares the
machine does not count. What is compared with the target is the longest such stretch.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from time import perf_counter, thread_time
from typing import Any

import msgspec

from bench.machine import machine
from bench.output import add_files, put_out
from bench.tables import table
from extender.callbacks.binding import Binds
from extender.callbacks.in_flight import InFlightPods
from extender.callbacks.preempting import Preemptions
from extender.cluster.audits.drift import DriftWatch
from extender.cluster.audits.recount import audit
from extender.cluster.audits.violations import Watch, patrol
from extender.cluster.state import ClusterState
from extender.controllers.drift import STEP_CLASSES
from extender.controllers.violations import STEP_ENTRIES, STEP_LOOKS
from extender.kube.apart import ApartReader
from extender.metrics import Metrics
from extender.model.keys import key_of
from extender.model.labels import Operator, Requirement, Selector
from extender.model.node_resources import Requirements
from extender.model.objects import Namespace, Node, Pod, PodClass
from extender.model.pod_affinity import NO_AFFINITY, Affinity, PodSelector, Term, WeightedTerm
from extender.ports import NoApiServer
from extender.preparing import OverBudgetError, Preparer
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.nominating import Chooser
from extender.wire.objects import MOST_ENTRIES, PodReader
from tests.answering import Answering

Json = dict[str, Any]

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES, CLASSES, PODS, NAMESPACES = 3000, 3000, 60_000, 100
ASKED = 500
TARGET_MS = 100.0
CALLERS = 16
STEPS = 500
"""Of activities that go on for minutes."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def main() -> None:
    """Measure, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--pods", type=int, default=PODS, help="of the cluster")
    add_files(parser)
    args = parser.parse_args()
    found = {}
    for name, pod in _pods().items():
        print(name, file=sys.stderr)
        found[name] = asyncio.run(_measured(pod, args.pods))
    activities = list(dict.fromkeys(each for spent in found.values() for each in spent))
    lines = [
        (
            activity,
            *(f"{spent[activity]:.0f}" if activity in spent else "" for spent in found.values()),
        )
        for activity in activities
    ]
    parts = [
        f"Measured on {machine()}.",
        (
            f"{args.pods:,} pods of {CLASSES:,} classes on {NODES:,} nodes; longest turn of the "
            f"event loop in ms of processor time, target ≤ {TARGET_MS:g}."
        ),
        table(("while", *found), lines),
    ]
    put_out(args, "\n\n".join(parts), {"machine": machine(), "milliseconds": found})


def _pods() -> dict[str, Json]:
    """Return the pods, by what they contain."""
    everywhere: Json = {"namespaceSelector": {}, "topologyKey": HOST}

    def unlike(count: int) -> list[Json]:
        return [
            {
                "labelSelector": {"matchExpressions": [_expression("app", "NotIn", f"x{n}")]},
                **everywhere,
            }
            for n in range(count)
        ]

    narrow = [
        {"labelSelector": {"matchLabels": {"app": f"a{n}"}}, **everywhere} for n in range(800)
    ]
    keys = [{**each, "topologyKey": f"key-{n}"} for n, each in enumerate(unlike(800))]
    long = [_expression(f"k{n}", "DoesNotExist") for n in range(24_000)]
    return {
        "200 negative terms": _pod("podAntiAffinity", unlike(200)),
        "800 negative terms": _pod("podAntiAffinity", unlike(800)),
        "800 terms with a label": _pod("podAntiAffinity", narrow),
        "800 affinity terms": _pod("podAffinity", unlike(800)),
        "800 topology keys": _pod("podAntiAffinity", keys),
        "5,000 terms": _pod("podAntiAffinity", unlike(5000)),
        "24,000 conditions, 1 MiB": _pod(
            "podAntiAffinity", [{"labelSelector": {"matchExpressions": long}, **everywhere}]
        ),
        "17,000 small terms, 1.5 MiB": _pod(
            "podAntiAffinity",
            [{**everywhere, "labelSelector": {}, "topologyKey": f"k{n}"} for n in range(17_000)],
        ),
    }


def _expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _pod(side: str, terms: list[Json]) -> Json:
    metadata = {
        "name": "hostile",
        "namespace": "ns0",
        "uid": "hostile",
        "labels": {"app": "hostile"},
    }
    return {
        "metadata": metadata,
        "spec": {"affinity": {side: {REQUIRED: terms}}, "priority": 1000},
        "status": {"phase": "Pending"},
    }


_PLAIN: Json = {
    "metadata": {"name": "new", "namespace": "ns2", "uid": "new", "labels": {"app": "new"}}
}


def _alike(pod: Json, number: int) -> Json:
    name = f"{pod['metadata']['name']}-{number}"
    labels = {"app": name}
    return {**pod, "metadata": {**pod["metadata"], "name": name, "uid": name, "labels": labels}}


def _raw(pod: Json) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(pod).encode())


def _cluster(pods: int) -> ClusterState:
    """Build a cluster: a third of the classes apart by host, a third spread by zone."""
    state, chance = ClusterState(), random.Random(1)
    for number in range(NODES):
        state.upsert_node(Node(f"n{number}", {HOST: f"n{number}", ZONE: "abc"[number % 3]}))
    for number in range(NAMESPACES):
        state.upsert_namespace(Namespace(f"ns{number}", {"team": f"t{number % 5}"}))
    classes = [_class(number) for number in range(CLASSES)]
    for number in range(pods):
        pod_class = classes[number % CLASSES]
        key = key_of(pod_class.namespace, f"p{number}")
        state.upsert_pod(
            Pod(key, key, f"n{chance.randrange(NODES)}", terminal=False, pod_class=pod_class)
        )
    return state


def _class(number: int) -> PodClass:
    namespace, app = f"ns{number % NAMESPACES}", f"a{number}"
    alike = Selector.of([Requirement("app", Operator.IN, frozenset((app,)))])
    term = Term(PodSelector(alike, frozenset((namespace,))), HOST if number % 3 == 0 else ZONE)
    affinity = (
        Affinity(required_anti=(term,)),
        Affinity(preferred=(WeightedTerm(term, -10),)),
        NO_AFFINITY,
    )[number % 3]
    return PodClass(namespace, {"app": app, "tier": f"t{number % 4}"}, affinity)


class _Turns:
    """Measures the turns of the event loop."""

    def __init__(self) -> None:
        self._longest = 0.0

    async def longest(self, work: Awaitable[object]) -> float:
        """Return the longest turn in milliseconds until some work is done."""
        self._longest = 0.0
        ticking = asyncio.create_task(self._tick())
        await asyncio.sleep(0)
        await work
        await asyncio.sleep(0)
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
        return 1000 * self._longest

    async def _tick(self) -> None:
        before = thread_time()
        while True:
            await asyncio.sleep(0)
            now = thread_time()
            self._longest = max(self._longest, now - before)
            before = now


class _Bench:
    """The parts of a program in mode replace, over one cluster."""

    def __init__(self, hostile: Json, pods: int) -> None:
        self.state = _cluster(pods)
        metrics = Metrics()
        plugins = (InterPodAffinity(),)
        reader = PodReader(most_entries=MOST_ENTRIES)
        self.feed = PodReader()
        self.apart = ApartReader(self.feed.read, self.feed.another().read)
        self.preparer = Preparer(self.state, metrics)
        self.in_flight = InFlightPods(lambda _one, _other: False)
        self.answers = Answering(
            self.state,
            metrics,
            plugins,
            in_flight=self.in_flight,
            pods=reader,
            preparer=self.preparer,
        )
        self.binds = Binds(
            self.state, NoApiServer(), self.in_flight, metrics, plugins,
            unready=lambda: None, clock=perf_counter, preparer=self.preparer,
        )  # fmt: skip
        self.preemptions = Preemptions(
            self.state, metrics, plugins,
            unready=lambda: None, may_be_empty=False, clock=perf_counter, pods=reader,
            preparer=self.preparer,
        )  # fmt: skip
        self.names = random.Random(2).sample([f"n{n}" for n in range(NODES)], ASKED)
        # Written beforehand: a scheduler does not write its calls in our loop.
        self.call, self.plain = self._body(hostile), self._body(_PLAIN)
        self.many = [self._body(_alike(hostile, number)) for number in range(CALLERS)]
        self.hostile_pod = self.feed.read(json.dumps(hostile).encode())
        self.waiting = _raw(hostile)
        spec = {**hostile["spec"], "nodeName": "n1"}
        self.running = _raw({**hostile, "spec": spec, "status": {"phase": "Running"}})
        victims = {
            name: {"Pods": [{"UID": pod.uid} for pod in self.state.pods_on(name)[:2]]}
            for name in self.names[:100]
        }
        preemption = {"Pod": hostile, "NodeNameToMetaVictims": victims}
        self.preemption = json.dumps(preemption).encode()

    def _body(self, pod: Json) -> bytes:
        return json.dumps({"Pod": pod, "NodeNames": self.names}).encode()

    async def filter_until_answered(self, attempts: int = 40) -> None:
        """Ask until there is no error any more, as a scheduler does after its back-off."""
        for _ in range(attempts):
            if b"next attempt" not in await self.answers.filter(self.call):
                return

    async def watch(self, raw: msgspec.Raw) -> None:
        """Take an event of the watch, as the reflector does."""
        obj = await self.apart.prepare(raw)
        for _ in self.state.taking_up(obj) if obj is not None else ():
            await asyncio.sleep(0)
        self.state.upsert_pod(self.apart.read(raw))

    async def bind(self) -> None:
        """Bind the hostile pod, which the watch has shown."""
        args = {"PodName": "hostile", "PodNamespace": "ns0", "PodUID": "hostile", "Node": "n1"}
        await self.binds.answer(json.dumps(args).encode())

    async def preempt(self) -> None:
        """Ask about a hundred candidates with two victims each."""
        await self.preemptions.answer(self.preemption)

    async def hint(self) -> None:
        """Look for a node among all."""
        pod = self.hostile_pod
        with suppress(OverBudgetError):
            if self.preparer.takes_long(pod):
                await self.preparer.prepare(pod)
            Chooser(self.state, (InterPodAffinity(),)).choose(
                pod, Requirements(), avoid=(), promises=(), chance=0.5
            )

    async def callers(self) -> None:
        """Ask for many such pods at once, and for a plain one all the while."""
        many = [asyncio.create_task(self.answers.filter(body)) for body in self.many]
        while not all(task.done() for task in many):
            await self.answers.filter(self.plain)
            await asyncio.sleep(0)

    async def placed(self, *, gone: bool = False) -> None:
        """Place the hostile pod without asking anybody, or take it away again."""
        if gone:
            self.state.remove_pod("ns0/hostile", "hostile")
            await _stepwise(iter(partial(self.state.tidy, 256), 0))
        else:
            await self.watch(self.running)


async def _stepwise(steps: Iterable[object]) -> None:
    for _ in islice(steps, STEPS):
        await asyncio.sleep(0)


async def _measured(hostile: Json, pods: int) -> dict[str, float]:
    """Return the longest turn of each activity."""
    bench, turns = _Bench(hostile, pods), _Turns()
    state, spent = bench.state, {}
    gc.collect()
    gc.freeze()
    newcomer = _raw({**_PLAIN, "spec": {"nodeName": "n5"}, "status": {"phase": "Running"}})

    async def relabel() -> None:
        state.upsert_namespace(Namespace("ns1", {"team": "moved"}))

    async def move() -> None:
        state.upsert_node(Node("n1", {HOST: "n1", ZONE: "c", "new": "label"}))

    async def arrive() -> None:
        await bench.watch(newcomer)

    async def looks() -> None:
        watch = Watch(state)
        for step in islice(patrol(state, STEP_ENTRIES), STEPS):
            await asyncio.sleep(0)
            for looked, _ in enumerate(watch.take(step), 1):
                if looked % STEP_LOOKS == 0:
                    await asyncio.sleep(0)

    activities: dict[str, Callable[[], Awaitable[object]]] = {
        "the watch shows it": lambda: bench.watch(bench.waiting),
        "filter, until answered": bench.filter_until_answered,
        "prioritize": lambda: bench.answers.prioritize(bench.call),
        "preempt": bench.preempt,
        "search for a hint": bench.hint,
        "16 such calls, and plain ones": bench.callers,
        "bind": bench.bind,
        "a new workload while it is counted": arrive,
        "a namespace is relabelled": relabel,
        "a node is relabelled": move,
        "audit": lambda: _stepwise(audit(state)),
        "it is placed by others": bench.placed,
        "a status of it changes": bench.placed,
        "a plain pod's filter beside it": lambda: bench.answers.filter(bench.plain),
        "a plain pod's prioritize beside it": lambda: bench.answers.prioritize(bench.plain),
        "the node that it is on is relabelled": move,
        "patrol": looks,
        "drift": lambda: _stepwise(DriftWatch(state).look(STEP_CLASSES)),
        "it is deleted": lambda: bench.placed(gone=True),
    }
    for name, activity in activities.items():
        spent[name] = await turns.longest(activity())
        print(f"  {name}: {spent[name]:.0f} ms", file=sys.stderr)
    return spent


if __name__ == "__main__":
    main()
