"""Annotations that do not count are told of once, and can be looked up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from extender.core.cluster.state import ClusterState
from extender.core.controllers.broken_rules import keep_telling_of_broken
from extender.features.annotations.part import tell_of_ignored
from tests.annotating import REQUIRED, annotated
from tests.beside import COVERS_ALL
from tests.builders import ZONE, model_pod, pod, selector, term
from tests.web.showing import app_of, shown

if TYPE_CHECKING:
    import pytest

RULES = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(app="web"))]}}


async def told(state: ClusterState) -> None:
    """Let what tells of them look a few times."""
    both = tell_of_ignored(state, pause=0.0), keep_telling_of_broken(state, pause=0.0)
    telling = asyncio.gather(*both)
    for _ in range(10):
        await asyncio.sleep(0)
    telling.cancel()
    with suppress(asyncio.CancelledError):
        await telling


async def test_the_log_says_it_once_with_namespace_and_switch(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(pod("plain", "shop")))
    await told(state)
    assert caplog.messages == []
    for name in ("a", "b"):
        state.upsert_pod(model_pod(annotated(pod(name, "shop"), RULES)))
    state.upsert_pod(model_pod(annotated(pod("broken", "shop"), {"podAffinity": 7})))
    await told(state)
    (line,) = caplog.messages
    assert line.startswith("3 pods in namespace shop with rules in annotations, which are ignored")
    assert "annotations.namespaceSelector" in line


async def test_of_replicas_with_broken_rules_one_is_named(caplog: pytest.LogCaptureFixture) -> None:
    state = ClusterState(scope=COVERS_ALL)
    webs = [pod(f"web-{i}", "shop").labels(app="web").on("n1") for i in range(30)]
    for each in (*webs, pod("lone", "shop")):
        state.upsert_pod(model_pod(annotated(each, {"podAffinity": 7})))
    await told(state)
    web, lone = caplog.messages
    assert "too many: shop/web-0, it is on n1, and 29 pods like it: " in web
    assert "shop/lone, it is not placed: " in lone


async def test_they_can_be_looked_up(aiohttp_client: Any) -> None:
    state = ClusterState()
    state.upsert_pod(model_pod(annotated(pod("a", "shop"), RULES)))
    client = await aiohttp_client(app_of(shown(state)))
    page = await (await client.get("/domains")).json()
    assert page["ignoredAnnotations"] == {"pods": 1, "namespaces": ["shop"]}
    assert page["brokenAnnotations"]["pods"] == 0
    state.remove_pod("shop/a", "shop-a")
    assert state.broken_rules.ignored == 0
