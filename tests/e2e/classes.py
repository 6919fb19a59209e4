"""Priority classes that are there once a test goes on."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.e2e.api import Api, ApiError
from tests.e2e.objects import pod

if TYPE_CHECKING:
    from tests.e2e.objects import JSON

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_PODS = "/api/v1/namespaces/default/pods"
_KNOWN_S = 20.0
_RETRY_S = 0.05


async def ensure_priority_class(api: Api, name: str, value: int, **more: str) -> None:
    """Create a class unless it is there; return once the API server admits pods of it.

    Admission reads classes from a cache of its own, which no event tells of.
    """
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    try:
        await api.create(CLASSES, kind | {"metadata": {"name": name}, "value": value} | more)
    except ApiError as error:
        if error.status != HTTPStatus.CONFLICT:
            raise
    probe = pod(f"of-class-{name}")
    probe["spec"]["priorityClassName"] = name
    async with asyncio.timeout(_KNOWN_S):
        while not await _admitted(api, probe):  # noqa: ASYNC110 (no event tells)
            await asyncio.sleep(_RETRY_S)


async def _admitted(api: Api, probe: JSON) -> bool:
    try:
        await api.request("POST", _PODS, probe, dryRun="All")
    except ApiError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return False
    return True
