"""Pods and questions without end, on a real API server; no name or label is ever used again.

As a program it is the API server's users: it creates and deletes pods that have a node already,
until it is ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.e2e.api import Api, ApiError, for_each
from tests.e2e.kubelet import RUNNING
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term

PLACED, ASKED, REFUSED = 45, 15, 2
"""Pods a second: that come with a node, that get one by a bind, and that fit nowhere."""
LIVES_S: Final = 8
NODES: Final = 60
MOST: Final = 3
SPACE_S: Final = 60
"""After which pods are in another namespace."""
_RULES: Final = "affinity-extender.io/affinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_BATCH: Final = "soak/batch"
_RELABELLED: Final = "soak/label"


def space(second: int) -> str:
    """Return the namespace of pods of that second."""
    return f"soak-{second // SPACE_S}"


def _made(kind: str, second: int, number: int, on: str | None = None) -> JSON:
    """Return a pod like no other; five share an application."""
    app = f"{kind}-{second}-{number // 5}"
    earlier = f"placed-{second - 2}-{number // 5}"
    own, theirs = [{"app": app}, {"app": earlier}]
    rules: dict[str, Any] = {"prefer_near": [(number + 1, term(ZONE, theirs))]}
    match number % 3:
        case 0:
            rules["apart"] = [term(HOSTNAME, own)]
        case 1:
            rules["prefer_apart"] = [(9, term(HOSTNAME, own)), (1, term(_RELABELLED, own))]
    if kind == "refused":
        rules["near"] = [term(ZONE, {"app": f"none-{second}-{number}"})]
    labels = {"app": app, "one": f"{kind}-{second}-{number}", _BATCH: str(second)}
    made = pod(f"{kind}-{second}-{number}", space(second), labels, on, **rules)
    if number % 6 == 2:
        limit = term(HOSTNAME, own) | {"maxMatchingPods": 3}
        text = json.dumps({"podAntiAffinity": {_REQUIRED: [limit]}})
        made["metadata"]["annotations"] = {_RULES: text}
    wanted = {"key": _RELABELLED, "operator": "NotIn", "values": [f"label-{second}"]}
    preference = {"weight": 1, "preference": {"matchExpressions": [wanted]}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}
    made["spec"]["affinity"] = {**made["spec"]["affinity"], "nodeAffinity": preferred}
    made["spec"]["terminationGracePeriodSeconds"] = 0
    return made


async def each_second(work: Callable[[int], Awaitable[None]]) -> None:
    """Begin some work as each second begins; one is left out while MOST are not through."""
    under_way, last = set[asyncio.Task[None]](), int(time.time())

    async def begun(second: int) -> None:
        with suppress(ApiError):  # a namespace may be going
            await work(second)

    async with asyncio.TaskGroup() as tasks:
        while True:
            await asyncio.sleep(last + 1 - time.time())
            last = max(last + 1, int(time.time()))
            if len(under_way) < MOST:
                task = tasks.create_task(begun(last))
                under_way.add(task)
                task.add_done_callback(under_way.discard)


class Users:
    """Create and delete what the extender watches."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._nodes: list[str] = []
        self._numbers = count()
        self._ended = int(time.time())

    async def run(self) -> None:
        for _ in range(NODES):
            await self._add_node()
        await each_second(self._second)

    async def _second(self, second: int) -> None:
        with suppress(aiohttp.ClientError):  # the API server cuts what takes it a minute
            await self._place(second)
            await self._change(second)
            await self._end(second - LIVES_S)

    async def _place(self, second: int) -> None:
        await self._ensure_space(second)
        on = [self._nodes[(second + each) % NODES] for each in range(PLACED)]
        made = [_made("placed", second, each, on[each]) for each in range(PLACED)]
        await for_each(made, self._run)

    async def _run(self, made: JSON) -> None:
        path = f"/api/v1/namespaces/{made['metadata']['namespace']}/pods"
        await self._api.create(path, made)
        await self._api.patch(f"{path}/{made['metadata']['name']}/status", {"status": RUNNING})

    async def _ensure_space(self, second: int) -> None:
        """Have the namespaces of this minute and the next, and none of those long ago."""
        for each in (second, second + SPACE_S):
            labels = {"n": space(each)}
            with suppress(ApiError):
                metadata = {"name": space(each), "labels": labels}
                await self._api.create("/api/v1/namespaces", {"metadata": metadata})
        await self._api.delete(f"/api/v1/namespaces/{space(second - 3 * SPACE_S)}")

    async def _change(self, second: int) -> None:
        """Change a node's labels; now and then replace one."""
        changed = self._nodes[second % NODES]
        labels = {"metadata": {"labels": {_RELABELLED: f"label-{second}"}}}
        await self._api.patch(f"/api/v1/nodes/{changed}", labels)
        if second % SPACE_S == 0:
            await self._add_node()
            await self._api.delete(f"/api/v1/nodes/{self._nodes.pop(0)}")

    async def _add_node(self) -> None:
        number = next(self._numbers)
        name = f"node-{int(time.time())}-{number}"
        await self._api.create("/api/v1/nodes", node(name, f"zone-{number % 6}"))
        self._nodes.append(name)

    async def _end(self, until: int) -> None:
        """Delete the pods of all seconds up to this one, those that were left out included."""
        ended, self._ended = range(self._ended, until + 1), until + 1
        for name in {space(each) for each in ended}:
            batches = ", ".join(str(each) for each in ended if space(each) == name)
            await self._api.request(
                "DELETE",
                f"/api/v1/namespaces/{name}/pods",
                {"gracePeriodSeconds": 0},
                labelSelector=f"{_BATCH} in ({batches})",
            )


class Caller:
    """Asks about pods in the scheduler's place, and has them bound."""

    def __init__(self, api: Api, url: str, nodes: Callable[[], list[str]]) -> None:
        self.spent: list[float] = []
        """Seconds of each call of filter and prioritize since it was emptied."""
        self.calls = 0
        self._api, self._url, self._nodes = api, url, nodes

    async def run(self) -> None:
        async with aiohttp.ClientSession() as session:
            await each_second(partial(self._second, session))

    async def _second(self, session: aiohttp.ClientSession, second: int) -> None:
        """Ask about one pod after the other, as a scheduler does, spread over the second."""
        pods = [_made("asked", second, each) for each in range(ASKED)]
        pods += [_made("refused", second, each) for each in range(REFUSED)]
        for number, made in enumerate(pods):
            await asyncio.sleep(max(0.0, second + number / len(pods) - time.time()))
            await self._cycle(session, made)

    async def _cycle(self, session: aiohttp.ClientSession, made: JSON) -> None:
        made = await self._api.create(
            f"/api/v1/namespaces/{made['metadata']['namespace']}/pods", made
        )
        names = self._nodes()
        about = {"Pod": made, "Nodes": None}
        fits = (await self._ask(session, "filter", {**about, "NodeNames": names}))["NodeNames"]
        metadata = made["metadata"]
        if not fits:
            victims = {name: {"Pods": [], "NumPDBViolations": 0} for name in names[:2]}
            await self._ask(session, "preempt", {**about, "NodeNameToMetaVictims": victims})
            return
        await self._ask(session, "prioritize", {**about, "NodeNames": fits})
        await self._ask(
            session,
            "bind",
            {
                "PodName": metadata["name"],
                "PodNamespace": metadata["namespace"],
                "PodUID": metadata["uid"],
                "Node": fits[len(self.spent) % len(fits)],
            },
        )

    async def _ask(self, session: aiohttp.ClientSession, verb: str, body: JSON) -> Any:
        self.calls += 1
        data = json.dumps(body, separators=(",", ":")).encode()
        began = time.perf_counter()
        async with session.post(f"{self._url}/{verb}", data=data) as answer:
            text = await answer.read()
            answer.raise_for_status()
        if verb in {"filter", "prioritize"}:
            self.spent.append(time.perf_counter() - began)
        return json.loads(text)


async def _main(server: str, token: str, ca: str) -> None:
    async with Api.connected(server, token, Path(ca)) as api:
        await Users(api).run()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
