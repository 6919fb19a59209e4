"""A scheduler with an extender that goes by rules in annotations everywhere."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.extending import REPLACE, Extender
from tests.e2e.scheduling import configured, shipped
from tests.features.every import shipped_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.e2e.sandbox import Sandbox

EVERYWHERE = json.dumps(
    {
        "apiVersion": "affinity-extender.io/v1",
        "kind": "AffinityExtenderConfiguration",
        "annotations": {"namespaceSelector": {}},
    }
)
"""The extender's configuration."""


@asynccontextmanager
async def judging(sandbox: Sandbox, mode: str = REPLACE) -> AsyncIterator[Extender]:
    """Run scheduler and extender in a mode, where annotations count everywhere."""
    folder = sandbox.folder("judging")
    async with (
        extending(sandbox, mode, folder) as extender,
        configured(sandbox.control_plane, shipped(mode, extender.url, quotas=True), folder),
    ):
        yield extender


@asynccontextmanager
async def extending(sandbox: Sandbox, mode: str, folder: Path) -> AsyncIterator[Extender]:
    """Run the extender alone, where annotations count everywhere."""
    config = folder / "annotations.yaml"
    config.write_text(json.dumps(json.loads(EVERYWHERE) | shipped_with(mode)))
    options = ("--config", str(config))
    async with Extender.running(sandbox.control_plane, mode, folder, *options) as extender:
        sandbox.extender = extender
        try:
            yield extender
        finally:
            sandbox.extender = None
