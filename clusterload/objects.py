"""Creates, changes and deletes objects of any kind, patient with a busy API server."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from extender.core.errors import ExtenderError
from extender.core.kube.failures import BrokenAnswerError, NoAnswerError, StatusError
from extender.core.kube.frames import read_answer
from extender.core.kube.pacing import Timing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from extender.core.kube.client import ApiClient

T = TypeVar("T")

MERGE_PATCH: Final = "application/merge-patch+json"

# clusterloader2's patience: 0.1 s, 0.3 s and so on, six attempts in all.
_FIRST_PAUSE_S, _FACTOR, _ATTEMPTS = 0.1, 3.0, 6
_TRANSIENT = frozenset((401, 429, 500, 503, 504))


class Kind(NamedTuple):
    api_version: str
    name: str


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


class Objects:
    """Writes the objects of a test; asks for the resources of each group and version once."""

    def __init__(self, client: ApiClient, timing: Timing | None = None) -> None:
        self._client = client
        self._timing = timing or Timing()
        self._plurals: dict[str, dict[str, str]] = {}

    async def create(self, namespace: str, name: str, obj: dict[str, Any]) -> None:
        """Create an object under this name; one that exists already is no error."""
        path = await self.collection(Kind(obj["apiVersion"], obj["kind"]), namespace)
        body = msgspec.json.encode(_named(obj, namespace, name))
        await self._patiently(lambda: self._client.post(path, body), HTTPStatus.CONFLICT)

    async def patch(self, namespace: str, name: str, obj: dict[str, Any]) -> None:
        """Change the fields of an object that `obj` gives, and leave the others as they are."""
        path = await self.collection(Kind(obj["apiVersion"], obj["kind"]), namespace)
        body = msgspec.json.encode(_named(obj, namespace, name))
        await self._patiently(lambda: self._client.patch(f"{path}/{name}", body, MERGE_PATCH))

    async def delete(self, namespace: str, name: str, kind: Kind) -> None:
        """Delete an object, and in the background its dependents; one that is gone is no error."""
        path = await self.collection(kind, namespace)
        body = b'{"propagationPolicy": "Background"}'
        await self._patiently(
            lambda: self._client.delete(f"{path}/{name}", body), HTTPStatus.NOT_FOUND
        )

    async def collection(self, kind: Kind, namespace: str = "") -> str:
        """Return the path of all objects of a kind, in one namespace or in all."""
        base = f"/{'apis' if '/' in kind.api_version else 'api'}/{kind.api_version}"
        if base not in self._plurals:
            body = await self._patiently(lambda: self._client.get(base, {}))
            found = read_answer(body or b"", _Resources).resources
            # Subresources name kinds as well, pods/eviction for example.
            self._plurals[base] = {each.kind: each.name for each in found if "/" not in each.name}
        plural = self._plurals[base].get(kind.name)
        if plural is None:
            raise ExtenderError(f"the API server has no {kind.name} in {kind.api_version}")
        return f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"

    async def _patiently(
        self, request: Callable[[], Awaitable[T]], allowed: HTTPStatus | None = None
    ) -> T | None:
        """Send a request, again after failures that may pass; an allowed status returns None."""
        pause = _FIRST_PAUSE_S
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await request()
            except (StatusError, NoAnswerError, BrokenAnswerError) as failure:
                if isinstance(failure, StatusError):
                    if failure.status == allowed:
                        return None
                    if failure.status not in _TRANSIENT and failure.retry_after is None:
                        raise
                if attempt == _ATTEMPTS:
                    raise
                asked = getattr(failure, "retry_after", None) or 0.0
                await self._timing.sleep(max(pause, asked))
                pause *= _FACTOR
        raise AssertionError("unreachable: the last attempt returns or raises")


def _named(obj: dict[str, Any], namespace: str, name: str) -> dict[str, Any]:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if value is not None}
    metadata.pop("generateName", None)
    metadata |= {"name": name} | ({"namespace": namespace} if namespace else {})
    return {**obj, "metadata": metadata}
