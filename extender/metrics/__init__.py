"""What this program tells Prometheus; edges call it, the core does not know it.

Names, labels and bucket bounds are a contract with dashboards and alerts. No label ever holds the
name of a pod, a node or a namespace: their number has no bound. A series whose labels can be known
beforehand is there from the start: `rate()` misses the step from nothing to one.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry

from extender.metrics.cache import CacheMetrics
from extender.metrics.callbacks import CallbackMetrics
from extender.metrics.collectors import PREFIX, Collectors, Family
from extender.metrics.health import HealthMetrics
from extender.metrics.process import ProcessMetrics

__all__ = ["PREFIX", "Family", "Metrics"]


class Metrics(CallbackMetrics, CacheMetrics, ProcessMetrics):
    """All collectors, on the registry given; one instance for each registry."""

    def __init__(self, registry: CollectorRegistry | None = None, version: str = "") -> None:
        """Without a registry, one of its own is made."""
        make = Collectors(registry or CollectorRegistry())
        self.families: Final = make.families
        self.values: Final = make.values
        CallbackMetrics.__init__(self, make)
        CacheMetrics.__init__(self, make)
        ProcessMetrics.__init__(self, make, version)
        self.health: Final = HealthMetrics()
        """On a registry of its own: /metrics/slis has nothing else."""
