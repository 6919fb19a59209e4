"""Every metric, one row each: name, help, labels with the values that are known beforehand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import prometheus_client
from prometheus_client import CollectorRegistry, Info

from extender.core.metrics.observers import ERROR, SUCCESS, HealthMetrics, ObserverMetrics
from extender.core.metrics.series import PREFIX, Collectors
from extender.core.model.verdict import LEFT_TO_SCHEDULER, Reason

if TYPE_CHECKING:
    from extender.core.metrics.latencies import Calls

PLUGIN_BUCKETS: Final = tuple(10e-6 * 1.5**k for k in range(20))
"""10 µs to 22 ms, as kube-scheduler's histogram of the same name, so that both compare."""
REQUEST_BUCKETS: Final = tuple(0.1e-3 * 2**k for k in range(17))
"""0.1 ms to 6.6 s: past the 5 s after which the scheduler gives up on a call."""
HOLD_BUCKETS: Final = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.02, 0.025, 0.05)
LAG_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""1 ms to 10 s; whatever an event is late by adds to the latency of every call."""

ATTEMPTS: Final = ("feasible", "unschedulable", "error")
EVICTIONS: Final = ("evicted", "gone", "failed")
HUNG_UP: Final = 499
"""The code under which calls are counted whose client did not wait for the answer, as proxies do.
It is no fault of ours: kube-scheduler hangs up after its httpTimeout, and when it ends."""
USUAL_CODES: Final = ("200", "400", "403", "413", "415", str(HUNG_UP))
"""Of answers to callbacks: fine, no such request, asked by a page in a browser, a body that is too
large, one that is no JSON or packed, and none."""
MALFORMED: Final = ("malformed", "400")
"""Verb and code of requests that are no HTTP."""


class Metrics(ObserverMetrics):
    """All rows, on the registry given; one instance for each registry."""

    def __init__(self, registry: CollectorRegistry | None = None, version: str = "") -> None:
        """Without a registry, one of its own is made."""
        self.make: Final = Collectors(registry or CollectorRegistry())
        """Makes the rows of features as well."""
        make = self.make
        self.families: Final = make.families
        self.values: Final = make.values
        super().__init__(make)
        self._of_callbacks(make)
        self._of_what_follows(make)
        self._of_the_cache(make)
        self._of_the_process(make)
        Info(f"{PREFIX}_build", "The version of this program.", registry=make.registry).info(
            {"version": version}
        )
        prometheus_client.ProcessCollector(registry=make.registry)
        prometheus_client.PlatformCollector(registry=make.registry)
        prometheus_client.GCCollector(registry=make.registry)
        self.health: Final = HealthMetrics()
        """On a registry of its own: /metrics/slis has nothing else."""

    def _of_callbacks(self, make: Collectors) -> None:
        self.plugin_runs = make.histograms(
            "plugin_execution_duration_seconds",
            "Time that a plugin took at an extension point of one scheduling cycle.",
            PLUGIN_BUCKETS,
            *("plugin", "extension_point", "status"),
        )
        self.requests = make.histograms(
            "request_duration_seconds",
            "Time from a callback's last byte to its answer. code 499: the client hung up.",
            REQUEST_BUCKETS,
            *("verb", "code"),
        )
        self.requests_in_flight = make.gauges(
            "requests_in_flight", "Callbacks that have begun and have no answer yet.", "verb"
        )
        self.attempts = make.counters(
            "schedule_attempts",
            "Filter calls by result; prioritize calls if the scheduler does not call filter.",
            result=ATTEMPTS,
        )
        self.nodes_filtered = make.counters(
            "nodes_filtered",
            "Nodes refused, by reason.",
            reason=[reason.value for reason in Reason if reason not in LEFT_TO_SCHEDULER],
        )
        self.holds = make.histograms(
            "filter_hold_seconds",
            "How long a filter or prioritize call waited for pods in flight that concern its pod.",
            HOLD_BUCKETS,
        )
        self.slices = make.counters(
            "question_slices", "Slices in which costly affinity rules were compared with pods."
        )
        self.over_budget = make.counters(
            "questions_over_budget",
            "Calls that got an error because the pod's affinity rules take too long to compare.",
        )

    def _of_what_follows(self, make: Collectors) -> None:
        self.evictions = make.counters(
            "evictions", "Pods evicted by the extender, by result.", "plugin", "result"
        )

    def _of_the_cache(self, make: Collectors) -> None:
        self.broken_rules = make.gauges(
            "broken_annotations",
            "Pods with rules in annotations that cannot be read, or with more rules than a pod may "
            "have.",
        )
        self.reservations = make.gauges(
            "reservations", "Pods assumed on a node: reserved there, not yet shown by the watch."
        )
        self.cache_objects = make.gauges("cache_objects", "Objects in the cache.", "resource")

    def _of_the_process(self, make: Collectors) -> None:
        self.tls_reloads = make.counters(
            "tls_reloads",
            "Changed TLS files, by whether they could be used.",
            result=(SUCCESS, ERROR),
        )
        self.certificate_ends = make.gauges(
            "tls_certificate_expiration_timestamp_seconds",
            "When a certificate in use expires, in seconds since the epoch: that of the callbacks' "
            "port, or ours for the API server (api-server).",
            "port",
        )
        self._config = make.gauges(
            "config_info",
            "1, with what the configuration says in short; hash is that of the effective one.",
            *("mode", "plugins", "scheduler_version", "hash"),
        )
        self.loop_lag = make.histograms(
            "event_loop_lag_seconds", "How late a timer of the event loop fires.", LAG_BUCKETS
        )
        self.loop_tasks = make.gauges(
            "event_loop_tasks", "Tasks of the event loop, whether they run or wait."
        )

    def calls(self) -> Calls:
        """Read back what came of callbacks; about a millisecond, so call it in a thread."""
        from extender.core.metrics.latencies import (  # noqa: PLC0415 - for pages alone
            Calls,
            read_counter,
            read_histogram,
        )

        # Copies: a series may be added meanwhile.
        requests, attempts = dict(self.requests), dict(self.attempts)
        return Calls(
            {(verb, code): read_histogram(each) for (verb, code), each in requests.items()},
            {result: read_counter(each) for (result,), each in attempts.items()},
        )

    def exposition(self, accept: str) -> tuple[str, bytes]:
        return self.make.exposition(accept)

    def describe_config(
        self, *, mode: str, plugins: Iterable[str], scheduler_version: str, text: str
    ) -> None:
        """Show which configuration is in use; `text` is all of it."""
        # As much of it as tells configurations apart.
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self._config.set(1, mode, ",".join(plugins), scheduler_version, digest)
