"""Metrics of this process, and of its requests to the API server."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Final

import prometheus_client
from prometheus_client import Info
from prometheus_client.exposition import choose_encoder

from extender.metrics.collectors import PREFIX, Collectors

CLIENT_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""client-go's, so that dashboards of Kubernetes components show this program as well."""

HANDSHAKE_FAILURES: Final = (
    "timeout",
    "client_certificate",
    "client_name",
    "connection_lost",
    "protocol",
)
"""Why a TLS handshake came to nothing."""

CLOSED: Final = (
    *("too_many", "evicted", "header_size"),
    *("header_timeout", "body_timeout", "write_timeout"),
)
"""Why a connection was closed for its client's fault."""

CLIENT_PREFIX: Final = "rest_client"

_DIGITS: Final = 12
"""Of a hash: enough to tell configurations apart."""

LAG_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""1 ms to 10 s; whatever an event is late by adds to the latency of every call."""


class ProcessMetrics:
    """How this process is doing; it also is the observer of requests to the API server."""

    def __init__(self, make: Collectors, version: str) -> None:
        self._registry = make.registry
        self._reloads = make.counters(
            "tls_reloads", "Changed TLS files, by whether they could be used.", "result"
        )
        self._certificate_ends = make.gauge(
            "tls_certificate_expiration_timestamp_seconds",
            "When a certificate in use expires, in seconds since the epoch: that of the callbacks' "
            "port, or ours for the API server (api-server).",
            "port",
        )
        self._config = make.gauge(
            "config_info",
            "1, with what the configuration says in short; hash is that of the effective one.",
            *("mode", "plugins", "scheduler_version", "hash"),
        )
        self._handshakes = make.counters(
            "tls_handshake_failures", "TLS handshakes that failed, by cause.", "reason"
        )
        self._connections = make.gauge("connections", "Open connections.", "port")
        self._closed = make.counters(
            "connections_closed",
            "Connections closed for what their client did, by cause.",
            *("port", "reason"),
        )
        self._lag = make.histogram(
            "event_loop_lag_seconds", "How late a timer of the event loop fires.", LAG_BUCKETS
        )
        self._client_requests = make.counters(
            "requests",
            "Requests to the API server, by status code.",
            *("code", "method", "host"),
            prefix=CLIENT_PREFIX,
        )
        self._client_latency = make.histograms(
            "request_duration_seconds",
            "Time until the API server's answer begins.",
            CLIENT_BUCKETS,
            *("verb", "host"),
            prefix=CLIENT_PREFIX,
        )
        self._throttled = make.counters(
            "api_requests_throttled",
            "Requests to the API server that clientConnection.qps did not allow in time.",
            "flow",
        )
        Info(f"{PREFIX}_build", "The version of this program.", registry=make.registry).info(
            {"version": version}
        )
        prometheus_client.ProcessCollector(registry=make.registry)
        prometheus_client.PlatformCollector(registry=make.registry)
        prometheus_client.GCCollector(registry=make.registry)
        for result in ("success", "error"):
            self._reloads.begin(result)
        for flow in ("binds", "reads", "patches"):
            self._throttled.begin(flow)
        for reason in HANDSHAKE_FAILURES:
            self._handshakes.begin(reason)
        for port in ("callbacks", "operations"):
            self._connections.labels(port).set(0)
            for reason in CLOSED:
                self._closed.begin(port, reason)

    def request(self, *, method: str, host: str, code: str, seconds: float) -> None:
        """Note one answer of the API server; `code` is "<error>" when none came."""
        self._client_requests[code, method, host].inc()
        self._client_latency[method, host].observe(seconds)

    def throttled(self, flow: str) -> None:
        """Note a request that was not sent; `flow` is binds, reads or patches."""
        self._throttled[flow,].inc()

    def observe_lag(self, seconds: float) -> None:
        """Note how late the event loop was."""
        self._lag.observe(seconds)

    def tls_reloaded(self, ok: bool) -> None:  # noqa: FBT001 - a metric's value
        """Note that TLS files changed, and whether the new ones are in use."""
        self._reloads["success" if ok else "error",].inc()

    def tls_expires(self, at: float) -> None:
        """Note when the certificate for callbacks ends, in seconds since the epoch."""
        self._certificate_ends.labels("callbacks").set(at)

    def track_client_certificate(self, ends: Callable[[], float]) -> None:
        """Ask at each scrape when the certificate for the API server ends; it may be renewed."""
        self._certificate_ends.labels("api-server").set_function(ends)

    def describe_config(
        self, *, mode: str, plugins: Iterable[str], scheduler_version: str, text: str
    ) -> None:
        """Show which configuration is in use; `text` is all of it."""
        digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
        self._config.labels(mode, ",".join(plugins), scheduler_version, digest).set(1)

    def handshake_failed(self, reason: str) -> None:
        """Count a TLS handshake that came to nothing."""
        self._handshakes[reason,].inc()

    def connections(self, port: str, number: int) -> None:
        """Note how many connections a port has."""
        self._connections.labels(port).set(number)

    def connection_closed(self, port: str, reason: str) -> None:
        """Count a connection that was closed for its client's fault."""
        self._closed[port, reason].inc()

    def exposition(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body in the format that an Accept header prefers.

        It takes milliseconds; call it in a thread, not between two callbacks.
        """
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self._registry)
