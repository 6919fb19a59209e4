"""A start beside a real API server: seconds until ready, and memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from bench.scheduler.cluster import control_plane_in, say
from bench.scheduler.workloads import ZONE_AND_HOST, crowded
from bench.servers import memory_of
from bench.tables import table
from tests.e2e.access import grant_shipped_role
from tests.e2e.api import Api, for_each
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.extending import EXTENDER, REPLACE, Extender
from tests.e2e.objects import JSON
from tests.e2e.sandbox import pods_path

_SETTLING_S = 5.0
"""Until garbage of the start is gone and memory at rest shows."""
_TOLD_EVERY = 10_000


@dataclass(frozen=True, slots=True)
class Outcome:
    pods: int
    seconds: float
    """From the start of the process until /readyz said yes."""
    resident: float
    """MiB, some seconds later."""
    highest: float


async def measure(pods: int, starts: int) -> list[Outcome]:
    """Fill an API server with pods that have rules, and start beside it a few times."""
    workload = crowded("Preferred apart by zone and host", pods, prefer_apart=ZONE_AND_HOST)
    with control_plane_in(say) as (running, folder):
        ca = running.credentials.ca
        async with Api.connected(running.server, ADMIN.token, ca) as api:
            await grant_shipped_role(api, EXTENDER)
            for each in workload.namespaces:
                await api.create("/api/v1/namespaces", each)
            await for_each(workload.all_nodes(), partial(api.create, "/api/v1/nodes"))
            pods_there = _told(workload.all_existing())
            await for_each(pods_there, lambda each: api.create(pods_path(each), each))
        outcomes = []
        for number in range(starts):
            place = folder / f"start-{number}"
            place.mkdir()
            start = time.monotonic()
            async with Extender.running(running, REPLACE, place) as extender:
                seconds = time.monotonic() - start
                await asyncio.sleep(_SETTLING_S)
                resident, highest = memory_of(extender.pid)
            outcomes.append(Outcome(pods, seconds, resident, highest))
            say(str(outcomes[-1]))
        return outcomes


def _told(pods: Iterable[JSON]) -> Iterator[JSON]:
    """Say how far we are in creating them."""
    for number, each in enumerate(pods, 1):
        yield each
        if number % _TOLD_EVERY == 0:
            say(f"created {number:,}")


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    return table(
        ("pods", "ready after, s", "resident, MiB", "highest, MiB"),
        [
            (f"{o.pods:,}", f"{o.seconds:.1f}", f"{o.resident:.0f}", f"{o.highest:.0f}")
            for o in outcomes
        ],
    )
