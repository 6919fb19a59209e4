"""Measurements that wait or take the time: WaitForRunningPods, Sleep and Timer."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from clusterload.measurements.base import Outcome
from clusterload.reports import Summary, perf_data
from clusterload.watching import watching
from clusterload.workloads import all_run, describe, read_pod, running
from extender.core.errors import ExtenderError

if TYPE_CHECKING:
    from clusterload.measurements.base import Surroundings
    from clusterload.parameters import Parameters

DEFAULT_TIMEOUT_S = 60.0


class WaitForRunningPods:
    """Waits until exactly as many pods as wanted run and are ready, and all others have ended.

    It looks at each change, so `refreshInterval` has no meaning here.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    async def execute(self, parameters: Parameters) -> Outcome:
        wanted = parameters.whole("desiredPodCount")
        timeout = parameters.seconds("timeout", DEFAULT_TIMEOUT_S)
        critical = parameters.flag("isFatal", default=False)
        around = self._surroundings
        async with watching(around.client, *parameters.pods(), read_pod) as pods:
            try:
                with around.waiting(lambda: running(pods.objects.values(), wanted)):
                    async with asyncio.timeout(timeout):
                        await pods.pulse.until(lambda: all_run(pods.objects.values(), wanted))
            except TimeoutError:
                found = describe(pods.objects.values())
                error = f"after {timeout:g} s not {wanted} pods run: {found}"
                return Outcome(error=error, critical=critical)
        return Outcome()

    async def dispose(self) -> None:
        """Do nothing: it is over when the call is."""


class Sleep:
    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    async def execute(self, parameters: Parameters) -> Outcome:
        seconds = parameters.seconds("duration")
        with self._surroundings.waiting(lambda: f"a pause of {seconds:g} s"):
            await asyncio.sleep(seconds)
        return Outcome()

    async def dispose(self) -> None:
        """Do nothing."""


class Timer:
    """Measures the time between two calls, under a label."""

    def __init__(self, surroundings: Surroundings) -> None:
        del surroundings
        self._begun: dict[str, float] = {}
        self._taken: dict[str, float] = {}

    async def execute(self, parameters: Parameters) -> Outcome:
        """Start or stop the timer of a label, or report all timers."""
        match parameters.text("action"):
            case "start":
                self._begun[parameters.text("label")] = time.monotonic()
            case "stop":
                label = parameters.text("label")
                if label not in self._begun:
                    raise ExtenderError(f"uninitialized timer {label}")
                self._taken[label] = time.monotonic() - self._begun.pop(label)
            case "gather":
                content = perf_data("v1", [(self._taken, "s", {"test": "phases"})])
                return Outcome([Summary("Timer", content)])
            case action:
                raise ExtenderError(f"unknown action {action}")
        return Outcome()

    async def dispose(self) -> None:
        """Do nothing."""
