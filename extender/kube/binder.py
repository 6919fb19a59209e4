"""Binds pods, and finds out what became of a bind whose answer was lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from extender.errors import ApiError, ExtenderError, ObjectError
from extender.kube.failures import BrokenAnswerError, NoAnswerError
from extender.model.binding import BindOutcome, Bound

if TYPE_CHECKING:
    from extender.kube.client import ApiClient
    from extender.model.objects import Pod
    from extender.wire.objects import PodReader

BIND_SECONDS: Final = 2.5
"""For the Binding itself. With as much as READ_SECONDS for looking what became of it, an answer is
given within the scheduler's httpTimeout of 5 s."""
READ_SECONDS: Final = 1.5

_CONFLICT: Final = 409
_NOT_FOUND: Final = 404
_SERVER_ERROR: Final = 500


class Binder:
    """Asks the API server to bind pods, as many at a time as are asked for."""

    def __init__(self, client: ApiClient, pods: PodReader) -> None:
        self._client = client
        self._pods = pods

    async def bind(self, pod: Pod, node: str) -> Bound:
        """Bind a pod; never raises for what the API server says or fails to say."""
        try:
            async with asyncio.timeout(BIND_SECONDS):
                await self._client.post(f"{_path(pod.key)}/binding", _binding(pod, node))
        except ApiError as error:
            if error.status == _CONFLICT:
                return await self._look(pod, node, str(error), otherwise=BindOutcome.REFUSED)
            if error.status >= _SERVER_ERROR:
                return await self._look(pod, node, str(error), otherwise=BindOutcome.UNCLEAR)
            return Bound(BindOutcome.REFUSED, str(error))
        except (NoAnswerError, BrokenAnswerError, TimeoutError) as error:
            # The server may still be working on the request that we gave up.
            why = str(error) or "the API server did not answer in time"
            return await self._look(pod, node, why, otherwise=BindOutcome.UNCLEAR)
        return Bound(BindOutcome.BOUND)

    async def read(self, key: str) -> Pod | None:
        """Return a pod as the API server has it, None when there is none; ExtenderError else."""
        try:
            async with asyncio.timeout(READ_SECONDS):
                return self._pods.read(await self._client.get(_path(key), {}))
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        except TimeoutError as error:
            raise NoAnswerError(f"{key}: no answer in time") from error

    async def _look(self, pod: Pod, node: str, why: str, *, otherwise: BindOutcome) -> Bound:
        """Find out what became of a bind: a pod on the right node was bound, whoever says no.

        `otherwise` is what it means that the pod is still unbound.
        """
        try:
            found = await self.read(pod.key)
        except (ExtenderError, ObjectError) as error:
            return Bound(BindOutcome.UNCLEAR, f"{why}; reading it back: {error}")
        if found is None or found.uid != pod.uid or found.terminal:
            return Bound(BindOutcome.REFUSED, f"{why}; the pod is gone")
        if found.node == node:
            return Bound(BindOutcome.BOUND)
        if found.node is not None:
            return Bound(BindOutcome.REFUSED, f"the pod is bound to {found.node} already")
        return Bound(otherwise, why)


def _path(key: str) -> str:
    namespace, _, name = key.partition("/")
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"


def _binding(pod: Pod, node: str) -> bytes:
    namespace, _, name = pod.key.partition("/")
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            # With the uid, a pod that was re-created under the name is not bound by mistake.
            "metadata": {"namespace": namespace, "name": name, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
    )
