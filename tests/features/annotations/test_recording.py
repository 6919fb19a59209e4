"""Where the scheduler binds: by which rules pods were placed is put on record afterwards."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.controllers.workqueue import WorkQueue
from extender.core.model.objects import Pod as ModelPod
from extender.features.annotations import recording
from extender.features.annotations.part import Annotated
from extender.features.annotations.recording import Recorder
from tests.annotating import REQUIRED, annotated, digest_of, stored
from tests.beside import COVERS_ALL
from tests.builders import HOST, Pod, model_pod, pod, selector, term
from tests.wired import context_over

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

RULES = {"podAntiAffinity": {REQUIRED: [term(HOST, selector(app="batch"))]}}
RULED = annotated(pod("ruled"), RULES)
EDITED = annotated(pod("ruled"), {"podAntiAffinity": {REQUIRED: [term(HOST, selector())]}})
WITHIN = 5.0


class Rig:
    """A state, and an API server that takes records."""

    def __init__(self) -> None:
        self.state = ClusterState(scope=COVERS_ALL)
        self.written: list[tuple[str, str]] = []
        self.failures: list[str | Exception] = []
        self._changed = asyncio.Event()

    async def record(self, placed: ModelPod, digest: str) -> str | None:
        """Take a record, or refuse it."""
        self.written.append((placed.key, digest))
        self._changed.set()
        failure = self.failures.pop() if self.failures else None
        if isinstance(failure, Exception):
            raise failure
        return failure

    async def until(self, number: int) -> None:
        """Wait for so many."""
        async with asyncio.timeout(WITHIN):
            while len(self.written) < number:
                self._changed.clear()
                await self._changed.wait()

    def show(self, raw: Pod) -> None:
        """Show a pod as the watch does."""
        self.state.upsert_pod(model_pod(stored(raw)))

    def ask(self, raw: Pod, *, admitted: bool = True) -> None:
        """Ask about a pod as filter does."""
        self.state.note_asked(model_pod(stored(raw)), admitted=admitted)


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


async def test_only_what_a_pod_was_placed_by_is_recorded() -> None:
    async with recorded() as rig:
        rig.show(Pod(RULED).on("a"))
        rig.state.upsert_pod(model_pod(stored(Pod(annotated(pod("known"), RULES)).on("a"), RULED)))
        refused = annotated(pod("refused"), RULES)
        rig.ask(Pod(refused), admitted=False)
        rig.show(Pod(refused).on("a"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert rig.written == []


@pytest.mark.parametrize("first", [0, 1], ids=["the one that placed it", "the other"])
async def test_of_two_replicas_only_the_one_that_has_placed_a_pod_records_it(first: int) -> None:
    """Each was asked; the pod was edited in between, and the first attempt came to nothing."""
    later = annotated(pod("ruled"), {"podAntiAffinity": {REQUIRED: [term(HOST, selector())]}})
    async with recorded() as placing, recorded() as other:
        for rig in (placing, other):
            rig.show(Pod(RULED))
        other.ask(Pod(RULED))
        for rig in (placing, other):
            rig.show(Pod(later))
        placing.ask(Pod(later))
        for rig in ((placing, other), (other, placing))[first]:
            rig.show(Pod(later).on("a"))
            for _ in range(5):
                await asyncio.sleep(0)
        assert (placing.written, other.written) == ([("default/ruled", digest_of(later))], [])


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


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(
            lambda state: state.upsert_pod(model_pod(stored(Pod(RULED).on("a"), RULED))),
            id="another replica has made it",
        ),
        pytest.param(
            lambda state: state.remove_pod("default/ruled", model_pod(Pod(RULED)).uid),
            id="the pod is gone",
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(stored(Pod(RULED).uid("new").on("a")))),
            id="another pod has its name",
        ),
    ],
)
async def test_what_happens_before_a_record_is_tried_again_ends_that(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[ClusterState], None]
) -> None:
    again: list[Callable[[], object]] = []
    add = WorkQueue.add_after

    def add_after(queue: Any, item: Any, seconds: float, *more: Any) -> Any:
        if not seconds:
            return add(queue, item, 0.0, *more)
        again.append(lambda: add(queue, item, 0.0))
        return True

    monkeypatch.setattr(WorkQueue, "add_after", add_after)
    async with recorded() as rig:
        rig.failures = ["timeout"]
        rig.ask(Pod(RULED))
        rig.show(Pod(RULED).on("a"))
        await rig.until(1)
        for _ in range(5):
            await asyncio.sleep(0)
        happens(rig.state)
        (try_again,) = again
        try_again()
        other = annotated(pod("last"), RULES)
        rig.ask(Pod(other))
        rig.show(Pod(other).on("a"))
        await rig.until(2)
    assert [key for key, _ in rig.written] == ["default/ruled", "default/last"]


@pytest.mark.parametrize("failure", ["403: forbidden", RuntimeError("a bug")], ids=str)
async def test_each_try_of_a_record_waits_twice_as_long(
    monkeypatch: pytest.MonkeyPatch, failure: str | Exception
) -> None:
    waits: list[float] = []

    add = WorkQueue.add_after

    def add_after(queue: Any, item: Any, seconds: float, *more: Any) -> Any:
        if seconds:
            waits.append(seconds)
        return add(queue, item, 0.0, *more)

    monkeypatch.setattr(WorkQueue, "add_after", add_after)
    async with recorded() as rig:
        rig.failures = [failure] * 8
        rig.ask(Pod(RULED))
        rig.show(Pod(RULED).on("a"))
        await rig.until(9)
    assert waits == [5, 10, 20, 40, 80, 160, 320, 320]


@pytest.mark.parametrize(
    ("mode", "hooks", "tasks"),
    [
        pytest.param("replace", 1, 0, id="before the bind"),
        pytest.param("assist", 0, 1, id="after it"),
        pytest.param("shadow", 0, 0, id="the scheduler was not told of any rule"),
    ],
)
def test_who_puts_rules_on_record(mode: str, hooks: int, tasks: int) -> None:
    fields = {"mode": mode, "annotations": {"namespaceSelector": {}}}
    context = context_over(ClusterState(), fields=fields)
    api: Any = SimpleNamespace(client=None)
    part = Annotated(replace(context, source=replace(context.source, api=api)))
    names = []
    for name, task in part.tasks():
        names.append(name)
        task.close()
    assert (len(part.hooks), names.count("recorder")) == (hooks, tasks)
