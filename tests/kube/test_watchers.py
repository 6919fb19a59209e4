"""Supervision: every reflector runs, again after a defect, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging

import pytest

from extender.core.kube.client import ApiClient
from extender.core.kube.frames import Resource
from extender.core.kube.reflector import Reflector
from extender.core.kube.watchers import Watchers
from tests.kube.fake_api import CLOSE, answering, failure
from tests.kube.rig import PATH, RecordingSink, Rig, Thing, read_thing, thing

OTHERS = "/api/v1/others"


class FragileSink(RecordingSink):
    """Fails at the first things it is given."""

    failures = 1

    def upsert(self, obj: Thing) -> None:
        """Fail, or hold the thing."""
        if self.failures:
            self.failures -= 1
            raise ZeroDivisionError
        super().upsert(obj)


def reflectors(rig: Rig, client: ApiClient) -> list[Reflector[Thing]]:
    """Build one of things and one of others."""
    return [
        Reflector(
            client,
            Resource(name, path, read_thing, {}),
            sink,
            rig.settings,
        )
        for name, path, sink in (
            ("things", PATH, rig.sink),
            ("others", OTHERS, RecordingSink(rig.pulse)),
        )
    ]


def running_names() -> set[str]:
    """Return the names of the reflectors' tasks."""
    names = (task.get_name() for task in asyncio.all_tasks())
    return {name for name in names if name.startswith("reflector/")}


async def test_tasks_are_named_and_gone_afterwards(rig: Rig) -> None:
    rig.api.collection(OTHERS)
    async with rig.client() as client:
        async with Watchers(reflectors(rig, client)) as watchers:
            assert running_names() == {"reflector/things", "reflector/others"}
            await watchers.wait_synced()
        assert running_names() == set()


async def test_each_resource_says_whether_it_is_synced(rig: Rig) -> None:
    others = rig.api.collection(OTHERS)
    gate = asyncio.Event()

    async def slow(request: object) -> object:
        await gate.wait()
        return await others.list(request)  # type: ignore[arg-type]

    others.lists.append(slow)  # type: ignore[arg-type]
    async with rig.client() as client, Watchers(reflectors(rig, client)) as watchers:
        assert watchers.synced == {"things": False, "others": False}
        await rig.until_watching()
        assert watchers.synced == {"things": True, "others": False}
        gate.set()
        await watchers.wait_synced()
        assert watchers.synced == {"things": True, "others": True}


async def test_break_after_the_first_sync_does_not_take_it_back(rig: Rig) -> None:
    rig.api.collection(OTHERS)
    async with rig.client() as client, Watchers(reflectors(rig, client)) as watchers:
        await watchers.wait_synced()
        await rig.until_watching()
        rig.things.lists.extend([answering(lambda: failure(500, "InternalError", "no"))] * 3)
        rig.things.watches.append(answering(lambda: failure(500, "InternalError", "no")))
        rig.things.send(CLOSE)
        await rig.pulse.until(lambda: rig.observer.relists["refused"] == 3)
        assert watchers.synced["things"]
        assert ("things", False) not in rig.observer.syncs[2:]


async def test_reflector_that_fails_is_logged_and_started_again(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.sink = FragileSink(rig.pulse)
    rig.api.collection(OTHERS)
    rig.things.put(thing("a", 1))
    async with rig.client() as client:
        watchers = Watchers(reflectors(rig, client))
        async with watchers:
            await watchers.wait_synced()
    assert rig.sink.values == {"a": 1}
    assert rig.observer.restarts["crashed"] == 1
    assert rig.time.slept == [0.8]
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.getMessage() == "things: the reflector failed, starting it again"
    assert record.exc_info is not None


async def test_stopping_before_anything_answered_is_clean(rig: Rig) -> None:
    await rig.api.stop()
    async with rig.client() as client, Watchers(reflectors(rig, client)):
        pass
    assert running_names() == set()
