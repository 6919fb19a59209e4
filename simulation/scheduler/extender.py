"""A scheduler's calls to its extender: the bytes that Go sends, and what it makes of answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import msgspec

from simulation.apiserver.verbs import bind
from simulation.caller import Caller
from simulation.loop import reject, resolve
from simulation.network import Link
from simulation.scheduler.objects import PodInfo
from simulation.scheduler.preemption import Candidate

HTTP_TIMEOUT: Final = 5.0


class CallError(Exception):
    """The extender did not answer, or answered with an error: a SchedulerError for the pod."""


class Endpoint(Protocol):
    """Where an extender listens."""

    def call(self, verb: str, body: bytes) -> asyncio.Future[bytes]:
        """Begin to answer; ConnectionRefusedError when nobody listens."""


class Extender:
    """The extender as a scheduler is configured for it: nodeCacheCapable, and all four verbs."""

    def __init__(self, endpoint: Endpoint, link: Link) -> None:
        self._endpoint = endpoint
        self._link = link

    async def filter(self, pod: PodInfo, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the nodes that fit, and those of the others where preemption may help."""
        answer = await self._ask("filter", _args(pod, names))
        if answer.get("Error"):
            raise CallError(answer["Error"])
        fits = answer.get("NodeNames") or []
        if not set(fits) <= set(names):
            raise CallError("the extender names nodes that it was not asked about")
        return list(fits), list(answer.get("FailedNodes") or ())

    async def prioritize(self, pod: PodInfo, names: Sequence[str]) -> Mapping[str, int]:
        """Return scores; none when that fails."""
        try:
            answer = await self._ask("prioritize", _args(pod, names))
        except CallError:
            return {}
        return {each["Host"]: each["Score"] for each in answer or ()}

    async def bind(self, pod: PodInfo, node: str) -> None:
        """Have a pod bound; CallError when it is not, or may not be."""
        namespace, _, name = pod.key.partition("/")
        args = {"PodName": name, "PodNamespace": namespace, "PodUID": pod.uid, "Node": node}
        answer = await self._ask("bind", msgspec.json.encode(args))
        if answer.get("Error"):
            raise CallError(answer["Error"])

    async def preempt(self, pod: PodInfo, found: Sequence[Candidate]) -> Mapping[str, object]:
        meta = {
            each.node: {
                "Pods": [{"UID": victim.uid} for victim in each.victims],
                "NumPDBViolations": each.violations,
            }
            for each in found
        }
        tail = b',"NodeNameToVictims":null,"NodeNameToMetaVictims":'
        body = b'{"Pod":' + pod.json + tail + msgspec.json.encode(meta) + b"}"
        answer: Mapping[str, object] = await self._ask("preempt", body)
        return answer

    async def _ask(self, verb: str, body: bytes) -> Any:
        try:
            answer = await self._exchange(verb, body)
        except TimeoutError as failure:
            raise CallError(f"{verb}: timeout") from failure
        except OSError as failure:
            raise CallError(f"{verb}: {failure}") from failure
        return msgspec.json.decode(answer)

    async def _exchange(self, verb: str, body: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[bytes] = loop.create_future()
        up, down = self._link.up.pipe(), self._link.down.pipe()

        def answered(work: asyncio.Future[bytes]) -> None:
            if work.cancelled() or work.exception() is not None:
                lost = ConnectionResetError("connection reset by the extender")
                down.send(lambda: reject(arrived, lost))
            else:
                down.send(lambda: resolve(arrived, work.result()))

        def arrive() -> None:
            try:
                self._endpoint.call(verb, body).add_done_callback(answered)
            except ConnectionRefusedError as refused:
                failure = refused
                down.send(lambda: reject(arrived, failure))

        up.send(arrive)
        patience = loop.call_later(HTTP_TIMEOUT, reject, arrived, TimeoutError())
        try:
            return await arrived
        finally:
            patience.cancel()
            down.close()


class Assistant(Extender):
    """The extender in mode `assist`: it may be down if `ignorable`, and the scheduler binds."""

    def __init__(
        self, endpoint: Endpoint, link: Link, caller: Caller, *, ignorable: bool = True
    ) -> None:
        super().__init__(endpoint, link)
        self._caller = caller
        self._ignorable = ignorable

    async def filter(self, pod: PodInfo, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return what it says, or all nodes when it says nothing."""
        try:
            return await super().filter(pod, names)
        except CallError:
            if not self._ignorable:
                raise
            return list(names), []

    async def bind(self, pod: PodInfo, node: str) -> None:
        caller = self._caller
        act = partial(bind, caller.server.store, pod.key, pod.uid, node, caller.name)
        if not await caller.try_to(act):
            raise CallError("not bound")


def _args(pod: PodInfo, names: Sequence[str]) -> bytes:
    listed = msgspec.json.encode(names)
    return b'{"Pod":' + pod.json + b',"Nodes":null,"NodeNames":' + listed + b"}"
