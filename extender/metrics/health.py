"""What health checks said, under the names that all Kubernetes components have at /metrics/slis."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import choose_encoder

from extender.metrics.collectors import Children

SUCCESS: Final = "success"
ERROR: Final = "error"


class HealthMetrics:
    """The result of each health check, and how often there was which; `kind` is livez or readyz."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._last = Gauge(
            "kubernetes_healthcheck",
            "1 if a health check passed when it was last made.",
            ("name", "type"),
            registry=self._registry,
        )
        results = Counter(
            "kubernetes_healthchecks",
            "Health checks that were made, by result.",
            ("name", "type", "status"),
            registry=self._registry,
        )
        self._results = Children(results.labels)

    def begin(self, name: str, kind: str) -> None:
        """Have the series of a check before it is made."""
        for status in (SUCCESS, ERROR):
            self._results.begin(name, kind, status)

    def observe(self, name: str, kind: str, passed: bool) -> None:  # noqa: FBT001 - a metric's value
        """Note a check that was made."""
        self._last.labels(name, kind).set(passed)
        self._results[name, kind, SUCCESS if passed else ERROR].inc()

    def exposition(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body in the format that an Accept header prefers."""
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self._registry)
