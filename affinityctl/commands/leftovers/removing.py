"""Takes away what is left on an object, unless it was changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Final

import msgspec

from affinityctl.commands.leftovers.finding import LEASE, POD, Marked, Metadata, Remnant
from extender.core.errors import ApiError
from extender.core.kube.calls import (
    JSON_PATCH,
    STRATEGIC_MERGE,
    condition_patch,
    lease_path,
    namespace_path,
    pod_path,
)
from extender.core.kube.client import ApiClient

_CHANGED: Final = frozenset((HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY))
"""As the API server says that a precondition, or a test of a patch, failed."""
_WITHIN: Final = 30.0
_FOLDERS: Final = {"annotation": "/metadata/annotations", "label": "/metadata/labels"}


async def remove(client: ApiClient, found: Marked, remnants: Iterable[Remnant]) -> bool:
    """Remove these; False if one of them was changed meanwhile. ApiError for other answers."""
    try:
        for path, body, kind in _requests(found, [*remnants]):
            if kind:
                await client.patch(path, body, kind, within=_WITHIN)
            else:
                await client.delete(path, body, within=_WITHIN)
    except ApiError as error:
        if error.status not in _CHANGED and not error.is_missing:
            raise
        return error.is_missing
    return True


def _requests(found: Marked, remnants: list[Remnant]) -> Iterator[tuple[str, bytes, str]]:
    """Yield path, body and kind of patch; no kind for a deletion."""
    about = found.metadata
    if found.kind == LEASE:
        yield lease_path(about.namespace or "", about.name), _deletion(about), ""
        return
    if found.kind == POD:
        path = pod_path(f"{about.namespace}/{about.name}")
    else:
        path = namespace_path(about.name)
    tests: list[dict[str, object]] = [_test("/metadata/uid", about.uid)]
    written = [
        step
        for each in remnants
        if each.place in _FOLDERS
        for step in _removed(f"{_FOLDERS[each.place]}/{_escaped(each.key)}", each.value)
    ]
    if written:
        yield path, msgspec.json.encode(tests + written), JSON_PATCH
    for each in remnants:
        if each.place == "condition":
            gone = {"type": each.key, "$patch": "delete"}
            yield f"{path}/status", condition_patch(about.uid, gone), STRATEGIC_MERGE
        elif each.place == "field":
            steps = tests + _removed(f"/status/{each.key}", each.value)
            yield f"{path}/status", msgspec.json.encode(steps), JSON_PATCH


def _deletion(about: Metadata) -> bytes:
    same = {"uid": about.uid, "resourceVersion": about.resource_version}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": same})


def _test(path: str, value: str) -> dict[str, object]:
    return {"op": "test", "path": path, "value": value}


def _removed(path: str, value: str) -> list[dict[str, object]]:
    return [_test(path, value), {"op": "remove", "path": path}]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
