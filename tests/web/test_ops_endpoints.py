"""Probes, metrics, configuration and page, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient
from prometheus_client.parser import text_string_to_metric_families

from extender.core.metrics import Metrics
from extender.core.ports import Check
from extender.core.web.health import LoopLag, report
from tests.ringing import ring
from tests.web.showing import app_of, shown

Start = Callable[..., Awaitable[TestClient[web.Request, web.Application]]]


def fine() -> str | None:
    return None


def listing() -> str | None:
    return "the first list\nis under way"


def broken() -> str | None:
    raise ZeroDivisionError("by zero")


@pytest.fixture
def start(aiohttp_client: Callable[[web.Application], Awaitable[Any]]) -> Start:
    async def start(
        *,
        readiness: Mapping[str, Check] | None = None,
        configuration: Mapping[str, Any] | None = None,
        metrics: Metrics | None = None,
    ) -> Any:
        app = app_of(shown(), readiness, configuration, metrics or Metrics(version="1.2.3"))
        return await aiohttp_client(app)

    return start


READINESS: dict[str, Check] = {"informer-sync/nodes": fine, "informer-sync/pods": listing}


@pytest.mark.parametrize(
    ("path", "readiness", "code", "text"),
    [
        pytest.param("/livez", {}, 200, "ok", id="alive"),
        pytest.param("/livez", {"x": listing}, 200, "ok", id="alive though not ready"),
        pytest.param(
            "/livez?verbose",
            {},
            200,
            "[+]ping ok\n[+]event-loop ok\nlivez check passed\n",
            id="alive, in words",
        ),
        pytest.param("/livez/event-loop", {}, 200, "ok", id="one check of being alive"),
        pytest.param("/readyz", {}, 200, "ok", id="ready"),
        pytest.param(
            "/readyz?verbose",
            {"informer-sync/nodes": fine, "shutdown": fine},
            200,
            "[+]ping ok\n[+]informer-sync/nodes ok\n[+]shutdown ok\nreadyz check passed\n",
            id="ready, in words",
        ),
        pytest.param(
            "/readyz",
            READINESS,
            503,
            "[+]ping ok\n[+]informer-sync/nodes ok\n[-]informer-sync/pods failed: the first list "
            "is under way\nreadyz check failed\n",
            id="a failure is told in full, each reason on one line",
        ),
        pytest.param(
            "/readyz?verbose&exclude=informer-sync/pods",
            READINESS,
            200,
            "[+]ping ok\n[+]informer-sync/nodes ok\n[+]informer-sync/pods excluded: ok\n"
            "readyz check passed\n",
            id="without the check that fails",
        ),
        pytest.param(
            "/readyz?exclude=informer-sync/pods&exclude=zz&verbose=1",
            {"informer-sync/pods": listing},
            200,
            "[+]ping ok\n[+]informer-sync/pods excluded: ok\nwarn: some health checks cannot be "
            'excluded: no matches for "zz"\nreadyz check passed\n',
            id="leaving out a check that there is not",
        ),
        pytest.param("/readyz/informer-sync/nodes", READINESS, 200, "ok", id="one that passes"),
        pytest.param(
            "/readyz/informer-sync/pods",
            READINESS,
            503,
            "[-]informer-sync/pods failed: the first list is under way\n"
            "readyz/informer-sync/pods check failed\n",
            id="one that fails",
        ),
        pytest.param("/readyz/zz", READINESS, 404, "no check named zz\n", id="one there is not"),
        pytest.param(
            "/readyz",
            {"x": broken},
            503,
            "[+]ping ok\n[-]x failed: the check itself failed: ZeroDivisionError: by zero\n"
            "readyz check failed\n",
            id="a check that breaks has failed",
        ),
        pytest.param("/nope", {}, 404, "no such page; / lists what there is\n", id="no such page"),
    ],
)
async def test_probes(
    start: Start, path: str, readiness: dict[str, Check], code: int, text: str
) -> None:
    client = await start(readiness=readiness)
    response = await client.get(path)
    assert (response.status, await response.text()) == (code, text)
    assert response.content_type == "text/plain"


PATHS = (
    *("/", "/livez", "/readyz", "/readyz/ping", "/metrics", "/configz", "/domains"),
    *("/page/domains", "/page/activity"),
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_nothing_can_be_changed(start: Start, path: str, method: str) -> None:
    client = await start()
    response = await client.request(method, path)
    assert (response.status, response.headers["Allow"]) == (405, "GET,HEAD")


@pytest.mark.parametrize("path", PATHS)
async def test_head_is_get_without_the_body(start: Start, path: str) -> None:
    client = await start()
    response = await client.head(path)
    assert (response.status, await response.read()) == (200, b"")


@pytest.mark.parametrize("path", [*PATHS, "/nope", "/readyz/nope"])
async def test_browsers_are_told_to_be_careful(start: Start, path: str) -> None:
    client = await start()
    response = await client.get(path)
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; ")


async def test_a_refused_method_has_the_headers_as_well(start: Start) -> None:
    client = await start()
    response = await client.post("/configz")
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; ")


async def test_configz(start: Start) -> None:
    configuration = {"mode": "replace", "serving": {"port": 10280}}
    client = await start(configuration=configuration)
    response = await client.get("/configz")
    assert response.content_type == "application/json"
    assert json.loads(await response.text()) == configuration


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("", "text/plain; version=0.0.4; charset=utf-8", id="anything"),
        pytest.param(
            "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
            "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
            id="what Prometheus asks for",
        ),
    ],
)
async def test_metrics_in_the_format_asked_for(start: Start, accept: str, expected: str) -> None:
    client = await start()
    response = await client.get("/metrics", headers={"Accept": accept})
    assert (response.status, response.headers["Content-Type"]) == (200, expected)
    assert 'affinity_extender_build_info{version="1.2.3"} 1.0' in await response.text()


async def test_metrics_are_compressed_for_those_who_can(start: Start) -> None:
    client = await start()
    response = await client.get("/metrics", headers={"Accept-Encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    families = {one.name for one in text_string_to_metric_families(await response.text())}
    assert "affinity_extender_event_loop_lag_seconds" in families


async def test_the_loop_is_measured_while_serving(start: Start) -> None:
    metrics = Metrics()
    measured = ring(metrics.loop_lag)
    await start(metrics=metrics)
    async with asyncio.timeout(10):
        await measured.wait()
    assert next(iter(metrics.loop_lag[()].collect())).samples[-1].value >= 0


@pytest.mark.parametrize(
    ("late", "since", "expected"),
    [
        pytest.param(0.0, 0.4, None, id="in time"),
        pytest.param(4.9, 0.0, None, id="a little late"),
        pytest.param(5.5, 0.1, "the event loop is 5.5 s late", id="too late"),
        pytest.param(0.0, 7.0, "the event loop is 6.5 s late", id="overdue right now"),
    ],
)
def test_a_late_loop(late: float, since: float, expected: str | None) -> None:
    now, observed = 100.0, list[float]()
    lag = LoopLag(observed.append, interval=0.5, clock=lambda: now)
    now += 0.5 + late
    lag.tick()
    now += since
    assert lag.check() == expected
    assert observed == [pytest.approx(late)]


def test_a_loop_that_was_late_recovers() -> None:
    now = 0.0
    lag = LoopLag(lambda _: None, interval=0.5, clock=lambda: now)
    now = 60.0
    lag.tick()
    assert lag.check() is not None
    now = 60.5
    lag.tick()
    assert lag.check() is None


def test_a_passing_report_is_short_unless_asked() -> None:
    assert report("readyz", {"a": fine}, verbose=False) == (True, "ok")


async def test_health_as_metrics_in_kubernetes_words(start: Start) -> None:
    client = await start(readiness=READINESS)
    for path in ("/readyz", "/readyz/informer-sync/nodes", "/livez?exclude=event-loop"):
        await (await client.get(path)).read()
    text = await (await client.get("/metrics/slis")).text()
    found = {
        (one.name, *(one.labels[name] for name in ("type", "name")), one.labels.get("status")): (
            one.value
        )
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }
    last, total = "kubernetes_healthcheck", "kubernetes_healthchecks_total"
    assert {key[0] for key in found} == {last, total}
    assert found[last, "readyz", "informer-sync/nodes", None] == 1
    assert found[last, "readyz", "informer-sync/pods", None] == 0
    # Each probe counts, and so does this scrape.
    assert found[total, "readyz", "informer-sync/nodes", "success"] == 3
    assert found[total, "readyz", "informer-sync/nodes", "error"] == 0
    assert found[total, "readyz", "informer-sync/pods", "error"] == 2
    assert found[total, "livez", "ping", "success"] == 2
    assert found[total, "livez", "event-loop", "success"] == 1
