"""A namespace that is relabelled changes what rules mean from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import key_of
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, namespace, node, pod, term

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

DB = {"app": "db"}
RED = {"namespaceSelector": {"matchLabels": {"team": "red"}}}
NODES = [node("n1"), node("n2")]


@pytest.mark.parametrize(
    ("there", "coming"),
    [
        pytest.param(
            [pod(f"db-{n}", "shop", labels=DB, on=n) for n in ("n1", "n2")],
            pod("web", apart=[term(HOSTNAME, DB, **RED)]),
            id="the namespace of placed pods",
        ),
        pytest.param(
            [pod(f"guard-{n}", apart=[term(HOSTNAME, DB, **RED)], on=n) for n in ("n1", "n2")],
            pod("db", "shop", labels=DB),
            id="the namespace of the incoming pod",
        ),
    ],
)
async def test_a_pod_that_waits_is_placed_once_a_label_lets_it(
    sandbox: Sandbox, there: list[JSON], coming: JSON
) -> None:
    await sandbox.add(*NODES, namespace("shop", team="red"), *there)
    async with sandbox.scheduled_by(REPLACE):
        assert await sandbox.settle(coming) == {coming["metadata"]["name"]: None}
        blue = {"metadata": {"labels": {"team": "blue"}}}
        await sandbox.api.patch("/api/v1/namespaces/shop", blue)
        assert await sandbox.bound(key_of(coming))
