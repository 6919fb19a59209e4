"""A real control plane to measure on: the one of the end-to-end tests."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tests.e2e.controlplane.binaries import ensure
from tests.e2e.controlplane.cluster import ControlPlane, control_plane
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.extending import EXTENDER
from tests.e2e.sandbox import Sandbox


@contextmanager
def control_plane_in(report: Callable[[str], None]) -> Iterator[tuple[ControlPlane, Path]]:
    """Run a control plane, built first if need be, in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folder = Path(scratch)
        with control_plane(ensure(report), folder, [SCHEDULER, EXTENDER]) as running:
            yield running, folder


@asynccontextmanager
async def opened() -> AsyncIterator[Sandbox]:
    """Run a control plane with nothing in it, and whatever scenarios need beside it."""
    with control_plane_in(say) as (running, folder):
        async with Sandbox.opened(running, folder) as sandbox:
            yield sandbox


def say(line: str) -> None:
    """Tell how far we are, beside the report."""
    print(line, file=sys.stderr, flush=True)
