"""A large request is read beside the event loop, whichever callback it is for."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from extender.core.callbacks.preempting import Preemptions
from extender.core.errors import ObjectError
from extender.core.reading import APART_BYTES, pods_apart
from extender.core.wire.objects import PodReader
from tests.answering import AFFINITY, Answering, requests_of
from tests.builders import Pod, pod
from tests.hostile import crowded, hostile
from tests.reading import Reading

LARGE, USUAL = hostile(400), pod("usual", "ns1")
PATIENCE_SECONDS = 30.0


def body_for(name: str, asking: Pod) -> bytes:
    nodes: dict[str, object] = {"NodeNames": ["n0", "n1"]}
    if name == "preempt":
        nodes = {"NodeNameToMetaVictims": {"n0": {"Pods": []}}}
    return json.dumps({"Pod": asking, **nodes}).encode()


@pytest.mark.parametrize("name", ["filter", "prioritize", "preempt"])
async def test_a_large_pod_is_read_in_a_thread_and_a_usual_one_at_once(name: str) -> None:
    reading, state = Reading(), crowded(classes=2, pods=2, nodes=2)
    answers = Answering(state, pods=reading)
    preemptions = Preemptions(
        requests_of(state, pods=reading), AFFINITY, may_be_empty=False, clock=lambda: 0.0
    )
    callbacks = {
        "filter": answers.filter,
        "prioritize": answers.prioritize,
        "preempt": preemptions.answer,
    }
    body = body_for(name, LARGE)
    assert len(body) > APART_BYTES
    await callbacks[name](body)
    assert reading.threads == []
    (apart,) = reading.apart
    assert apart != threading.get_ident()
    await callbacks[name](body_for(name, USUAL))
    assert reading.threads == [threading.get_ident()]


async def test_others_are_read_while_a_large_one_is() -> None:
    reader, go_on = pods_apart(PodReader()), threading.Event()
    large = asyncio.create_task(
        reader.read(APART_BYTES + 1, lambda _: go_on.wait(PATIENCE_SECONDS))
    )
    await asyncio.sleep(0)
    assert await reader.read(APART_BYTES, lambda _: "usual") == "usual"
    assert not large.done()
    go_on.set()
    assert await large, "it waited for the usual one"


async def test_large_ones_are_read_one_at_a_time_even_when_callers_give_up() -> None:
    reader, go_on, began = pods_apart(PodReader()), threading.Event(), threading.Event()
    at_it: list[str] = []

    def slow(_: PodReader) -> None:
        at_it.append("first begins")
        began.set()
        go_on.wait(PATIENCE_SECONDS)
        at_it.append("first ends")

    first = asyncio.create_task(reader.read(APART_BYTES + 1, slow))
    await asyncio.to_thread(began.wait, PATIENCE_SECONDS)
    first.cancel()
    second = asyncio.create_task(reader.read(APART_BYTES + 1, lambda _: at_it.append("second")))
    await asyncio.gather(first, return_exceptions=True)
    assert at_it == ["first begins"]
    go_on.set()
    await second
    assert at_it == ["first begins", "first ends", "second"]


async def test_what_is_wrong_with_a_large_pod_is_raised_where_it_is_awaited() -> None:
    broken = json.dumps({**LARGE, "metadata": {"namespace": "ns0"}}).encode()
    with pytest.raises(ObjectError, match="needs a name"):
        await pods_apart(PodReader()).read(len(broken), lambda pods: pods.read(broken))
