"""Single objects are read as they are now, and lists of pods are bounded."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from extender.core.errors import ApiError
from extender.core.kube.client import ApiClient
from extender.core.kube.limits import MOST
from extender.core.kube.reader import LIVE, ObjectReader
from extender.core.model.keys import Key
from extender.core.model.labels import EVERYTHING, Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector
from extender.core.wire.objects import PodReader
from tests.builders import namespace, node, pod
from tests.kube.fake_api import failure
from tests.kube.rig import credentials_for

DB = Selector.of(
    (
        Requirement("app", Operator.IN, frozenset(("db", "cache"))),
        Requirement("old", Operator.DOES_NOT_EXIST),
    )
)


class Server:
    """Has some objects by path, and remembers what it was asked."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.status = 200

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a GET."""
        query = {name: each for name, each in request.query.items() if name != "timeout"}
        self.asked.append((request.path, query))
        if self.status != 200:
            return web.json_response({"kind": "Status", "message": "no"}, status=self.status)
        found = self.objects.get(request.path)
        if found is None:
            return failure(404, "NotFound", "none")
        return web.Response(body=json.dumps(found), content_type="application/json")


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def reader(server: Server, aiohttp_server: Any) -> AsyncIterator[ObjectReader]:
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    running = await aiohttp_server(app)
    async with ApiClient(credentials_for(str(running.make_url("")))) as client:
        yield ObjectReader(client, PodReader())


async def test_objects_are_read_from_the_storage(server: Server, reader: ObjectReader) -> None:
    server.objects = {
        "/api/v1/namespaces/default/pods/web": pod("web").on("a").stored_at("17"),
        "/api/v1/nodes/a": node("a", {"zone": "z"}),
        "/api/v1/namespaces/default": namespace("default", {"team": "x"}),
    }
    seen = await reader.pod(Key("default/web"))
    assert seen is not None
    assert (seen.pod.key, seen.pod.node, seen.version) == ("default/web", "a", "17")
    found = await reader.node("a")
    assert found is not None
    assert found.labels == {"zone": "z"}
    space = await reader.namespace("default")
    assert space is not None
    assert space.labels == {"team": "x"}
    # With a resourceVersion, a cache that is behind might answer.
    assert [query for _, query in server.asked] == [{}, {}, {}]


async def test_what_there_is_not_is_none(reader: ObjectReader) -> None:
    assert await reader.pod(Key("default/web")) is None
    assert await reader.node("a") is None
    assert await reader.namespace("default") is None


async def test_what_may_not_be_read_is_an_error(server: Server, reader: ObjectReader) -> None:
    server.status = 403
    with pytest.raises(ApiError):
        await reader.node("a")
    with pytest.raises(ApiError):
        await reader.pods(PodSelector(DB, frozenset(("default",))), None)


@pytest.mark.parametrize(
    ("pods", "on", "path", "query"),
    [
        pytest.param(
            PodSelector(DB, frozenset(("default",))), None,
            "/api/v1/namespaces/default/pods",
            {"fieldSelector": LIVE, "labelSelector": "app in (cache,db),!old"},
            id="of one namespace",
        ),
        pytest.param(
            PodSelector(DB, frozenset(("default", "other"))), "a", "/api/v1/pods",
            {
                "fieldSelector": f"spec.nodeName=a,{LIVE}",
                "labelSelector": "app in (cache,db),!old",
            },
            id="of two namespaces on a node",
        ),
        pytest.param(
            PodSelector(EVERYTHING, frozenset(("default",)), EVERYTHING), None, "/api/v1/pods",
            {"fieldSelector": LIVE},
            id="of namespaces by their labels, whatever pods",
        ),
    ],
)  # fmt: skip
async def test_pods_are_asked_for_by_what_a_term_says(
    server: Server,
    reader: ObjectReader,
    pods: PodSelector,
    *,
    on: str | None,
    path: str,
    query: dict[str, str],
) -> None:
    listing = {"metadata": {"resourceVersion": "9"}, "items": [pod("db").on("a")]}
    server.objects[path] = listing
    (found,) = await reader.pods(pods, on) or ()
    assert (found.key, found.node) == ("default/db", "a")
    assert server.asked == [(path, query | {"limit": str(MOST.listed_pods)})]


async def test_more_pods_than_are_read_are_none(server: Server, reader: ObjectReader) -> None:
    more = {"resourceVersion": "9", "continue": "more"}
    server.objects["/api/v1/pods"] = {"metadata": more, "items": [pod("db")]}
    assert await reader.pods(PodSelector(DB, frozenset(), EVERYTHING), None) is None


async def test_a_selector_too_long_for_a_query_is_not_sent(
    server: Server, reader: ObjectReader
) -> None:
    values = frozenset(f"value-{number}" for number in range(1000))
    long = Selector.of((Requirement("app", Operator.IN, values),))
    assert await reader.pods(PodSelector(long, frozenset(("default",))), None) is None
    assert server.asked == []
