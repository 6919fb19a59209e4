"""Makes collectors: names with this program's prefix, on one registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

PREFIX: Final = "affinity_extender"

_Child = TypeVar("_Child")


class Children(dict[tuple[str, ...], _Child], Generic[_Child]):
    """The series of one metric by their label values; half the cost of asking the metric."""

    def __init__(self, labels: Callable[..., _Child]) -> None:
        super().__init__()
        self._labels = labels

    def __missing__(self, values: tuple[str, ...]) -> _Child:
        child = self[values] = self._labels(*values)
        return child

    def begin(self, *values: str) -> None:
        """Have a series before its first event: a counter or histogram at 0."""
        _ = self[values]


class Collectors:
    """Makes the collectors of one registry; `prefix` is for names that are not this program's."""

    def __init__(self, registry: CollectorRegistry) -> None:
        # Otherwise each series brings a second one with its time of creation, for nobody.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry: Final = registry

    def counter(self, name: str, text: str) -> Counter:
        """Make a counter without labels."""
        return Counter(f"{PREFIX}_{name}", text, registry=self.registry)

    def counters(
        self, name: str, text: str, *labels: str, prefix: str = PREFIX
    ) -> Children[Counter]:
        """Make a counter with labels."""
        metric = Counter(f"{prefix}_{name}", text, labels, registry=self.registry)
        return Children(metric.labels)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Make a gauge, with labels or without."""
        return Gauge(f"{PREFIX}_{name}", text, labels, registry=self.registry)

    def histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        """Make a histogram without labels."""
        return Histogram(f"{PREFIX}_{name}", text, registry=self.registry, buckets=buckets)

    def histograms(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str, prefix: str = PREFIX
    ) -> Children[Histogram]:
        """Make a histogram with labels."""
        full_name = f"{prefix}_{name}"
        metric = Histogram(full_name, text, labels, registry=self.registry, buckets=buckets)
        return Children(metric.labels)
