"""PodStartupLatency: how long pods take from being created to running, as a watch sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from clusterload.durations import format_duration
from clusterload.measurements.base import Following, Outcome
from clusterload.reports import PERCENTILES, Limit, Summary, percentile, perf_data
from clusterload.watching import watching
from clusterload.workloads import Pod, read_pod

if TYPE_CHECKING:
    from clusterload.measurements.base import Surroundings
    from clusterload.parameters import Parameters

NAME = "PodStartupLatency"
DEFAULT_THRESHOLD_S = 5.0
STARTUP = "pod_startup"

# Upstream keeps apart when a pod runs and when the watch says so, though it notes both at once.
TRANSITIONS: Mapping[str, tuple[str, str]] = {
    "create_to_run": ("create", "run"),
    "create_to_schedule": ("create", "schedule"),
    STARTUP: ("create", "watch"),
    "run_to_watch": ("run", "watch"),
    "schedule_to_run": ("schedule", "run"),
    "schedule_to_watch": ("schedule", "watch"),
}

_MS = 1000.0


class PodStartupLatency(Following):
    """Notes when each pod is first seen, first has a node, and first runs."""

    def __init__(
        self, surroundings: Surroundings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(surroundings)
        self._clock = clock
        self._times: dict[str, dict[str, float]] = {}
        self._stateless: dict[str, bool] = {}
        self._thresholds: dict[int, float] = {}

    def note(self, pod: Pod) -> None:
        now = self._clock()
        self._stateless[pod.key] = pod.stateless
        times = self._times.setdefault(pod.key, {"create": now})
        if pod.node:
            times.setdefault("schedule", now)
        if pod.phase == "Running":
            times.setdefault("run", now)
            times.setdefault("watch", now)

    def latencies(self, *, stateless: bool | None = None) -> dict[str, list[float]]:
        """Return the seconds of each transition, in order; of all pods, or of some."""
        chosen = [
            times for key, times in self._times.items() if stateless in {None, self._stateless[key]}
        ]
        return {
            name: sorted(each[end] - each[begin] for each in chosen if {begin, end} <= each.keys())
            for name, (begin, end) in TRANSITIONS.items()
        }

    async def _start(self, parameters: Parameters) -> None:
        general = parameters.seconds("threshold", DEFAULT_THRESHOLD_S)
        self._thresholds = {
            each: parameters.seconds(f"perc{each}Threshold", general) for each in PERCENTILES
        }
        await self._open.enter_async_context(
            watching(self._surroundings.client, *parameters.pods(), read_pod, on_upsert=self.note)
        )

    async def _gather(self, parameters: Parameters) -> Outcome:
        del parameters
        await self.dispose()
        summaries = []
        error = ""
        for prefix, stateless in (("", None), ("Stateless", True), ("Stateful", False)):
            latencies = self.latencies(stateless=stateless)
            error = self._violation(latencies[STARTUP]) or error
            name = f"{prefix}{NAME}_{self._surroundings.identifier}"
            summaries.append(Summary(name, _report(latencies), limits=self._limits()))
        return Outcome(summaries, error)

    def _limits(self) -> list[Limit]:
        return [
            Limit(f"Perc{percent}", threshold * _MS, STARTUP)
            for percent, threshold in self._thresholds.items()
        ]

    def _violation(self, startup: list[float]) -> str:
        for percent, threshold in self._thresholds.items():
            if (value := percentile(startup, percent)) > threshold:
                return (
                    f"pod startup: the {percent}th percentile is {format_duration(value)}, "
                    f"more than {format_duration(threshold)}"
                )
        return ""


def _report(latencies: Mapping[str, list[float]]) -> dict[str, object]:
    return perf_data(
        "1.0",
        [
            (
                {f"Perc{each}": percentile(values, each) * _MS for each in PERCENTILES},
                "ms",
                {"Metric": name},
            )
            for name, values in latencies.items()
        ],
    )
