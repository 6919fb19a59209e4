"""Where the scheduler binds: by which rules pods were placed is put on record afterwards."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from extender.cluster.state import ClusterState
from extender.controllers import recording
from extender.controllers.recording import Recorder
from extender.model.labels import EVERYTHING
from extender.model.objects import Pod as ModelPod
from tests.annotating import REQUIRED, annotated, digest_of, stored
from tests.builders import HOST, Pod, model_pod, pod, selector, term

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

RULES = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(app="batch"))]}}
RULED = annotated(pod("ruled"), RULES)
EDITED = annotated(pod("ruled"), {"podAntiAffinity": {REQUIRED: [term(HOST, selector())]}})
WITHIN = 5.0


class Rig:
    """A state, and an API server that takes records."""

    def __init__(self) -> None:
        self.state = ClusterState(annotations=EVERYTHING)
        self.written: list[tuple[str, str]] = []
        self.failures: list[str] = []
        self._changed = asyncio.Event()

    async def record(self, placed: ModelPod, digest: str) -> str | None:
        """Take a record, or refuse it."""
        self.written.append((placed.key, digest))
        self._changed.set()
        return self.failures.pop() if self.failures else None

    async def until(self, number: int) -> None:
        """Wait for so many."""
        async with asyncio.timeout(WITHIN):
            while len(self.written) < number:
                self._changed.clear()
                await self._changed.wait()

    def show(self, raw: Pod) -> None:
        """Show a pod as the watch does."""
        self.state.upsert_pod(model_pod(stored(raw)))

    def ask(self, raw: Pod) -> None:
        """Ask about a pod as filter does."""
        self.state.note_asked(model_pod(stored(raw)))


@asynccontextmanager
async def recorded() -> AsyncIterator[Rig]:
    """Run a recorder."""
    rig = Rig()
    work = asyncio.create_task(Recorder(rig.state, rig.record).run())
    try:
        yield rig
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


async def test_a_pod_that_was_placed_by_its_rules_is_recorded_once() -> None:
    async with recorded() as rig:
        rig.show(Pod(RULED))
        rig.ask(Pod(RULED))
        rig.show(Pod(RULED).on("a"))
        await rig.until(1)
        # By what it was placed by, whatever it has by now.
        rig.show(Pod(EDITED).on("a"))
        rig.show(pod("other").on("a"))
        other = annotated(pod("last"), RULES)
        rig.ask(Pod(other))
        rig.show(Pod(other).on("a"))
        await rig.until(2)
        assert rig.written == [
            ("default/ruled", digest_of(RULED)),
            ("default/last", digest_of(other)),
        ]


async def test_what_nobody_asked_about_is_not_recorded() -> None:
    async with recorded() as rig:
        rig.show(Pod(RULED).on("a"))
        rig.state.upsert_pod(model_pod(stored(Pod(annotated(pod("known"), RULES)).on("a"), RULED)))
        for _ in range(5):
            await asyncio.sleep(0)
        assert rig.written == []


async def test_a_record_that_failed_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recording, "FIRST_RETRY_SECONDS", 0.01)
    async with recorded() as rig:
        rig.failures = ["403: forbidden", "timeout"]
        rig.ask(Pod(RULED))
        rig.show(Pod(RULED).on("a"))
        await rig.until(3)
        assert rig.written == [("default/ruled", digest_of(RULED))] * 3
    assert "the right to patch pods/status: timeout" in caplog.text
