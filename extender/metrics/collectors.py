"""Makes collectors: names with this program's prefix, on one registry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

PREFIX: Final = "affinity_extender"

_Child = TypeVar("_Child")


class Family(NamedTuple):
    """What one metric is, for its reference."""

    name: str
    """As in /metrics."""
    kind: str
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram."""


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
        self.families: Final[list[Family]] = []
        """What was made, in that order."""

    def counter(self, name: str, text: str) -> Counter:
        """Make a counter without labels."""
        return self._counter(PREFIX, name, text, ())

    def counters(
        self, name: str, text: str, *labels: str, prefix: str = PREFIX
    ) -> Children[Counter]:
        """Make a counter with labels."""
        return Children(self._counter(prefix, name, text, labels).labels)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Make a gauge, with labels or without."""
        self.families.append(Family(f"{PREFIX}_{name}", "gauge", text, labels))
        return Gauge(f"{PREFIX}_{name}", text, labels, registry=self.registry)

    def histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        """Make a histogram without labels."""
        return self._histogram(PREFIX, name, text, buckets, ())

    def histograms(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str, prefix: str = PREFIX
    ) -> Children[Histogram]:
        """Make a histogram with labels."""
        return Children(self._histogram(prefix, name, text, buckets, labels).labels)

    def values(self) -> dict[tuple[str, str], set[str]]:
        """Return the values that each label of each metric has by now."""
        values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for metric in self.registry.collect():
            full_name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            for sample in metric.samples:
                for label, value in sample.labels.items():
                    values[full_name, label].add(value)
        return values

    def _counter(self, prefix: str, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        self.families.append(Family(f"{prefix}_{name}_total", "counter", text, labels))
        return Counter(f"{prefix}_{name}", text, labels, registry=self.registry)

    def _histogram(
        self, prefix: str, name: str, text: str, buckets: tuple[float, ...], labels: tuple[str, ...]
    ) -> Histogram:
        full_name = f"{prefix}_{name}"
        self.families.append(Family(full_name, "histogram", text, labels, buckets))
        return Histogram(full_name, text, labels, registry=self.registry, buckets=buckets)
