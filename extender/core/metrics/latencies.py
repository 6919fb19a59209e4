"""What histograms hold, read back: how often something happened, and how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import Counter, Histogram

TO: Final = "le"
"""The label of a bucket's upper bound."""


@dataclass(frozen=True, slots=True)
class Latencies:
    upper: tuple[float, ...]
    """Bounds of the buckets in seconds; the last is infinite."""
    counts: tuple[float, ...]
    """Of each bucket and all below it."""

    @property
    def count(self) -> int:
        return int(self.counts[-1]) if self.counts else 0

    def since(self, earlier: Latencies) -> Latencies:
        """Return what came after an earlier reading of the same histogram."""
        if not earlier.counts:
            return self
        pairs = zip(self.counts, earlier.counts, strict=True)
        return Latencies(self.upper, tuple(now - before for now, before in pairs))

    def quantile(self, share: float) -> float | None:
        """Estimate a quantile in seconds, as PromQL's histogram_quantile does; None of nothing.

        In the last bucket it is that bucket's lower bound, which is all that is known.
        """
        wanted = share * self.count
        lower, below = 0.0, 0.0
        for upper, count in zip(self.upper, self.counts, strict=True):
            if count >= wanted and count > below:
                if upper == float("inf"):
                    return lower
                return lower + (upper - lower) * (wanted - below) / (count - below)
            lower, below = upper, count
        return None


NONE: Final = Latencies((), ())


def total(each: Iterable[Latencies]) -> Latencies:
    found = [one for one in each if one.counts]
    if not found:
        return NONE
    counts = tuple(map(sum, zip(*(one.counts for one in found), strict=True)))
    return Latencies(found[0].upper, counts)


@dataclass(frozen=True, slots=True)
class Calls:
    requests: Mapping[tuple[str, str], Latencies]
    """By verb and status code."""
    attempts: Mapping[str, float]
    """To place a pod, by result."""

    def of(self, verb: str, *, fine: bool | None = None) -> Latencies:
        """Return the calls of a verb; only those answered 200, or only the others, if asked."""
        wanted = (
            latencies
            for (name, code), latencies in self.requests.items()
            if name == verb and (fine is None or fine is (code == "200"))
        )
        return total(wanted)

    def since(self, earlier: Calls) -> Calls:
        return Calls(
            {
                labels: each.since(earlier.requests.get(labels, NONE))
                for labels, each in self.requests.items()
            },
            {
                result: count - earlier.attempts.get(result, 0.0)
                for result, count in self.attempts.items()
            },
        )


def read_histogram(series: Histogram) -> Latencies:
    """Read one series of a histogram; some tens of microseconds."""
    found = [
        (float(sample.labels[TO]), sample.value)
        for metric in series.collect()
        for sample in metric.samples
        if TO in sample.labels
    ]
    return Latencies(tuple(upper for upper, _ in found), tuple(count for _, count in found))


def read_counter(series: Counter) -> float:
    return next(sample.value for metric in series.collect() for sample in metric.samples)
