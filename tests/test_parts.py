"""What a part adds to the operations port is there."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from aiohttp import web

from extender.cluster.state import ClusterState
from extender.parts import Part
from extender.web.offered import Route
from extender.wiring import build_ops
from tests.web.showing import shown
from tests.wired import context_over


async def _said(request: web.Request) -> web.Response:
    return web.Response(text=request.method)


class Added(Part):
    """Answers two paths, and is never ready."""

    routes = (Route("/read", _said), Route("/both", _said, _said))
    checks = MappingProxyType({"added": lambda: "not yet"})


async def test_routes_and_checks_of_a_part(aiohttp_client: Any) -> None:
    state = ClusterState()
    context = context_over(state)
    ops = build_ops(context, {"own": lambda: None}, shown(state), [Added(context)])
    client = await aiohttp_client(ops)
    asked = [("GET", "/read"), ("POST", "/read"), ("GET", "/both"), ("POST", "/both")]
    answers = [await client.request(method, path) for method, path in asked]
    assert [each.status for each in answers] == [200, 405, 200, 200]
    assert await answers[-1].text() == "POST"
    assert "Cache-Control" in answers[0].headers
    ready = await client.get("/readyz")
    assert (ready.status, "[+]own ok\n[-]added" in await ready.text()) == (503, True)
