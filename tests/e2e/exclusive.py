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
async def written_by_policy(api: Api, file: Path = POLICY) -> AsyncIterator[None]:
    """Have the policies of a file in force, and none of them before or after.

    The API server learns of them by watches of its own, one for each kind.
    """
    pods = [annotated(pod("probe", labels=each)) for each in ({"job": "probe"}, {})]
    async with applied(api, file):
        await _until(api, pods, ["written" if file == POLICY else "refused", "refused"])
        yield
    await _until(api, pods, ["stored", "stored"])


async def _until(api: Api, pods: list[JSON], answers: list[str]) -> None:
    """Wait until this is what becomes of pods."""
    async with asyncio.timeout(SETTLE_S):
        while [await _answer(api, each) for each in pods] != answers:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _answer(api: Api, made: JSON) -> str:
    try:
        stored = await would_be(api, made)
    except ApiError:
        return "refused"
    return "written" if "affinity" in stored["spec"] else "stored"
