"""Rows that are told of by name: what observers of lists, requests, connections and checks hear."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry

from extender.core.metrics.series import Collectors

CLIENT_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""client-go's, so that dashboards of Kubernetes components show this program as well."""
HANDSHAKE_FAILURES: Final = (
    *("timeout", "client_certificate", "client_name", "connection_lost", "protocol"),
)
"""Why a TLS handshake came to nothing."""
CLOSED: Final = (
    *("too_many", "evicted", "header_size"),
    *("header_timeout", "body_timeout", "write_timeout"),
)
"""Why a connection was closed for its client's fault."""
SUCCESS: Final = "success"
ERROR: Final = "error"


class ObserverMetrics:
    """What the edges to the API server and to clients report, each as its observer.

    Where they only count something, the row's own `count` is what they call.
    """

    def __init__(self, make: Collectors) -> None:
        self.cache_synced = make.gauges(
            "cache_synced", "1 once a resource has been listed completely.", "resource"
        )
        self._last_events = make.gauges(
            "cache_last_event_timestamp_seconds",
            "When the API server last sent anything, in seconds since the epoch; 0 is never.",
            "resource",
        )
        self._events = make.counters(
            "watch_events", "Watch events, by their type.", "resource", "type"
        )
        self._skips = make.counters(
            "watch_events_skipped",
            "Objects and events left out because they could not be read.",
            *("resource", "reason"),
        )
        self.skipped = self._skips.count
        self._restarts = make.counters(
            "watch_restarts", "Watches opened again, by cause.", "resource", "reason"
        )
        self.restarted = self._restarts.count
        self._relists = make.counters(
            "relists",
            "Resources listed again from the start, by cause.",
            *("resource", "reason"),
        )
        self.relisted = self._relists.count
        self.handshake_failed = make.counters(
            "tls_handshake_failures",
            "TLS handshakes that failed, by cause.",
            reason=HANDSHAKE_FAILURES,
        ).count
        ports = ("callbacks", "operations")
        self._connections = make.gauges("connections", "Open connections.", port=ports)
        self.connection_closed = make.counters(
            "connections_closed",
            "Connections closed for what their client did, by cause.",
            port=ports,
            reason=CLOSED,
        ).count
        self.throttled = make.counters(
            "api_requests_throttled",
            "Requests to the API server that clientConnection.qps did not allow in time.",
            flow=("binds", "reads", "patches", "evictions"),
        ).count
        rest_client = make.under("rest_client")
        self._client_requests = rest_client.counters(
            "requests",
            "Requests to the API server, by status code.",
            *("code", "method", "host"),
        )
        self._client_seconds = rest_client.histograms(
            "request_duration_seconds",
            "Time until the API server's answer begins.",
            CLIENT_BUCKETS,
            *("verb", "host"),
        )

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
        self._last_events.begin((resource,))
        self._events.begin((resource,), kinds)
        self._skips.begin((resource,), skips)
        self._restarts.begin((resource,), restarts)
        self._relists.begin((resource,), relists)

    def synced(self, resource: str, synced: bool) -> None:  # noqa: FBT001 - a metric's value
        self.cache_synced.set(synced, resource)

    def event(self, resource: str, kind: str) -> None:
        self._events[resource, kind].inc()

    def last_event(self, resource: str, at: float) -> None:
        self._last_events[resource,].set(at)

    # The observer of requests to the API server, and that of connections

    def request(self, *, method: str, host: str, code: str, seconds: float) -> None:
        """Note one answer of the API server; `code` is "<error>" when none came."""
        self._client_requests.count(code, method, host)
        self._client_seconds.observe(seconds, method, host)

    def connections(self, port: str, number: int) -> None:
        self._connections.set(number, port)


class HealthMetrics:
    """What health checks said, under the names that all Kubernetes components have for that.

    `kind` is livez or readyz.
    """

    def __init__(self) -> None:
        make = Collectors(CollectorRegistry(), "kubernetes")
        self.exposition: Final = make.exposition
        self._last = make.gauges(
            "healthcheck",
            "1 if a health check passed when it was last made.",
            *("name", "type"),
        )
        self._results = make.counters(
            "healthchecks",
            "Health checks that were made, by result.",
            *("name", "type", "status"),
        )

    def begin(self, names: Iterable[str], kind: str) -> None:
        """Have the series of checks before they are made."""
        self._results.begin(names, (kind,), (SUCCESS, ERROR))

    def observe(self, name: str, kind: str, passed: bool) -> None:  # noqa: FBT001 - a metric's value
        self._last.set(passed, name, kind)
        self._results.count(name, kind, SUCCESS if passed else ERROR)
