"""SchedulingMetrics: kube-scheduler's histograms of the time between two calls."""

from __future__ import annotations

import logging
import math
from collections import Counter
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from clusterload.durations import SECOND
from clusterload.measurements.base import Outcome
from clusterload.reports import PERCENTILES, Summary
from extender.core.errors import ExtenderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterload.measurements.base import Surroundings
    from clusterload.parameters import Parameters

logger = logging.getLogger(__name__)

NAME = "SchedulingMetrics"

EXTENSION_POINTS = (
    *("PreFilter", "Filter", "PostFilter", "PreScore", "Score"),
    *("PreBind", "Bind", "PostBind", "Reserve", "Unreserve", "Permit"),
)
_BY_POINT = "scheduler_framework_extension_point_duration_seconds"
_OTHERS = {
    "preemptionEvaluationLatency": "scheduler_scheduling_algorithm_preemption_evaluation_seconds",
    "e2eSchedulingLatency": "scheduler_pod_scheduling_sli_duration_seconds",
    "schedulingLatency": "scheduler_scheduling_algorithm_duration_seconds",
}

Buckets = Counter[float]
"""Cumulative counts by upper bound, in seconds."""


class SchedulingMetrics:
    """Subtracts the histograms at its start from those at its end."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._monitoring = surroundings.monitoring
        self._begin: dict[str, Buckets] = {}

    async def execute(self, parameters: Parameters) -> Outcome:
        action = parameters.text("action")
        pages = await self._monitoring.scheduler_metrics()
        if not pages:
            logger.warning("%s is left out: no control-plane node, no scheduler address", NAME)
            return Outcome()
        match action:
            case "reset" | "start":
                self._begin = histograms(pages)
                return Outcome()
            case "gather":
                now = histograms(pages)
                for name, buckets in self._begin.items():
                    now[name].subtract(buckets)
                return Outcome([Summary(NAME, report(now))])
            case _:
                raise ExtenderError(f"unknown action {action}")

    async def dispose(self) -> None:
        """Do nothing."""


def histograms(pages: Iterable[str]) -> dict[str, Buckets]:
    """Add up the buckets of all series, by extension point or by the report's name for them.

    ExtenderError for a page that is none of metrics.
    """
    try:
        return _histograms(pages)
    except (ValueError, OverflowError) as error:
        raise ExtenderError(f"the metrics of kube-scheduler cannot be read: {error}") from error


def _histograms(pages: Iterable[str]) -> dict[str, Buckets]:
    found = {name: Buckets() for name in (*EXTENSION_POINTS, *_OTHERS)}
    names = {metric: name for name, metric in _OTHERS.items()}
    for page in pages:
        for family in text_string_to_metric_families(page):
            if family.name not in names and family.name != _BY_POINT:
                continue
            for sample in family.samples:
                name = names.get(family.name) or sample.labels.get("extension_point", "")
                if "le" in sample.labels and name in found:
                    found[name][float(sample.labels["le"])] += int(float(sample.value))
    return found


def report(found: Mapping[str, Buckets]) -> dict[str, object]:
    """Return the report, in whole nanoseconds."""
    return {
        "frameworkExtensionPointDuration": {
            point: _quantiles(found[point]) for point in sorted(EXTENSION_POINTS)
        },
        **{name: _quantiles(found[name]) for name in _OTHERS},
    }


def quantile(buckets: Buckets, share: float) -> float:
    """Return seconds by linear interpolation in a bucket, as Prometheus does; 0 without counts."""
    bounds = sorted(buckets)
    if not bounds or not buckets[bounds[-1]]:
        return 0.0
    if not math.isinf(bounds[-1]):
        buckets = Buckets({**buckets, math.inf: buckets[bounds[-1]]})
        bounds.append(math.inf)
    rank = share * buckets[bounds[-1]]
    lower, below = 0.0, 0
    for bound in bounds:
        if buckets[bound] >= rank:
            if math.isinf(bound):
                break
            return lower + (bound - lower) * (rank - below) / (buckets[bound] - below)
        lower, below = bound, buckets[bound]
    return lower


def _quantiles(buckets: Buckets) -> dict[str, int]:
    return {f"Perc{each}": int(quantile(buckets, each / 100) * SECOND) for each in PERCENTILES}
