"""What takes long to read is read beside the event loop, and only that."""

from __future__ import annotations

import json
import threading

import msgspec
import pytest

from extender.core.errors import ObjectError
from extender.core.kube.frames import Resource, read_object
from extender.core.model.objects import Pod
from extender.core.reading import APART_BYTES, ApartReader
from extender.core.wire.objects import PodReader
from tests.builders import model_pod, pod
from tests.hostile import hostile
from tests.reading import Reading


def resource(pods: PodReader) -> Resource[Pod]:
    """Have large pods read in a thread."""
    return Resource("pods", "", pods.read, {}, ApartReader(pods.read, pods.another().read))


def raw_of(made: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(made).encode())


async def test_a_large_pod_is_read_in_a_thread() -> None:
    reading, raw = Reading(), raw_of(hostile(1000))
    assert len(memoryview(raw)) > APART_BYTES
    read = await read_object(resource(reading), raw)
    assert read.key == model_pod(hostile(1000)).key
    (apart,) = reading.apart
    assert apart != threading.get_ident()
    assert reading.threads == []


async def test_usual_pods_are_read_at_once() -> None:
    reading = Reading()
    assert await read_object(resource(reading), raw_of(pod("usual"))) == model_pod(pod("usual"))
    assert reading.threads == [threading.get_ident()]
    assert reading.apart == []


async def test_what_cannot_be_read_is_an_error_and_is_not_read_again() -> None:
    reading = Reading()
    with pytest.raises(ObjectError):
        await read_object(resource(reading), raw_of({**hostile(1000), "metadata": {}}))
    assert (len(reading.apart), reading.threads) == (1, [])


async def test_a_defect_in_reading_is_told_as_such() -> None:
    def broken(_: msgspec.Raw) -> Pod:
        raise ZeroDivisionError

    pods = Resource("pods", "", broken, {}, ApartReader(broken, broken))
    with pytest.raises(ObjectError, match="unexpected ZeroDivisionError in broken"):
        await read_object(pods, raw_of(hostile(1000)))
