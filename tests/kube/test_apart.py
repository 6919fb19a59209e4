"""What takes long to read is read beside the event loop, and only that."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from itertools import islice

import msgspec
import pytest

from extender.cluster.audits.recount import mismatches
from extender.errors import ObjectError
from extender.kube.apart import LARGE_BYTES, ApartReader
from extender.model.objects import Pod
from extender.wire.objects import PodReader
from tests.builders import model_pod, pod
from tests.hostile import crowded, hostile


class Readers:
    """A reader for the loop and one for the thread, which note where they were called."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        feed = PodReader()
        self.apart = ApartReader(feed.read, self._noted(feed.another()))

    def _noted(self, reader: PodReader) -> Callable[[msgspec.Raw], Pod]:
        def read(raw: msgspec.Raw) -> Pod:
            self.threads.append(threading.get_ident())
            return reader.read(raw)

        return read


def raw_of(made: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(made).encode())


async def test_a_large_object_is_read_in_a_thread_and_handed_over() -> None:
    readers, raw = Readers(), raw_of(hostile(1000))
    assert len(memoryview(raw)) > LARGE_BYTES
    prepared = await readers.apart.prepare(raw)
    assert readers.threads != [threading.get_ident()]
    assert readers.apart.read(raw) is prepared
    assert readers.apart.read(raw) is not prepared, "handed over once"
    assert len(readers.threads) == 1


async def test_usual_objects_are_read_when_they_are_asked_for() -> None:
    readers, raw = Readers(), raw_of(pod("usual"))
    assert await readers.apart.prepare(raw) is None
    assert readers.apart.read(raw) == model_pod(pod("usual"))
    assert readers.threads == []


async def test_another_object_is_not_taken_for_the_prepared_one() -> None:
    readers = Readers()
    await readers.apart.prepare(raw_of(hostile(1000)))
    assert readers.apart.read(raw_of(pod("usual"))).key == "default/usual"


async def test_what_cannot_be_read_is_an_error_where_it_is_expected() -> None:
    readers = Readers()
    broken = raw_of({**hostile(1000), "metadata": {}})
    assert await readers.apart.prepare(broken) is None
    with pytest.raises(ObjectError):
        readers.apart.read(broken)


@pytest.mark.parametrize("steps", [0, 1, 3, 100])
def test_terms_that_were_taken_up_mean_nothing_until_they_have_an_owner(steps: int) -> None:
    state = crowded(classes=3, pods=6, nodes=3)
    carried = len(state.existing_terms)
    placed = model_pod(hostile(1000).on("n1"))
    for _ in islice(state.taking_up(placed), steps):
        assert mismatches(state) == []
    state.upsert_pod(placed)
    assert mismatches(state) == []
    state.tidy()
    assert len(state.existing_terms) == carried + 1000
    state.remove_pod(placed.key, placed.uid)
    state.tidy()
    assert len(state.existing_terms) == carried


def test_terms_that_were_taken_up_in_vain_are_dropped() -> None:
    state = crowded(classes=3, pods=6, nodes=3)
    carried = len(state.existing_terms)
    for _ in islice(state.taking_up(model_pod(hostile(1000).on("n1"))), 2):
        pass
    state.upsert_pod(model_pod(pod("another").on("n1")))
    state.tidy()
    assert len(state.existing_terms) == carried
