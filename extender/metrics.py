"""What this program tells Prometheus; edges call it, the core does not know it.

Names, labels and bucket bounds are a contract with dashboards and alerts. No label ever holds the
name of a pod, a node or a namespace: their number has no bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

import prometheus_client
from prometheus_client import Counter, Gauge, Histogram, Info
from prometheus_client.exposition import choose_encoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import CollectorRegistry

PREFIX: Final = "affinity_extender"

PLUGIN_BUCKETS: Final = tuple(10e-6 * 1.5**k for k in range(20))
"""10 µs to 22 ms, as kube-scheduler's histogram of the same name, so that both compare."""

REQUEST_BUCKETS: Final = tuple(0.1e-3 * 2**k for k in range(17))
"""0.1 ms to 6.6 s: past the 5 s after which the scheduler gives up on a call."""

CLIENT_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""client-go's, so that dashboards of Kubernetes components show this program as well."""

HOLD_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.02, 0.025, 0.05)

LAG_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""1 ms to 10 s; whatever an event is late by adds to the latency of every call."""

_Child = TypeVar("_Child")


class _Children(dict[tuple[str, ...], _Child], Generic[_Child]):
    """The series of one metric by their label values; half the cost of asking the metric."""

    def __init__(self, labels: Callable[..., _Child]) -> None:
        super().__init__()
        self._labels = labels

    def __missing__(self, values: tuple[str, ...]) -> _Child:
        child = self[values] = self._labels(*values)
        return child


class Metrics:
    """All collectors, on the registry given; one instance for each registry.

    It also is the observer that the mirror of the API server reports to.
    """

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        # Otherwise each series brings a second one with its time of creation, for nobody.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"{PREFIX}_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"{PREFIX}_{name}", text, labels, registry=registry)

        def histogram(
            name: str, text: str, buckets: tuple[float, ...], *labels: str, prefix: str = PREFIX
        ) -> _Children[Histogram]:
            full_name = f"{prefix}_{name}"
            metric = Histogram(full_name, text, labels, registry=registry, buckets=buckets)
            return _Children(metric.labels)

        self._plugin = histogram(
            "plugin_execution_duration_seconds",
            "Time that a plugin took at an extension point of one scheduling cycle.",
            PLUGIN_BUCKETS,
            *("plugin", "extension_point", "status"),
        )
        self._request = histogram(
            "request_duration_seconds",
            "Time from a callback's last byte in to its answer, by HTTP status code.",
            REQUEST_BUCKETS,
            *("verb", "code"),
        )
        self._attempts = _Children(
            counter("schedule_attempts", "Filter calls by what became of the pod.", "result").labels
        )
        self._filtered = _Children(
            counter("nodes_filtered", "Nodes refused, by reason.", "reason").labels
        )
        self._quota_refusals = _Children(
            counter(
                "quota_refusals",
                "Calls in which a namespace's quota refused cross-namespace affinity.",
                "extension_point",
            ).labels
        )
        self._disagreements = _Children(
            counter(
                "shadow_disagreements",
                "Nodes that the scheduler let through and we would have refused.",
                *("plugin", "reason", "cause"),
            ).labels
        )
        self._violations = gauge(
            "violations",
            "Required rules that placed pods break now, each counted once a topology domain.",
            *("plugin", "rule"),
        )
        self._drifted = gauge(
            "drifted_pods",
            "Placed pods with a label edited after its value had become part of their rules.",
        )
        self._binds = _Children(counter("bind", "Bind calls, by how they ended.", "result").labels)
        self._hints = _Children(
            counter(
                "hints", "Nodes proposed to pods that were refused, by what came of it.", "result"
            ).labels
        )
        self._reservations = gauge(
            "reservations", "Pods that are bound by us and that no watch has shown there yet."
        )
        self._holds = Histogram(
            f"{PREFIX}_filter_hold_seconds",
            "How long a filter call waited for pods in flight that interact with its pod.",
            registry=registry,
            buckets=HOLD_BUCKETS,
        )
        self._objects = gauge("cache_objects", "Objects in the cache.", "resource")
        self._synced = gauge("cache_synced", "1 once a resource is completely listed.", "resource")
        self._last_event = gauge(
            "cache_last_event_timestamp_seconds",
            "When the API server was last heard of, in seconds since the epoch.",
            "resource",
        )
        self._events = _Children(
            counter("watch_events", "Watch events, by their type.", "resource", "type").labels
        )
        self._skipped = _Children(
            counter(
                "watch_events_skipped",
                "Objects and events left out because they could not be read.",
                *("resource", "reason"),
            ).labels
        )
        self._restarts = counter(
            "watch_restarts", "Watches opened again, by cause.", "resource", "reason"
        )
        self._relists = counter(
            "relists", "Resources listed again from the start, by cause.", "resource", "reason"
        )
        self._mismatches = counter(
            "consistency_mismatches",
            "Counters found to differ from a recount; anything above 0 is a bug in this program.",
        )
        self._reloads = counter(
            "tls_reloads", "Changed TLS files, by whether they could be used.", "result"
        )
        self._lag = Histogram(
            f"{PREFIX}_event_loop_lag_seconds",
            "How late a timer of the event loop fires.",
            registry=registry,
            buckets=LAG_BUCKETS,
        )
        self._client_requests = _Children(
            Counter(
                "rest_client_requests",
                "Requests to the API server, by status code.",
                ("code", "method", "host"),
                registry=registry,
            ).labels
        )
        self._client_latency = histogram(
            "request_duration_seconds",
            "Time until the API server's answer begins.",
            CLIENT_BUCKETS,
            *("verb", "host"),
            prefix="rest_client",
        )
        Info(f"{PREFIX}_build", "Which version this is.", registry=registry).info(
            {"version": version}
        )
        prometheus_client.ProcessCollector(registry=registry)
        prometheus_client.PlatformCollector(registry=registry)
        prometheus_client.GCCollector(registry=registry)
        self._begin_at_zero()

    def _begin_at_zero(self) -> None:
        """Show counters before their first event: `rate()` misses a step from nothing to one."""
        for result in ("feasible", "unschedulable", "error"):
            self.count_attempt(result, 0)
        for result in ("bound", "refused", "unclear", "error"):
            self.count_bind(result, 0)
        for result in (
            "set",
            "renewed",
            "taken",
            "elsewhere",
            "gone",
            "refused",
            "withdrawn",
            "failed",
            "skipped",
        ):
            self.count_hint(result, 0)
        for result in ("success", "error"):
            self._reloads.labels(result)

    # Callbacks

    def observe_plugin(
        self, plugin: str, extension_point: str, status: str, seconds: float
    ) -> None:
        """Note one run of a plugin."""
        self._plugin[plugin, extension_point, status].observe(seconds)

    def observe_request(self, verb: str, code: int, seconds: float) -> None:
        """Note one answered callback."""
        self._request[verb, str(code)].observe(seconds)

    def count_attempt(self, result: str, number: int = 1) -> None:
        """Count filter calls; `result` is feasible, unschedulable or error."""
        self._attempts[result,].inc(number)

    def count_filtered(self, reason: str, number: int) -> None:
        """Count nodes refused for one of the fixed reasons."""
        self._filtered[reason,].inc(number)

    def count_quota_refusal(self, extension_point: str, number: int = 1) -> None:
        """Count calls that quotas refused; `extension_point` is Filter or Bind."""
        self._quota_refusals[extension_point,].inc(number)

    def count_disagreements(self, plugin: str, reason: str, cause: str, number: int) -> None:
        """Count nodes that only we would have refused; `cause` is rule or lag."""
        self._disagreements[plugin, reason, cause].inc(number)

    def count_bind(self, result: str, number: int = 1) -> None:
        """Count bind calls; `result` is bound, refused, unclear or error."""
        self._binds[result,].inc(number)

    def count_hint(self, result: str, number: int = 1) -> None:
        """Count what became of a hint; _begin_at_zero has the results."""
        self._hints[result,].inc(number)

    def observe_hold(self, seconds: float) -> None:
        """Note how long a filter call was held; calls that did not have to wait are not noted."""
        self._holds.observe(seconds)

    # The cache

    def track_reservations(self, count: Callable[[], int]) -> None:
        """Ask `count` at each scrape, from another thread."""
        self._reservations.set_function(lambda: float(count()))

    def track_quotas(self, pods: Callable[[], int], namespaces: Callable[[], int]) -> None:
        """Ask for the pods in scope that count, and their namespaces, at each scrape."""
        # Not there at all where nobody counts: a 0 would be a lie.
        Gauge(
            f"{PREFIX}_quota_pods_in_scope",
            "Pods with cross-namespace affinity, placed or reserved.",
            registry=self._registry,
        ).set_function(lambda: float(pods()))
        Gauge(
            f"{PREFIX}_quota_namespaces_in_scope",
            "Namespaces that have such pods.",
            registry=self._registry,
        ).set_function(lambda: float(namespaces()))
        for extension_point in ("Filter", "Bind"):
            self.count_quota_refusal(extension_point, 0)

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
        self._restarts.labels(resource, reason).inc()

    def relisted(self, resource: str, reason: str) -> None:
        """Note that everything is listed again."""
        self._relists.labels(resource, reason).inc()

    def skipped(self, resource: str, reason: str) -> None:
        """Note something that could not be read."""
        self._skipped[resource, reason].inc()

    # The observer of requests to the API server

    def request(self, *, method: str, host: str, code: str, seconds: float) -> None:
        """Note one answer; `code` is "<error>" when none came."""
        self._client_requests[code, method, host].inc()
        self._client_latency[method, host].observe(seconds)

    # This process

    def observe_lag(self, seconds: float) -> None:
        """Note how late the event loop was."""
        self._lag.observe(seconds)

    def tls_reloaded(self, ok: bool) -> None:  # noqa: FBT001 - a metric's value
        """Note that TLS files changed, and whether the new ones are in use."""
        self._reloads.labels("success" if ok else "error").inc()

    def exposition(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body in the format that an Accept header prefers.

        It takes milliseconds; call it in a thread, not between two callbacks.
        """
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self._registry)
