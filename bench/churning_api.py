"""An API server with a cluster whose pods come and go, as often as the standard input says."""

from __future__ import annotations

import asyncio
import random
import sys
import time

from bench.workloads import Rules, cluster_items
from tests.kube.fake_api import Collection, FakeApi
from tests.kube.pulse import Pulse

_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/pods",
}
_BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
_TICK = 0.02
"""Events of so many seconds come together, as a watch cache sends them."""


async def serve(nodes: int, pods: int) -> None:
    """Serve until the standard input ends; each line on it is a number of events a second."""
    async with FakeApi(Pulse()) as api:
        api.collection(_BUDGETS)
        for path in _PATHS.values():
            api.collection(path).streams_lists = True
        for item in cluster_items(nodes, pods, [Rules.PREFERRED]):
            api.collection(_PATHS[item["kind"]]).put(item)
        for path in _PATHS.values():
            api.collection(path).compact()
        print(api.url, flush=True)
        await _churn(api.collection(_PATHS["Pod"]))


async def _churn(pods: Collection) -> None:
    dice = random.Random(len(pods.objects))
    running = list(pods.objects)
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


def _replace(pods: Collection, running: list[str], dice: random.Random) -> None:
    """Delete a pod, and put another of its workload on the node of a third one."""
    place = dice.randrange(len(running))
    gone = pods.objects[running[place]]
    other = pods.objects[running[dice.randrange(len(running))]]
    pods.delete(running[place])
    name = f"new-{pods.api.version}"
    metadata = gone["metadata"] | {"name": name, "uid": f"uid-{name}"}
    pods.put(
        gone
        | {"metadata": metadata, "spec": gone["spec"] | {"nodeName": other["spec"]["nodeName"]}}
    )
    running[place] = f"{metadata['namespace']}/{name}"


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
