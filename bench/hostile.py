"""How long a pod that contains very much, or many of few terms each, can hold up others.

    python -m bench.hostile

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
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter, time

import msgspec

from bench.agreeing import Agreeing
from bench.binding import binds
from bench.clusters import RULES
from bench.hostile_crowds import NAMESPACE, Case, crowds
from bench.hostile_eviction import Evicting
from bench.hostile_pods import (
    NODES,
    PLAIN,
    PODS,
    alike,
    cluster,
    hostile_pods,
    shown,
)
from bench.hostile_report import Run, merged, report
from bench.machine import revision
from bench.output import add_files, put_out_measured
from bench.refusing import Refusing
from bench.turns import Turns, patrolling, stepwise, taking
from bench.workloads import HOST, ZONE, Json
from extender.core.callbacks.in_flight import InFlightPods
from extender.core.callbacks.preempting import Preemptions
from extender.core.collecting import keep_collecting
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.errors import ObjectError
from extender.core.kube.frames import Resource, read_object
from extender.core.metrics import Metrics
from extender.core.model.objects import Namespace, Node
from extender.core.reading import ApartReader
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.nominating import Chooser
from extender.core.warm_up import OverBudgetError, WarmUp
from extender.core.wire.limits import OF_REQUESTS
from extender.core.wire.objects import PodReader
from tests.answering import Answering, requests_of
from tests.features.every import in_steps

ASKED = 500
CANDIDATES = NODES // 10
"""For preempt, as many as the scheduler has at most."""
CALLERS = 16
LOOKS = 4
"""At what the controller has to do: at the whole cluster first, then at the pod."""
STEPS = 500
"""Of activities that go on for minutes."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--pods", type=int, default=PODS, help="of the cluster")
    parser.add_argument(
        "--only",
        action="append",
        help="measure the pods with this in their description (repeatable)",
    )
    parser.add_argument(
        "--joined", type=Path, metavar="FILE", help="numbers of the other pods, from --json before"
    )
    add_files(parser)
    args = parser.parse_args()
    joined = {} if args.joined is None else json.loads(args.joined.read_bytes())
    before = joined.get("milliseconds", {})
    found: dict[str, dict[str, float]] = {}
    new = []
    cases = {**{name: Case(pod) for name, pod in hostile_pods().items()}, **crowds()}
    for name, case in cases.items():
        if args.only is None or any(each in name for each in args.only):
            print(name, file=sys.stderr)
            found[name] = asyncio.run(measured(case, args.pods))
            new.append(name)
        elif name in before:
            found[name] = before[name]
    runs = merged(joined.get("runs", []), Run(revision=revision(), pods=new))
    numbers = {"runs": runs, "milliseconds": found}
    put_out_measured(args, report(found, runs, args.pods), numbers)


class _Bench:
    """The parts of a program in mode replace, over one cluster."""

    def __init__(self, case: Case, pods: int) -> None:
        hostile = case.pod
        self.state = cluster(pods)
        _ = self.state.node_rules  # Where pods are noticed, they are counted from the start.
        metrics = Metrics()
        self.plugins = (InterPodAffinity(), NodeSelectionPlugin())
        self.reader = PodReader(rules=RULES, node_selection=True, most_entries=OF_REQUESTS.entries)
        self.feed = PodReader(rules=RULES, node_selection=True, owners=True, requirements=True)
        apart = ApartReader(self.feed.read, self.feed.another().read)
        self.mirrored = Resource("pods", "", apart.here, {}, apart)
        for pod in case.placed():
            self.state.upsert_pod(self.feed.read(json.dumps(pod).encode()))
        self.warm_up = WarmUp(self.state, metrics)
        self.in_flight = InFlightPods(lambda _one, _other: False)
        self.answers = Answering(
            self.state,
            metrics,
            self.plugins,
            scoring=self.plugins,
            in_flight=self.in_flight,
            pods=self.reader,
            warm_up=self.warm_up,
        )
        self.requests = requests = requests_of(
            self.state, metrics, pods=self.reader, warm_up=self.warm_up
        )
        self.binds = binds(requests, self.plugins, self.in_flight, perf_counter)
        self.preemptions = Preemptions(
            requests, self.plugins, may_be_empty=False, clock=perf_counter
        )
        api, clocks = Agreeing(self.state), Clocks(perf_counter, time, lambda: 0.5)
        context = ControllerContext(
            self.state, self.plugins, metrics, self.warm_up, History(), clocks
        )
        self.refusing = Refusing(context, api)
        self.evicting = Evicting(self.state, metrics, self.plugins, self.warm_up)
        self.names = random.Random(2).sample([f"n{n}" for n in range(NODES)], ASKED)
        # Written beforehand: a scheduler does not write its calls in our loop.
        self.call, self.plain = self._body(hostile), self._body(case.beside(0))
        self.new = [self._body(case.beside(1 + number)) for number in range(2)]
        self.many = [self._body(alike(hostile, number)) for number in range(CALLERS)]
        self.hostile_pod = self.feed.read(json.dumps(hostile).encode())
        self.waiting, self.running = shown(hostile), shown(hostile, node="n1")
        self.nominated = shown(hostile, nominated="n1")
        victims = {
            name: {"Pods": [{"UID": pod.uid} for pod in self.state.pods_on(name)[:2]]}
            for name in self.names[:CANDIDATES]
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
        obj = await read_object(self.mirrored, raw)
        self.state.upsert_pod(obj)

    async def bind(self) -> None:
        """Bind the hostile pod, which the watch has shown."""
        args = {"PodName": "hostile", "PodNamespace": "ns0", "PodUID": "hostile", "Node": "n1"}
        await self.binds.answer(json.dumps(args).encode())

    async def preempt(self) -> None:
        """Ask about candidates with two victims each."""
        await self.preemptions.answer(self.preemption)

    async def hint(self) -> None:
        """Look for a node among all."""
        pod = self.hostile_pod
        with suppress(OverBudgetError):
            await self.warm_up.prepare(pod)
            Chooser(self.state, self.plugins).choose(pod, avoid=(), placements=(), chance=0.5)

    async def search(self, raw: msgspec.Raw) -> None:
        """Have victims searched for a pod that was refused everywhere, and evicted."""
        await self.watch(raw)
        with suppress(ObjectError):
            size = len(memoryview(raw))
            pod = await self.requests.pods.read(size, lambda pods: pods.read(raw))
            await self.refusing.help(pod, LOOKS)

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
            await stepwise(iter(partial(self.state.do_deferred, 256), 0), STEPS)
        else:
            await self.watch(self.running)


async def measured(case: Case, pods: int) -> dict[str, float]:
    # The cluster of the pod before.
    gc.unfreeze()
    gc.collect()
    bench, turns = _Bench(case, pods), Turns()
    # Who breaks a rule from the start is known when the hostile pod comes.
    await bench.evicting.look()
    state, spent = bench.state, {}
    # As in the program.
    gc.collect()
    gc.freeze()
    collecting = asyncio.create_task(keep_collecting())
    newcomer = shown(PLAIN, node="n5")

    async def relabel() -> None:
        state.upsert_namespace(Namespace("ns1", {"team": "moved"}))

    async def move() -> None:
        state.upsert_node(Node("n1", {HOST: "n1", ZONE: "c", "new": "label"}))

    async def arrive() -> None:
        await bench.watch(newcomer)
        state.remove_pod("ns2/new", "new")

    async def end(number: int) -> None:
        state.remove_pod(f"{NAMESPACE}/c{number}", f"c{number}")
        await bench.answers.filter(bench.plain)

    activities: dict[str, Callable[[], Awaitable[object]]] = {
        "the watch shows it": lambda: bench.watch(bench.waiting),
        "filter, until answered": bench.filter_until_answered,
        "prioritize": lambda: bench.answers.prioritize(bench.call),
        "preempt": bench.preempt,
        "search for a hint": bench.hint,
        "search for victims": lambda: bench.search(bench.waiting),
        "16 such calls, and plain ones": bench.callers,
        "bind": bench.bind,
        "a new workload while it is counted": arrive,
        "a namespace is relabelled": relabel,
        "a node is relabelled": move,
        **{name: taking(steps, state, STEPS) for name, steps in in_steps().items()},
        "it is nominated": lambda: bench.watch(bench.nominated),
        "a plain pod's filter then": lambda: bench.answers.filter(bench.plain),
        "a plain pod's search for victims then": lambda: bench.search(shown(PLAIN)),
        "it is placed by others": bench.placed,
        "a status of it changes": bench.placed,
        "what it breaks is noticed": bench.evicting.look,
        "a plain pod's filter beside it": lambda: bench.answers.filter(bench.plain),
        "a plain pod's prioritize beside it": lambda: bench.answers.prioritize(bench.plain),
        "a new workload's filter beside it": lambda: bench.answers.filter(bench.new[0]),
        "another one's": lambda: bench.answers.filter(bench.new[1]),
        "one of them ends, and a plain pod's filter": lambda: end(0),
        "another one": lambda: end(1),
        "a plain pod's search for victims beside it": lambda: bench.search(shown(alike(PLAIN, 1))),
        "the node that it is on is relabelled": move,
        "that is noticed": bench.evicting.look,
        "patrol": lambda: patrolling(state, STEPS),
        "it is deleted": lambda: bench.placed(gone=True),
    }
    for name, activity in activities.items():
        spent[name], _ = await turns.longest(activity())
        print(f"  {name}: {spent[name]:.0f} ms", file=sys.stderr)
    collecting.cancel()
    return spent


if __name__ == "__main__":
    main()
