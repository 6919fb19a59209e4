"""What a part adds to the operations port is there."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from aiohttp import web

from extender.core.cluster.state import ClusterState
from extender.core.parts import Part, Program
from extender.core.web.app import LastCalls
from extender.core.web.offered import Route
from extender.wiring import build_ops
from tests.wired import context_over


async def _said(request: web.Request) -> web.Response:
    return web.Response(text=request.method)


class Added(Part):
    """Answers two paths, and is never ready."""

    routes: Sequence[Route] = (Route("/read", _said), Route("/both", _said, _said))
    checks = MappingProxyType({"added": lambda: "not yet"})

    def built(self, program: Program) -> None:
        """Answer one more path, and tell there of what there is."""

        async def told(_: web.Request) -> web.Response:
            return web.Response(text=f"{[*program.readiness]} {program.callbacks_url}")

        self.routes = (*self.routes, Route("/told", told))


async def test_routes_and_checks_of_a_part(aiohttp_client: Any) -> None:
    state = ClusterState()
    context = context_over(state)
    ops = build_ops(
        context,
        {"own": lambda: None},
        [Added(context)],
        calls=LastCalls(()),
        callbacks_url="http://us",
    )
    client = await aiohttp_client(ops)
    asked = [("GET", "/read"), ("POST", "/read"), ("GET", "/both"), ("POST", "/both")]
    answers = [await client.request(method, path) for method, path in asked]
    assert [each.status for each in answers] == [200, 405, 200, 200]
    assert await answers[-1].text() == "POST"
    assert "Cache-Control" in answers[0].headers
    told = await client.get("/told")
    assert await told.text() == "['own', 'added'] http://us"
    ready = await client.get("/readyz")
    assert (ready.status, "[+]own ok\n[-]added" in await ready.text()) == (503, True)
