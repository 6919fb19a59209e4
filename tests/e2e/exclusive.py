"""The policy of manifests/components/exclusive, in force on the API server for a while."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.api import ApiError
from tests.e2e.applying import applied
from tests.e2e.objects import JSON, pod
from tests.e2e.sandbox import SETTLE_S, pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.api import Api

POLICY = Path(__file__).resolve().parents[2] / "manifests/components/exclusive/policy.yaml"
EXCLUSIVE = "affinity-extender.io/exclusive"
RACK = "example.com/rack"


def annotated(made: JSON, value: str = f"job by {RACK}") -> JSON:
    """Return a pod with the annotation."""
    metadata = made["metadata"]
    annotations = {**metadata.get("annotations", {}), EXCLUSIVE: value}
    return made | {"metadata": metadata | {"annotations": annotations}}


async def would_be(api: Api, made: JSON) -> JSON:
    """Return what the API server would store of a pod; ApiError where it refuses it."""
    return await api.request("POST", pods_path(made), made, dryRun="All")


@asynccontextmanager
async def written_by_policy(api: Api) -> AsyncIterator[None]:
    """Have both policies in force: the API server learns of them by a watch of its own."""
    good, bad = (annotated(pod("probe", labels=each)) for each in ({"job": "probe"}, {}))
    async with applied(api, POLICY):
        async with asyncio.timeout(SETTLE_S):
            while not (await _is_written(api, good) and await is_refused(api, bad)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        yield


async def _is_written(api: Api, made: JSON) -> bool:
    return not await is_refused(api, made) and "affinity" in (await would_be(api, made))["spec"]


async def is_refused(api: Api, made: JSON) -> bool:
    """Return whether the API server would not store a pod."""
    try:
        await would_be(api, made)
    except ApiError:
        return True
    return False
