"""SchedulingThroughput: how many pods are scheduled a second."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from clusterload.measurements.base import Following, Outcome
from clusterload.reports import PERCENTILES, Limit, Summary, percentile
from clusterload.watching import Watch, watching
from clusterload.workloads import Pod, read_pod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterload.measurements.base import Surroundings
    from clusterload.parameters import Parameters

NAME = "SchedulingThroughput"
DEFAULT_INTERVAL_S = 5.0


class SchedulingThroughput(Following):
    """Counts scheduled pods at intervals, and reports percentiles of the increase a second."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._samples: list[float] = []

    async def _start(self, parameters: Parameters) -> None:
        # The name of the parameter is misspelt upstream, and so it has to be here.
        interval = parameters.seconds("measurmentInterval", DEFAULT_INTERVAL_S)
        pods = await self._open.enter_async_context(
            watching(self._surroundings.client, *parameters.pods(), read_pod)
        )
        sampling = asyncio.create_task(self._sample(pods, interval), name=NAME)
        self._open.push_async_callback(_end, sampling)

    async def _sample(self, pods: Watch[Pod], interval: float) -> None:
        scheduled, moment = scheduled_pods(pods), time.monotonic()
        while True:
            await asyncio.sleep(interval)
            before, begin = scheduled, moment
            scheduled, moment = scheduled_pods(pods), time.monotonic()
            # By the time that really went by: a busy machine must not look like a fast scheduler.
            self._samples.append((scheduled - before) / (moment - begin))

    async def _gather(self, parameters: Parameters) -> Outcome:
        threshold = parameters.number("threshold", 0.0)
        violations = parameters.flag("enableViolations", default=True)
        await self.dispose()
        summary = throughput(self._samples)
        best = summary["max"]
        error = ""
        if violations and best < threshold:
            error = f"scheduler throughput: {best:f} pods/s at best, less than {threshold:f}"
        limits = [Limit("max", threshold, at_least=True)] if violations and threshold else []
        return Outcome([Summary(NAME, summary, limits=limits)], error)


def throughput(samples: Sequence[float]) -> dict[str, float]:
    """Return the percentiles and the maximum of the samples."""
    ordered = sorted(samples)
    figures = {f"perc{each}": percentile(ordered, each) for each in PERCENTILES}
    return figures | {"max": max(ordered, default=0.0)}


def scheduled_pods(pods: Watch[Pod]) -> int:
    """Return how many pods have a node and stay there."""
    return sum(bool(pod.node) and not pod.deleting for pod in pods.objects.values())


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
