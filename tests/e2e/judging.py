"""A scheduler with an extender that goes by rules in annotations everywhere."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.extending import REPLACE, Extender
from tests.e2e.scheduling import configured, shipped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox


@asynccontextmanager
async def judging(sandbox: Sandbox, mode: str = REPLACE) -> AsyncIterator[Extender]:
    """Run scheduler and extender in a mode, where annotations count everywhere."""
    folder = sandbox.folder("judging")
    config = folder / "annotations.yaml"
    document = {
        "apiVersion": "affinity-extender.io/v1alpha1",
        "kind": "AffinityExtenderConfiguration",
        "annotations": {"namespaceSelector": {}},
    }
    config.write_text(json.dumps(document))
    async with (
        Extender.running(sandbox.control_plane, mode, folder, "--config", str(config)) as extender,
        configured(sandbox.control_plane, shipped(mode, extender.url, quotas=True), folder),
    ):
        sandbox.extender = extender
        try:
            yield extender
        finally:
            sandbox.extender = None
