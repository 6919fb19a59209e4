"""Figures that Prometheus and kube-scheduler give, and what is made of them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from clusterload.measurements import METHODS, Outcome
from clusterload.measurements.scheduler import EXTENSION_POINTS, Buckets, histograms, quantile
from clusterload.monitoring import Monitoring
from clusterload.parameters import Parameters
from extender.core.errors import ConfigError, ExtenderError
from tests.clusterload.small_cluster import NODES
from tests.kube.fake_api import answering

if TYPE_CHECKING:
    from aiohttp.test_utils import TestServer

    from clusterload.measurements import Surroundings
    from tests.clusterload.small_cluster import SmallCluster

Serve = Callable[[web.Application], Awaitable["TestServer"]]

QUERY = {"name": "Max", "query": "max(up[%v])"}
START: dict[str, Any] = {
    "action": "start",
    "metricName": "Things up",
    "metricVersion": "v1",
    "unit": "things",
    "queries": [QUERY],
}


class FakePrometheus:
    """Answers every query with the same samples, and remembers the queries."""

    def __init__(self) -> None:
        self.samples: list[tuple[dict[str, str], str]] = [({}, "3")]
        self.queries: list[str] = []
        self.kind = "vector"
        self.error = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.queries.append(request.query["query"])
        if self.error:
            body: dict[str, Any] = {"status": "error", "error": self.error}
            return web.json_response(body, status=400)
        result = [{"metric": labels, "value": [1.5, value]} for labels, value in self.samples]
        body = {"status": "success", "data": {"resultType": self.kind, "result": result}}
        return web.json_response(body)


@pytest.fixture
async def prometheus(
    aiohttp_server: Serve, surroundings: Surroundings
) -> tuple[FakePrometheus, Surroundings]:
    fake = FakePrometheus()
    app = web.Application()
    app.router.add_get("/prefix/api/v1/query", fake.answer)
    server = await aiohttp_server(app)
    pages = Monitoring(surroundings.client, prometheus_url=str(server.make_url("/prefix/")))
    return fake, dataclasses.replace(surroundings, monitoring=pages)


async def asked(surroundings: Surroundings, start: dict[str, Any], **gather: Any) -> Outcome:
    measurement = METHODS["GenericPrometheusQuery"](surroundings)
    assert await measurement.execute(Parameters(start)) == Outcome()
    return await measurement.execute(Parameters({"action": "gather"} | gather))


async def test_figures_are_reported_under_the_name_of_the_metric(
    prometheus: tuple[FakePrometheus, Surroundings],
) -> None:
    fake, surroundings = prometheus

    (summary,) = (await asked(surroundings, START)).summaries

    assert summary.name == "GenericPrometheusQuery Things up"
    assert summary.content == {
        "version": "v1",
        "dataItems": [{"data": {"Max": 3.0}, "unit": "things"}],
    }
    assert fake.queries == ["max(up[1s])"]


async def test_dimensions_tell_figures_apart(
    prometheus: tuple[FakePrometheus, Surroundings],
) -> None:
    fake, surroundings = prometheus
    fake.samples = [({"verb": "filter", "x": "1"}, "1"), ({"verb": "bind"}, "2"), ({}, "NaN")]
    two = [QUERY, {"name": "Min", "query": "min(up)"}]

    (summary,) = (
        await asked(surroundings, START | {"dimensions": ["verb"], "queries": two})
    ).summaries

    assert summary.content["dataItems"] == [
        {"data": {"Max": 1.0, "Min": 1.0}, "unit": "things", "labels": {"verb": "filter"}},
        {"data": {"Max": 2.0, "Min": 2.0}, "unit": "things", "labels": {"verb": "bind"}},
    ]


async def test_a_sample_that_is_no_number(
    prometheus: tuple[FakePrometheus, Surroundings],
) -> None:
    fake, surroundings = prometheus
    fake.samples = [({}, "many")]
    with pytest.raises(ExtenderError, match="not an answer of Prometheus"):
        await asked(surroundings, START)


@pytest.mark.parametrize(
    ("query", "samples", "error"),
    [
        pytest.param({"threshold": 3.0}, ["3"], "", id="at its upper limit"),
        pytest.param({"threshold": 2.0}, ["3"], "Max: 3, want at most 2", id="above it"),
        pytest.param({"Threshold": 2.0}, ["3"], "Max: 3, want at most 2", id="in any case"),
        pytest.param({"threshold": 3.0, "lowerBound": True}, ["3"], "", id="at its lower limit"),
        pytest.param(
            {"threshold": 4.0, "lowerBound": True}, ["3"], "Max: 3, want at least 4", id="below it"
        ),
        pytest.param({"threshold": 1.0}, [], "", id="nothing to compare"),
        pytest.param({"requireSamples": True}, [], "Max: no samples", id="nothing, but needed"),
        pytest.param(
            {},
            ["1", "2"],
            "Max: too many samples, the dimensions do not tell them apart",
            id="several where one is expected",
        ),
    ],
)
async def test_limits(
    prometheus: tuple[FakePrometheus, Surroundings],
    query: dict[str, Any],
    samples: list[str],
    error: str,
) -> None:
    fake, surroundings = prometheus
    fake.samples = [({"n": str(n)}, value) for n, value in enumerate(samples)]
    start = START | {"queries": [QUERY | query]}

    outcome = await asked(surroundings, start, enableViolations=True)
    lenient = await asked(surroundings, start)

    assert outcome.error == (f"Things up: {error}" if error else "")
    assert lenient.error == ""


async def test_without_prometheus_it_is_left_out_with_a_warning(
    surroundings: Surroundings, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = await asked(surroundings, START)

    assert outcome == Outcome()
    assert "Pods is left out: no --prometheus-url" in caplog.text


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param({"error": "parse error"}, "400 .*parse error", id="a refused query"),
        pytest.param({"kind": "scalar"}, "gives a scalar, not a vector", id="another result"),
    ],
)
async def test_what_prometheus_says_is_passed_on(
    prometheus: tuple[FakePrometheus, Surroundings], change: dict[str, str], error: str
) -> None:
    fake, surroundings = prometheus
    vars(fake).update(change)

    with pytest.raises(ExtenderError, match=error):
        await asked(surroundings, START)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"unit": None}, "unit: missing; expected a string"),
        ({"queries": [{"name": "Max"}]}, r"queries\[0\].query: missing; expected a string"),
        ({"metricName": 5.0}, "metricName: 5.0 is not a string"),
    ],
)
async def test_a_start_that_lacks_something_names_it(
    prometheus: tuple[FakePrometheus, Surroundings], change: dict[str, Any], error: str
) -> None:
    _, surroundings = prometheus

    with pytest.raises(ConfigError, match=error):
        await asked(surroundings, START | change)


async def test_nobody_at_the_address(surroundings: Surroundings) -> None:
    pages = Monitoring(surroundings.client, prometheus_url="http://127.0.0.1:1")

    with pytest.raises(ExtenderError, match=r"http://127\.0\.0\.1:1/api/v1/query: Client"):
        await asked(dataclasses.replace(surroundings, monitoring=pages), START)


# kube-scheduler's histograms


@pytest.mark.parametrize(
    ("buckets", "share", "seconds"),
    [
        pytest.param({}, 0.5, 0, id="no buckets"),
        pytest.param({1.0: 0, math.inf: 0}, 0.5, 0, id="nothing counted"),
        pytest.param({1.0: 10, math.inf: 10}, 0.5, 0.5, id="half of the first bucket"),
        pytest.param({1.0: 10, 2.0: 20, math.inf: 20}, 0.75, 1.5, id="half of the second"),
        pytest.param({1.0: 10, 2.0: 10, math.inf: 20}, 0.99, 2, id="beyond the last bound"),
        pytest.param({1.0: 10, 2.0: 20}, 0.5, 1, id="exactly at a bound, without infinity"),
    ],
)
def test_quantiles(buckets: dict[float, int], share: float, seconds: float) -> None:
    assert quantile(Buckets(buckets), share) == pytest.approx(seconds)


PAGE = """\
# TYPE scheduler_pod_scheduling_sli_duration_seconds histogram
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="1",le="0.01"} FIRST
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="1",le="+Inf"} FIRST
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="2",le="0.01"} 0
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="2",le="+Inf"} 5
scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="1"} 1
scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 5
# TYPE scheduler_framework_extension_point_duration_seconds histogram
scheduler_framework_extension_point_duration_seconds_bucket{extension_point="Bind",le="0.1"} 4
scheduler_framework_extension_point_duration_seconds_bucket{extension_point="Other",le="0.1"} 4
# TYPE something_else counter
something_else_total 1
"""


def test_series_are_added_up() -> None:
    found = histograms([PAGE.replace("FIRST", "10")] * 2)

    assert found["e2eSchedulingLatency"] == {0.01: 20, math.inf: 30}
    assert found["Bind"] == {0.1: 8}
    assert found["Filter"] == {}


@pytest.mark.parametrize("first", ["NaN", "+Inf", "many", '1\nx{le="', "7" * 400])
def test_a_page_that_is_none_of_metrics(first: str) -> None:
    with pytest.raises(ExtenderError, match="the metrics of kube-scheduler cannot be read"):
        histograms([PAGE.replace("FIRST", first)])


async def test_what_was_before_the_start_does_not_count(
    aiohttp_server: Serve, surroundings: Surroundings
) -> None:
    pages = iter([PAGE.replace("FIRST", "90"), PAGE.replace("FIRST", "100")])

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=next(pages))

    app = web.Application()
    app.router.add_get("/metrics", answer)
    server = await aiohttp_server(app)
    monitoring = Monitoring(surroundings.client, scheduler_url=str(server.make_url("/metrics")))
    measurement = METHODS["SchedulingMetrics"](
        dataclasses.replace(surroundings, monitoring=monitoring)
    )

    assert await measurement.execute(Parameters({"action": "start"})) == Outcome()
    (summary,) = (await measurement.execute(Parameters({"action": "gather"}))).summaries

    assert summary.name == "SchedulingMetrics"
    # Ten more in 10 ms, spread evenly, in nanoseconds.
    assert summary.content["e2eSchedulingLatency"] == {
        "Perc50": 5_000_000,
        "Perc90": 9_000_000,
        "Perc99": 9_900_000,
    }
    assert list(summary.content) == [
        "frameworkExtensionPointDuration",
        "preemptionEvaluationLatency",
        "e2eSchedulingLatency",
        "schedulingLatency",
    ]
    points = summary.content["frameworkExtensionPointDuration"]
    assert sorted(points) == sorted(EXTENSION_POINTS)
    assert points["Bind"] == {"Perc50": 0, "Perc90": 0, "Perc99": 0}


async def test_a_scheduler_on_a_control_plane_node_is_asked_through_the_api_server(
    cluster: SmallCluster, surroundings: Surroundings
) -> None:
    path = "/api/v1/namespaces/kube-system/pods/https:kube-scheduler-n0:10259/proxy/metrics"
    nodes = {"items": [{"metadata": {"name": "n0"}}]}
    cluster.collection(NODES).lists.append(answering(lambda: web.json_response(nodes)))
    cluster.collection(path).lists.append(answering(lambda: web.Response(text=PAGE)))

    assert await surroundings.monitoring.scheduler_metrics() == [PAGE]
    (asked_for,) = cluster.collection(NODES).listed
    assert asked_for.params == {"labelSelector": "node-role.kubernetes.io/control-plane"}


async def test_without_a_way_to_a_scheduler_it_is_left_out_with_a_warning(
    cluster: SmallCluster, surroundings: Surroundings, caplog: pytest.LogCaptureFixture
) -> None:
    empty = json.dumps({"items": []})
    cluster.collection(NODES).lists.append(answering(lambda: web.Response(text=empty)))

    outcome = await METHODS["SchedulingMetrics"](surroundings).execute(
        Parameters({"action": "gather"})
    )

    assert outcome == Outcome()
    assert "SchedulingMetrics is left out" in caplog.text
