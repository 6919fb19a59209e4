"""Metrics of the cluster as it is known here, and of how it gets here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from extender.metrics.collectors import Collectors


class CacheMetrics:
    """What is in the cache; the mirror of the API server reports to it as its observer."""

    def __init__(self, make: Collectors) -> None:
        self._make = make
        self._violations = make.gauge(
            "violations",
            "Required terms that placed pods break now, each counted once a topology domain.",
            *("plugin", "rule"),
        )
        self._drifted = make.gauge(
            "drifted_pods",
            "Placed pods whose rules still have the old value of a label that was edited later.",
        )
        self._broken_annotations = make.gauge(
            "broken_annotations", "Pods with rules in annotations that cannot be read."
        )
        self._ignored_annotations = make.gauge(
            "ignored_annotations",
            "Pods with rules in annotations in namespaces where annotations do not count.",
        )
        self._reservations = make.gauge(
            "reservations", "Pods assumed on a node: reserved there, not yet shown by the watch."
        )
        self._objects = make.gauge("cache_objects", "Objects in the cache.", "resource")
        self._synced = make.gauge(
            "cache_synced", "1 once a resource has been listed completely.", "resource"
        )
        self._last_event = make.gauge(
            "cache_last_event_timestamp_seconds",
            "When the API server last sent anything, in seconds since the epoch; 0 is never.",
            "resource",
        )
        self._events = make.counters(
            "watch_events", "Watch events, by their type.", "resource", "type"
        )
        self._skipped = make.counters(
            "watch_events_skipped",
            "Objects and events left out because they could not be read.",
            *("resource", "reason"),
        )
        self._restarts = make.counters(
            "watch_restarts", "Watches opened again, by cause.", "resource", "reason"
        )
        self._relists = make.counters(
            "relists", "Resources listed again from the start, by cause.", "resource", "reason"
        )
        self._mismatches = make.counter(
            "consistency_mismatches",
            "Counters that differed from a recount; anything above 0 is a bug in this program.",
        )

    def track_reservations(self, count: Callable[[], int]) -> None:
        """Ask `count` at each scrape, from another thread."""
        self._reservations.set_function(lambda: float(count()))

    def track_annotations(self, broken: Callable[[], int], ignored: Callable[[], int]) -> None:
        """Ask at each scrape, from another thread."""
        self._broken_annotations.set_function(lambda: float(broken()))
        self._ignored_annotations.set_function(lambda: float(ignored()))

    def track_quotas(self, pods: Callable[[], int], namespaces: Callable[[], int]) -> None:
        """Ask for the pods in scope that count, and their namespaces, at each scrape."""
        # Not there at all where nobody counts: a 0 would be a lie.
        make = self._make
        make.gauge(
            "quota_pods_in_scope", "Pods with cross-namespace affinity, placed or reserved."
        ).set_function(lambda: float(pods()))
        make.gauge("quota_namespaces_in_scope", "Namespaces that have such pods.").set_function(
            lambda: float(namespaces())
        )

    def track_objects(self, resource: str, count: Callable[[], int]) -> None:
        """Ask `count` at each scrape; it is called from another thread, so a `len` and no more."""
        self._objects.labels(resource).set_function(lambda: float(count()))

    def set_violations(self, plugin: str, rule: str, number: int) -> None:
        """Note how many required rules are broken; `rule` is affinity or antiAffinity."""
        self._violations.labels(plugin, rule).set(number)

    def set_drifted(self, pods: int) -> None:
        """Note how many placed pods have labels that their rules do not follow."""
        self._drifted.set(pods)

    def count_mismatches(self, number: int) -> None:
        """Count counters that a recount corrected."""
        self._mismatches.inc(number)

    # The observer of the mirror

    def begin_mirror(
        self,
        resource: str,
        *,
        kinds: Iterable[str],
        skips: Iterable[str],
        restarts: Iterable[str],
        relists: Iterable[str],
    ) -> None:
        """Have the series of a resource that is watched, by all that can become of it."""
        self._last_event.labels(resource)
        for counters, values in (
            (self._events, kinds),
            (self._skipped, skips),
            (self._restarts, restarts),
            (self._relists, relists),
        ):
            for value in values:
                counters.begin(resource, value)

    def synced(self, resource: str, synced: bool) -> None:  # noqa: FBT001 - a metric's value
        """Note whether the first list has been taken over completely."""
        self._synced.labels(resource).set(synced)

    def event(self, resource: str, kind: str) -> None:
        """Note one watch event."""
        self._events[resource, kind].inc()

    def last_event(self, resource: str, at: float) -> None:
        """Note when the server was last heard of, in seconds since the epoch."""
        self._last_event.labels(resource).set(at)

    def restarted(self, resource: str, reason: str) -> None:
        """Note that a watch was opened anew."""
        self._restarts[resource, reason].inc()

    def relisted(self, resource: str, reason: str) -> None:
        """Note that everything is listed again."""
        self._relists[resource, reason].inc()

    def skipped(self, resource: str, reason: str) -> None:
        """Note something that could not be read."""
        self._skipped[resource, reason].inc()
