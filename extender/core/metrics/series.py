"""One metric is one row: name, help, labels with what is known of their values; and its series."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import product
from typing import Final, Generic, NamedTuple, TypeVar

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics import MetricWrapperBase

PREFIX: Final = "affinity_extender"

_Child = TypeVar("_Child", bound=MetricWrapperBase)


class Family(NamedTuple):
    """What one metric is, for its reference."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram."""


class Series(dict[tuple[str, ...], _Child], Generic[_Child]):
    """The series of one metric by their label values; half the cost of asking the metric."""

    def __init__(self, metric: _Child, known: Iterable[Iterable[str]] | None) -> None:
        """Begin with all combinations of the label values that are `known` beforehand."""
        super().__init__()
        self._metric = metric
        if known is not None:
            self.begin(*known)

    def __missing__(self, values: tuple[str, ...]) -> _Child:
        child = self[values] = self._metric.labels(*values) if values else self._metric
        return child

    def begin(self, *values: Iterable[str]) -> None:
        """Have a series at 0 for each combination of label values, before its first event."""
        for each in product(*values):
            _ = self[each]


class CounterRow(Series[Counter]):
    """How often something happened."""

    def count(self, *values: str, by: int = 1) -> None:
        self[values].inc(by)


class GaugeRow(Series[Gauge]):
    """How things are."""

    def set(self, number: float, *values: str) -> None:
        self[values].set(number)

    def ask(self, number: Callable[[], float], *values: str) -> None:
        """Ask at each scrape; it is called from another thread, so a `len` and no more."""
        self[values].set_function(number)


class HistogramRow(Series[Histogram]):
    """How long something took."""

    def observe(self, seconds: float, *values: str) -> None:
        self[values].observe(seconds)


class Collectors:
    """Makes the rows of one registry; all names begin with the prefix.

    A row's labels are either names, or names with all values that each can have.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        prefix: str = PREFIX,
        families: list[Family] | None = None,
    ) -> None:
        """Add what is made to `families`."""
        # Otherwise each series brings a second one with its time of creation, for nobody.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry: Final = registry
        self.families: Final[list[Family]] = [] if families is None else families
        """What was made, in that order."""
        self._prefix = prefix

    def under(self, prefix: str) -> Collectors:
        """Return what makes rows of the same registry with names that are not this program's."""
        return Collectors(self.registry, prefix, self.families)

    def counters(self, name: str, text: str, *labels: str, **known: Iterable[str]) -> CounterRow:
        name = self._add(name, "counter", text, (*labels, *known))
        metric = Counter(name, text, (*labels, *known), registry=self.registry)
        return CounterRow(metric, None if labels else known.values())

    def gauges(self, name: str, text: str, *labels: str, **known: Iterable[str]) -> GaugeRow:
        name = self._add(name, "gauge", text, (*labels, *known))
        metric = Gauge(name, text, (*labels, *known), registry=self.registry)
        return GaugeRow(metric, None if labels else known.values())

    def histograms(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> HistogramRow:
        name = self._add(name, "histogram", text, labels, buckets)
        metric = Histogram(name, text, labels, registry=self.registry, buckets=buckets)
        return HistogramRow(metric, None if labels else ())

    def _add(
        self,
        name: str,
        kind: str,
        text: str,
        labels: tuple[str, ...],
        buckets: tuple[float, ...] = (),
    ) -> str:
        name = f"{self._prefix}_{name}"
        shown = f"{name}_total" if kind == "counter" else name
        self.families.append(Family(shown, kind, text, labels, buckets))
        return name

    def values(self) -> dict[tuple[str, str], set[str]]:
        """Return the values that each label of each metric has by now."""
        values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for metric in self.registry.collect():
            full_name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            for sample in metric.samples:
                for label, value in sample.labels.items():
                    values[full_name, label].add(value)
        return values

    def exposition(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body in the format that an Accept header prefers.

        It takes milliseconds; call it in a thread, not between two callbacks.
        """
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self.registry)
