"""Filter and prioritize over HTTP, over a small cluster: two nodes, one of them with a web pod."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.web.app import callbacks_app
from tests.answering import AFFINITY, ANNOTATIONS, Answering
from tests.builders import HOST, node, pod, selector, state_of, term

Client = TestClient[Request, Application]
Start = Callable[..., Awaitable[Client]]

NODES = [node(name, {HOST: name}) for name in ("a", "b")]
WEB = selector(app="web")
OLD = pod("old").labels(app="web").on("a")
NEW = pod("new").labels(app="web")
APART = NEW.anti_affinity(term(HOST, WEB))
TOGETHER = NEW.prefers(1, term(HOST, WEB))
LARGEST_BODY = 20_000


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def start(aiohttp_client: Any, registry: CollectorRegistry) -> Start:
    """Serve the callbacks over a small cluster."""

    async def started(
        state: ClusterState | None = None,
        *,
        enforce: bool = True,
        unready: str | None = None,
    ) -> Client:
        metrics = Metrics(registry, "test")
        answers = Answering(
            state or state_of(NODES, [], [OLD]),
            metrics,
            AFFINITY if enforce else ANNOTATIONS,
            unready=lambda: unready,
        )
        app = callbacks_app(answers.callbacks, metrics, LARGEST_BODY)
        client: Client = await aiohttp_client(app)
        return client

    return started


def question(incoming: Any, *names: str) -> dict[str, Any]:
    """Ask about some nodes."""
    return {"Pod": incoming, "Nodes": None, "NodeNames": list(names)}


async def ask(client: Client, verb: str, body: Any) -> Any:
    """Ask as kube-scheduler does, and check what it relies on in every answer."""
    response = await client.post(verb, json=body, headers={"Accept-Encoding": "gzip"})
    assert response.status == 200
    content = await response.read()
    assert response.headers["Content-Length"] == str(len(content))
    assert "Content-Encoding" not in response.headers
    assert response.content_type == "application/json"
    return json.loads(content)
