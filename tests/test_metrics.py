"""Names, labels and buckets that dashboards rely on."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families

from extender.core.kube.flowcontrol import Flow
from extender.core.kube.observers import ReflectorObserver, RequestObserver
from extender.core.metrics import Metrics
from tests.missing import missing


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(version="1.2.3")


def exercise(metrics: Metrics) -> None:
    """Have a first sample in every metric."""
    metrics.plugin_runs.observe(0.00003, "InterPodAffinity", "Filter", "Unschedulable")
    metrics.requests.observe(0.0003, "filter", "200")
    metrics.attempts.count("feasible")
    metrics.nodes_filtered.count("anti-affinity", by=7)
    metrics.evictions.count("InterPodAffinity", "evicted")
    metrics.holds.observe(0.004)
    metrics.reservations.ask(lambda: 3)
    metrics.cache_objects.ask(lambda: 42, "pods")
    metrics.loop_lag.observe(0.002)
    metrics.tls_reloads.count("success")
    metrics.certificate_ends.set(1_800_000_000, "callbacks")
    metrics.certificate_ends.ask(lambda: 1_900_000_000, "api-server")
    metrics.describe_config(
        mode="assist", plugins=["InterPodAffinity"], scheduler_version="1.37", text="mode: assist"
    )
    metrics.requests_in_flight.ask(lambda: 2, "filter")
    metrics.handshake_failed("protocol")
    metrics.connections("callbacks", 2)
    metrics.connection_closed("callbacks", "evicted")
    mirror: ReflectorObserver = metrics
    mirror.synced("pods", True)  # noqa: FBT003 - the metric's value
    mirror.event("pods", "ADDED")
    mirror.last_event("pods", 1_700_000_000.5)
    mirror.restarted("pods", "timeout")
    mirror.relisted("pods", "expired")
    mirror.skipped("pods", "object")
    requests: RequestObserver = metrics
    requests.request(method="GET", host="10.0.0.1:443", code="200", seconds=0.3)


def families(metrics: Metrics) -> dict[str, Metric]:
    _, body = metrics.exposition("")
    return {one.name: one for one in text_string_to_metric_families(body.decode())}


def samples(metrics: Metrics) -> dict[str, float]:
    _, body = metrics.exposition("")
    lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
    return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines)}


CONTRACT = {
    "affinity_extender_plugin_execution_duration_seconds": {
        "plugin",
        "extension_point",
        "status",
        "le",
    },
    "affinity_extender_request_duration_seconds": {"verb", "code", "le"},
    "affinity_extender_schedule_attempts": {"result"},
    "affinity_extender_nodes_filtered": {"reason"},
    "affinity_extender_broken_annotations": set(),
    "affinity_extender_evictions": {"plugin", "result"},
    "affinity_extender_reservations": set(),
    "affinity_extender_api_requests_throttled": {"flow"},
    "affinity_extender_filter_hold_seconds": {"le"},
    "affinity_extender_question_slices": set(),
    "affinity_extender_questions_over_budget": set(),
    "affinity_extender_cache_objects": {"resource"},
    "affinity_extender_cache_synced": {"resource"},
    "affinity_extender_cache_last_event_timestamp_seconds": {"resource"},
    "affinity_extender_watch_restarts": {"resource", "reason"},
    "affinity_extender_relists": {"resource", "reason"},
    "affinity_extender_watch_events": {"resource", "type"},
    "affinity_extender_watch_events_skipped": {"resource", "reason"},
    "affinity_extender_event_loop_lag_seconds": {"le"},
    "affinity_extender_event_loop_tasks": set(),
    "affinity_extender_tls_reloads": {"result"},
    "affinity_extender_tls_certificate_expiration_timestamp_seconds": {"port"},
    "affinity_extender_tls_handshake_failures": {"reason"},
    "affinity_extender_connections": {"port"},
    "affinity_extender_connections_closed": {"port", "reason"},
    "affinity_extender_build_info": {"version"},
    "affinity_extender_config_info": {"mode", "plugins", "scheduler_version", "hash"},
    "affinity_extender_requests_in_flight": {"verb"},
    "rest_client_requests": {"code", "method", "host"},
    "rest_client_request_duration_seconds": {"verb", "host", "le"},
}


def test_each_flow_that_may_be_refused_is_there_from_the_start(metrics: Metrics) -> None:
    counted = families(metrics)["affinity_extender_api_requests_throttled"].samples
    # A watch waits for its turn as long as it takes.
    assert {each.labels["flow"] for each in counted} == {each.value for each in Flow} - {"watches"}


def test_names_and_labels(metrics: Metrics) -> None:
    exercise(metrics)
    ours = {
        name: {label for sample in family.samples for label in sample.labels}
        for name, family in families(metrics).items()
        if not name.startswith(("python_", "process_"))
    }
    assert ours == CONTRACT


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(
            'affinity_extender_plugin_execution_duration_seconds_count{extension_point="Filter",'
            'plugin="InterPodAffinity",status="Unschedulable"} 1.0',
            id="a plugin's run",
        ),
        pytest.param(
            'affinity_extender_request_duration_seconds_sum{code="200",verb="filter"} 0.0003',
            id="a callback's time",
        ),
        pytest.param('affinity_extender_schedule_attempts_total{result="feasible"} 1.0', id="pod"),
        pytest.param(
            'affinity_extender_schedule_attempts_total{result="error"} 0.0',
            id="a counter before its first event",
        ),
        pytest.param(
            'affinity_extender_nodes_filtered_total{reason="anti-affinity"} 7.0', id="nodes"
        ),
        pytest.param('affinity_extender_requests_in_flight{verb="filter"} 2.0', id="in flight"),
        pytest.param(
            'affinity_extender_config_info{hash="a6776c95a8d1",mode="assist",'
            'plugins="InterPodAffinity",scheduler_version="1.37"} 1.0',
            id="the configuration in short",
        ),
        pytest.param(
            'affinity_extender_tls_certificate_expiration_timestamp_seconds{port="api-server"}'
            " 1900000000.0",
            id="our certificate for the API server",
        ),
        pytest.param('affinity_extender_cache_objects{resource="pods"} 42.0', id="objects"),
        pytest.param('affinity_extender_cache_synced{resource="pods"} 1.0', id="synced"),
        pytest.param(
            'affinity_extender_cache_last_event_timestamp_seconds{resource="pods"} 1700000000.5',
            id="last event",
        ),
        pytest.param(
            'affinity_extender_watch_restarts_total{reason="timeout",resource="pods"} 1.0',
            id="restart",
        ),
        pytest.param(
            'affinity_extender_relists_total{reason="expired",resource="pods"} 1.0', id="relist"
        ),
        pytest.param('affinity_extender_build_info{version="1.2.3"} 1.0', id="version"),
        pytest.param(
            'rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 1.0',
            id="a request to the API server",
        ),
        pytest.param(
            'rest_client_request_duration_seconds_bucket{host="10.0.0.1:443",le="0.25",verb="GET"}'
            " 0.0",
            id="its latency is not below",
        ),
        pytest.param(
            'rest_client_request_duration_seconds_bucket{host="10.0.0.1:443",le="0.5",verb="GET"}'
            " 1.0",
            id="its latency is within",
        ),
    ],
)
def test_a_sample(metrics: Metrics, sample: str) -> None:
    exercise(metrics)
    name, _, value = sample.rpartition(" ")
    assert samples(metrics).get(name) == float(value)


@pytest.mark.parametrize(
    ("name", "first", "factor", "number"),
    [
        pytest.param(
            "affinity_extender_plugin_execution_duration_seconds",
            10e-6,
            1.5,
            20,
            id="plugins, as kube-scheduler",
        ),
        pytest.param("affinity_extender_request_duration_seconds", 1e-4, 2, 17, id="callbacks"),
    ],
)
def test_buckets_grow_evenly(
    metrics: Metrics, name: str, first: float, factor: float, number: int
) -> None:
    exercise(metrics)
    assert bounds(metrics, name) == pytest.approx([first * factor**k for k in range(number)])


def test_buckets_of_requests_are_those_of_client_go(metrics: Metrics) -> None:
    exercise(metrics)
    expected = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]
    assert bounds(metrics, "rest_client_request_duration_seconds") == expected


def bounds(metrics: Metrics, name: str) -> list[float]:
    found = [
        float(one.labels["le"])
        for one in families(metrics)[name].samples
        if one.name.endswith("_bucket")
    ]
    assert found.pop() == float("inf")
    return found


def test_the_process_shows_itself(metrics: Metrics) -> None:
    assert {"process_resident_memory_bytes", "python_info", "python_gc_collections"} <= families(
        metrics
    ).keys()


def test_no_series_for_the_time_of_creation(metrics: Metrics) -> None:
    exercise(metrics)
    assert not [name for name in samples(metrics) if "_created" in name]


def test_object_counts_are_taken_at_each_scrape(metrics: Metrics) -> None:
    pods = ["one"]
    metrics.cache_objects.ask(lambda: len(pods), "pods")
    before = samples(metrics)['affinity_extender_cache_objects{resource="pods"}']
    pods.append("two")
    after = samples(metrics)['affinity_extender_cache_objects{resource="pods"}']
    assert (before, after) == (1, 2)


def test_a_lost_sync_shows(metrics: Metrics) -> None:
    metrics.synced("pods", True)  # noqa: FBT003 - the metric's value
    metrics.synced("pods", False)  # noqa: FBT003 - the metric's value
    assert samples(metrics)['affinity_extender_cache_synced{resource="pods"}'] == 0


def test_two_instances_do_not_meet() -> None:
    one, two = (Metrics() for _ in range(2))
    one.reservations.ask(lambda: 3)
    two.reservations.ask(lambda: 0)
    name = "affinity_extender_reservations"
    assert (samples(one)[name], samples(two)[name]) == (3, 0)


def test_the_format_is_the_one_asked_for(metrics: Metrics) -> None:
    exercise(metrics)
    content_type, body = metrics.exposition("application/openmetrics-text;version=1.0.0")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    # This parser is strict: it refuses whatever the format does not allow.
    parsed = parse_openmetrics(body.decode())  # type: ignore[no-untyped-call]
    assert {one.name for one in parsed} >= {"rest_client_requests"}


def test_promtool_has_nothing_to_say(metrics: Metrics) -> None:
    if shutil.which("promtool") is None:
        missing("promtool is not installed (Debian: apt-get install prometheus)")
    exercise(metrics)
    _, body = metrics.exposition("")
    done = subprocess.run(
        ["promtool", "check", "metrics"],  # noqa: S607 - wherever it is installed
        input=body,
        capture_output=True,
        check=False,
    )
    said = [
        line
        for line in (done.stdout + done.stderr).decode().splitlines()
        # Not ours to rename: prometheus_client's own collector.
        if not line.startswith("python_")
    ]
    assert (said, done.returncode) == ([], 0)
