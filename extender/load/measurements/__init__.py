"""The measurements that a test can call, by clusterloader2's names for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from extender.load.measurements.base import Measurement, Outcome, Surroundings
from extender.load.measurements.controlled import WaitForControlledPodsRunning
from extender.load.measurements.prometheus import GenericPrometheusQuery
from extender.load.measurements.scheduler import SchedulingMetrics
from extender.load.measurements.startup import PodStartupLatency
from extender.load.measurements.throughput import SchedulingThroughput
from extender.load.measurements.waiting import Sleep, Timer, WaitForRunningPods

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
