"""What this program tells Prometheus; edges call it, the core does not know it.

Names, labels and bucket bounds are a contract with dashboards and alerts. No label ever holds the
name of a pod, a node or a namespace: their number has no bound. A series whose labels can be known
beforehand is there from the start: `rate()` misses the step from nothing to one.
"""

from __future__ import annotations

from extender.core.metrics.series import PREFIX, Family
from extender.core.metrics.table import Metrics

__all__ = ["PREFIX", "Family", "Metrics"]
