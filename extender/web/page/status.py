"""What pages show: the program and what it knows, and how callbacks did in the last minutes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, NoReturn

from extender.callbacks.refused_pods import RefusedPods
from extender.cluster.state import ClusterState
from extender.controllers.history import History
from extender.metrics import Metrics
from extender.metrics.latencies import NO_CALLS, Calls
from extender.ports import Check
from extender.web.turns import Turns, check_known

EVERY_SECONDS: Final = 15.0
READINGS: Final = 20
"""Five minutes."""
MODES: Final = {
    "assist": "scores come from here, the scheduler keeps the hard rules",
    "replace": "scores and hard rules come from here",
    "shadow": "answers change nothing, differences are counted and logged",
}


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """One kind of objects that answers depend on."""

    name: str

    synced: bool
    """Whether all of them have been listed."""

    objects: int

    last_event: float | None = None
    """When the API server was last heard of about them, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Status:
    """The program, at one moment."""

    mode: str

    source: str
    """Where objects come from: the API server's address, or names of files."""

    callbacks: str
    """URL for the scheduler's configuration."""

    started: float
    """In seconds since the epoch."""

    resources: tuple[ResourceStatus, ...]

    calls: Mapping[str, float | None] = field(default_factory=dict)
    """When the scheduler last called each verb, in seconds since the epoch; None before it did."""

    stale_after: float | None = None
    """Seconds of silence after which a watch is stale; None where nothing is watched."""


@dataclass(frozen=True, slots=True)
class Recent:
    """What came of callbacks."""

    all: Calls
    """Since the program began."""
    latest: Calls
    seconds: float
    """How long `latest` has taken."""


class RecentCalls:
    """Reads the metrics now and then, so that they can be compared with what they were."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = monotonic) -> None:
        self._metrics = metrics
        self._clock = clock
        self._readings: deque[tuple[float, Calls]] = deque([(clock(), NO_CALLS)], maxlen=READINGS)

    async def read(self) -> Recent:
        """Return what came of callbacks until now."""
        # In a thread, as for a scrape.
        calls = await asyncio.to_thread(self._metrics.calls)
        at, before = self._readings[0]
        return Recent(calls, calls.since(before), self._clock() - at)

    async def take(self) -> None:
        """Take a reading to compare later ones with."""
        calls = await asyncio.to_thread(self._metrics.calls)
        self._readings.append((self._clock(), calls))

    async def run(self) -> NoReturn:
        """Take readings until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            await self.take()


@dataclass(frozen=True, slots=True)
class Shown:
    """Whatever pages show parts of."""

    state: ClusterState
    recent: RecentCalls
    turns: Turns
    history: History
    unready: Check
    status: Callable[[], Status]
    refused: RefusedPods | None = None
    """None where filter refuses nothing."""

    @property
    def known(self) -> ClusterState:
        """Return the state; QueryError while parts of the cluster are not known yet."""
        check_known(self.unready)
        return self.state
