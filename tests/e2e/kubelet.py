"""The part of a kubelet that controllers wait for: placed pods run, deleted pods go away."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from tests.e2e.api import Api, ApiError, Mirror, key_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

    from tests.e2e.objects import JSON

RUNNING = {
    "phase": "Running",
    "conditions": [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")],
}


async def run_pods(
    api: Api,
    pods: Mirror,
    seen: Callable[[JSON], Awaitable[None]] | None = None,
    stays: Callable[[JSON], bool] = lambda _: False,
    running: Callable[[], JSON] = lambda: RUNNING,
) -> None:
    """Do a kubelet's work for all nodes, for ever.

    A pod becomes ready only when ``seen`` has returned for it. Controllers pace themselves by
    readiness, so the extender knows each pod before the next is created. One that ``stays`` does
    not go away; ``running`` returns the status of one that runs.
    """
    async for pod in pods.changes():
        if not pod["spec"].get("nodeName"):
            continue
        path = "/api/v1/namespaces/{}/pods/{}".format(*key_of(pod).split("/"))
        # By now another pod may have the name, as one of a StatefulSet.
        named = {"uid": pod["metadata"]["uid"]}
        with suppress(ApiError):  # it may have been deleted meanwhile
            if pod["metadata"].get("deletionTimestamp"):
                if not stays(pod):
                    at_once = {"gracePeriodSeconds": 0, "preconditions": named}
                    await api.request("DELETE", path, at_once)
            elif pod["status"]["phase"] == "Pending":
                if seen is not None:
                    await seen(pod)
                await api.patch(f"{path}/status", {"metadata": named, "status": running()})


async def end_pods(api: Api, pods: Mirror, seconds: Callable[[JSON], float]) -> None:
    """End pods that are deleted, each after so many seconds and beside the others, for ever."""

    async def end(pod: JSON) -> None:
        await asyncio.sleep(seconds(pod))
        await api.delete("/api/v1/namespaces/{}/pods/{}".format(*key_of(pod).split("/")))

    ending: set[str] = set()
    async with asyncio.TaskGroup() as tasks:
        async for pod in pods.changes():
            metadata = pod["metadata"]
            if metadata["uid"] not in ending and metadata.get("deletionTimestamp"):
                ending.add(metadata["uid"])
                tasks.create_task(end(pod))


@asynccontextmanager
async def working(*works: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Have some work done meanwhile."""
    tasks = [asyncio.create_task(each) for each in works]
    try:
        yield
    finally:
        for each in tasks:
            each.cancel()
            with suppress(asyncio.CancelledError):
                await each
