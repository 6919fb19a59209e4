"""Pods that somebody has nested as deep as the API server takes it, in fields that nobody reads."""

from __future__ import annotations

import json
import sys

import pytest
from aiohttp import web

from extender.core.errors import ExtenderError
from extender.core.resources import PODS as MIRRORED_PODS
from extender.core.wire import decoding
from extender.core.wire.decoding import check_depth
from tests.kube.fake_api import Json, answering, initial_events_end, line, saying
from tests.kube.rig import Rig, at
from tests.kube.test_resources import PODS, placed, pod
from tests.missing import needs_depth

DEEP = 9_990
"""kube-apiserver takes 10,000; Python recurses 1,000 deep unless told otherwise."""


def mean(version: int, node: str | None) -> Json:
    """Build a pod with a mark where the nesting goes."""
    obj = at(version, pod("mean", node))
    obj["metadata"]["managedFields"] = [{"manager": "x", "fieldsV1": "nested"}]
    return obj


def nested(encoded: bytes) -> bytes:
    """Put the nesting in, which is too deep for Python's own encoder."""
    return encoded.replace(b'"nested"', b'{"f:a":' * DEEP + b"{}" + b"}" * DEEP)


@needs_depth
def test_a_python_that_cannot_decode_them_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_depth()
    # As if the API server stored what no Python decodes.
    monkeypatch.setattr(decoding, "MOST_STORED", DEEP * 100)
    with pytest.raises(ExtenderError, match=r"Run the server with Python 3\.11 or 3\.14"):
        check_depth()


@needs_depth
@pytest.mark.parametrize(
    "streams", [pytest.param(False, id="listed in pages"), pytest.param(True, id="streamed")]
)
async def test_they_hide_neither_themselves_nor_others(rig: Rig, streams: bool) -> None:
    usual = sys.getrecursionlimit()
    pods = rig.api.collection(PODS)
    pods.streams_lists = streams
    rig.api.version = 110
    one, other = mean(101, None), at(102, pod("web", None))
    page = nested(
        json.dumps(
            {"metadata": {"resourceVersion": "110"}, "items": [one, other]}, separators=(",", ":")
        ).encode()
    )
    pods.lists.append(answering(lambda: web.Response(body=page, content_type="application/json")))
    pods.streams.append(
        saying(nested(line("ADDED", one)), line("ADDED", other), initial_events_end(110))
    )
    async with rig.mirrored(MIRRORED_PODS, pods) as state:
        assert placed(state) == {"mean": None, "web": None}
        pods.send(nested(line("MODIFIED", mean(111, "a"))))
        pods.send(line("MODIFIED", at(112, pod("web", "b"))))
        await rig.pulse.until(lambda: placed(state) == {"mean": "a", "web": "b"})
    assert rig.observer.skips == {}
    assert len(pods.watched) == 1
    assert sys.getrecursionlimit() == usual
