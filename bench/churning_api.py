"""An API server with a cluster whose pods come and go, as often as the standard input says.

Only names and places of pods are kept, so that it holds millions beside what is measured.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from itertools import islice
from typing import NamedTuple

import orjson
from aiohttp import web

from bench.workloads import Json, Rules, app_pod, cluster_items, placed_pods
from tests.kube.fake_api import Collection, FakeApi, initial_events_end
from tests.kube.pulse import Pulse

_PATHS = {"Namespace": "/api/v1/namespaces", "Node": "/api/v1/nodes"}
_PODS = "/api/v1/pods"
_BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
_TICK = 0.02
"""Events of so many seconds come together, as a watch cache sends them."""
_TOGETHER = 200
"""Pods of a list that are written at once."""


class _Running(NamedTuple):
    app: int
    name: str
    node: str

    def event(self, kind: str, version: int) -> bytes:
        """Write it as a line of a watch."""
        made: Json = app_pod(self.app, self.name, self.node, Rules.PREFERRED)
        made["metadata"]["resourceVersion"] = str(version)
        return orjson.dumps({"type": kind, "object": made}) + b"\n"


async def serve(nodes: int, pods: int) -> None:
    """Serve until the standard input ends; each line on it is a number of events a second."""
    async with FakeApi(Pulse()) as api:
        api.collection(_BUDGETS)
        for path in _PATHS.values():
            api.collection(path).streams_lists = True
        for item in cluster_items(nodes, 0, [Rules.PREFERRED]):
            api.collection(_PATHS[item["kind"]]).put(item)
        for path in _PATHS.values():
            api.collection(path).compact()
        running = [
            _Running(app, name, node)
            for app, name, node, _ in placed_pods(nodes, pods, [Rules.PREFERRED])
        ]
        churned = api.collection(_PODS)
        _stream(churned, running)
        print(api.url, flush=True)
        await _churn(churned, running)


def _stream(pods: Collection, running: list[_Running]) -> None:
    """Answer the next list with the pods that are there then, and every later one."""

    async def answer(request: web.Request) -> web.StreamResponse:
        _stream(pods, running)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        version, left = pods.api.version, iter(list(running))
        while some := list(islice(left, _TOGETHER)):
            await response.write(b"".join([each.event("ADDED", version) for each in some]))
        await response.write(initial_events_end(version))
        await asyncio.Event().wait()
        return response

    pods.streams.append(answer)


async def _churn(pods: Collection, running: list[_Running]) -> None:
    dice = random.Random(len(running))
    rate, due = 0, 0.0
    commands = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    last = time.monotonic()
    while True:
        if commands.done():
            line = commands.result()
            if not line:
                return
            rate, due = int(line), 0.0
            commands = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
        now = time.monotonic()
        due, last = due + rate * (now - last), now
        for _ in range(int(due) // 2):
            _replace(pods, running, dice)
            due -= 2
        await asyncio.sleep(_TICK)


def _replace(pods: Collection, running: list[_Running], dice: random.Random) -> None:
    """Delete a pod, and put another of its workload on the node of a third one."""
    place = dice.randrange(len(running))
    gone, other = running[place], dice.choice(running)
    pods.send(gone.event("DELETED", pods.api.next_version()))
    version = pods.api.next_version()
    running[place] = _Running(gone.app, f"new-{version}", other.node)
    pods.send(running[place].event("ADDED", version))


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
