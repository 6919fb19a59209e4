"""The page over HTTP: what it shows, that names stay text, and that others are served meanwhile."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from extender.core.controllers.history import EVICTION, History
from extender.features.page import pages
from extender.features.page.status import MODES, ResourceStatus
from tests.builders import (
    HOST,
    ZONE,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.features.every import shown_over
from tests.web.reading import Reader, read_page
from tests.web.refused import WHY, refused_state
from tests.web.showing import Seen, app_of, shown

Read = Callable[..., Awaitable[str]]


@pytest.fixture
def read(aiohttp_client: Any) -> Read:
    """Return what a person reads on a page, and check the page."""

    async def reading(seen: Seen, path: str, expected: int = 200, **options: Any) -> str:
        return await read_page(await aiohttp_client(app_of(seen, **options)), path, expected)

    return reading


async def test_the_overview(read: Read) -> None:
    now = time.time()
    seen = shown(
        status=lambda: {
            "resources": (
                ResourceStatus("nodes", synced=True, objects=5000, last_event=now - 2),
                ResourceStatus("pods", synced=False, objects=148_213),
                ResourceStatus("namespaces", synced=True, objects=3, last_event=now - 3600),
            ),
            "calls": {"filter": now - 100, "bind": None},
            "stale_after": 60.0,
        }
    )
    text = await read(seen, "/")
    # A slow machine takes some seconds to show it.
    calls = r"filter 1 min 4\d s ago, bind never\."
    assert re.search(rf"Ready Last callbacks from the scheduler: {calls}", text)
    assert re.search(r"nodes in sync 5,000 \d s ago pods being listed 148,213 - ", text)
    assert "namespaces stale 3 1 h 0 min ago" in text
    assert "replace: scores and hard rules come from here" in text
    assert "No pod that waits was refused on every node." in text


async def test_nobody_has_called(read: Read) -> None:
    assert "No callback has come yet." in await read(shown(), "/")


@pytest.mark.parametrize("mode", sorted(MODES))
async def test_the_mode_is_explained(mode: str, read: Read) -> None:
    assert MODES[mode] in await read(shown(status=lambda: {"mode": mode}), "/")


async def test_where_filter_refuses_nothing_no_pod_is_said_to_be_refused(read: Read) -> None:
    seen = shown(refused=None, status=lambda: {"mode": "assist"})
    assert "Refused" not in await read(seen, "/")


async def test_why_it_is_not_ready(read: Read) -> None:
    checks = {"informer-sync/pods": lambda: "not\nyet", "informer-sync/nodes": lambda: None}
    text = await read(shown(), "/", readiness=checks)
    assert "Not ready informer-sync/pods : not yet" in text
    assert "informer-sync/nodes" not in text


async def test_a_page_that_fails_says_so(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    def boom() -> dict[str, Any]:
        raise RuntimeError("no state")

    text = await read(shown(status=boom), "/", 500)
    assert "This page failed The log says why." in text
    assert "no state" not in text
    assert "no state" in caplog.text


async def test_who_is_refused_and_why(read: Read) -> None:
    state, refused = refused_state()
    text = await read(shown(state, refused=refused), "/")
    assert "default/db-1" in text
    assert WHY in text
    assert "default/other" not in text


async def test_rules_and_domains(read: Read) -> None:
    state, _ = refused_state()
    seen = shown(state)
    text = await read(seen, "/page/domains")
    assert f"{ZONE} 2 1" in text
    assert f"1 anti-affinity pods with app in (db) in namespace default {ZONE} 1 1" in text
    assert "that match" not in text
    assert "Terms that placed pods carry: 0 that match" in await read(seen, "/page/domains?q=nope")
    assert "a 2 a1, a2 b 1 b1" in await read(seen, f"/page/domains?key={ZONE}&sort=nodes")
    assert "a 1 1" in await read(seen, "/page/domains?term=1")
    assert "2 nodes: a1, a2" in await read(seen, f"/page/domains?key={ZONE}&value=a")


async def test_activity(read: Read) -> None:
    history = History()
    history.told.update({"nominating": {"set": "node nominated"}, "another": {}})
    history.note("nominating", "set", "a/hinted", "n1")
    history.note(EVICTION, "failed", "a/victim", "n2", "for a/preemptor")
    seen = shown(history=history)
    text = await read(seen, "/page/activity")
    assert text.index("eviction failed a/victim n2 for a/preemptor") < text.index(
        "node nominated a/hinted n1"
    )
    text = await read(seen, "/page/activity?kind=nominating")
    assert ("a/hinted" in text, "a/victim" in text) == (True, False)
    assert "Nothing of that" in await read(seen, "/page/activity?kind=another&q=")


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("/?x=1", 400, "no parameter x"),
        ("/page/domains?sort=wrong", 200, ""),
        ("/page/domains?term=7", 404, "no term 7"),
        ("/page/domains?term=x", 400, "term: not a whole number"),
        (f"/page/domains?key={ZONE}&value=z", 404, "no node has the label"),
        (f"/page/domains?key={ZONE}&sort=wrong", 400, "sort: not one of name, nodes"),
        ("/page/activity?page=0", 400, "page: not a whole number from 1"),
        ("/page/activity?kind=wrong", 400, "kind: not one of"),
        ("/page/domains?q=" + "x" * 318, 400, "q: longer than any name"),
    ],
)
async def test_what_cannot_be_shown(path: str, code: int, said: str, read: Read) -> None:
    assert said in await read(shown(), path, code)


async def test_nothing_is_shown_of_a_cluster_that_is_not_known(read: Read) -> None:
    why = "pods not synced yet"
    seen = shown(unready=lambda: why)
    assert "pods not synced yet" in await read(seen, "/page/domains", 503)


async def test_a_page_that_grows_too_long_is_not_sent(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_BYTES", 100)
    assert "this page is too long" in await read(shown(), "/", 507)


async def test_pages_of_a_large_cluster_are_whole_and_short(aiohttp_client: Any) -> None:
    nodes = [node(f"n{i}", {HOST: f"n{i}", ZONE: "abc"[i % 3]}) for i in range(1500)]
    lone = [
        pod(f"p{i}").labels(app=f"app-{i}").anti_affinity(term(HOST, selector(app=f"app-{i}")))
        for i in range(1500)
    ]
    seen = shown(state_of(nodes, [], [each.on(f"n{i}") for i, each in enumerate(lone)]))
    client = await aiohttp_client(app_of(seen, parts=shown_over(seen)))
    for path in ("/page/domains", "/page/domains?term=1400", f"/page/domains?key={HOST}&page=15"):
        response = await client.get(path)
        assert response.status == 200
        assert 2_000 < len(await response.text()) < 150_000


async def test_every_page_is_in_the_navigation(aiohttp_client: Any) -> None:
    seen = shown()
    app = app_of(seen, parts=shown_over(seen))
    routes = {route.resource.canonical for route in app.router.routes() if route.resource}
    found = Reader(await (await (await aiohttp_client(app)).get("/")).text())
    assert {path for path in routes if path == "/" or path.startswith("/page/")} <= {*found.links}
