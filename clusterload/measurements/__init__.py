"""The measurements that a test can call, by clusterloader2's names for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clusterload.measurements.base import Measurement, Outcome, Surroundings
from clusterload.measurements.controlled import WaitForControlledPodsRunning
from clusterload.measurements.prometheus import GenericPrometheusQuery
from clusterload.measurements.scheduler import SchedulingMetrics
from clusterload.measurements.startup import PodStartupLatency
from clusterload.measurements.throughput import SchedulingThroughput
from clusterload.measurements.waiting import Sleep, Timer, WaitForRunningPods

METHODS: Mapping[str, Callable[[Surroundings], Measurement]] = {
    each.__name__: each
    for each in (
        GenericPrometheusQuery,
        PodStartupLatency,
        SchedulingMetrics,
        SchedulingThroughput,
        Sleep,
        Timer,
        WaitForControlledPodsRunning,
        WaitForRunningPods,
    )
}

__all__ = ["METHODS", "Measurement", "Outcome", "Surroundings"]
