"""What is sent to give a pod a deletion cost, and what is never written over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from extender.core.errors import ApiError
from extender.core.kube.client import ApiClient
from extender.core.kube.reader import ObjectReader
from extender.core.model.keys import Identity, Key
from extender.core.wire.objects import PodReader
from extender.features.scale_down import COST_ANNOTATION, GIVEN_COST_ANNOTATION
from extender.features.scale_down.cost import FACETS
from extender.features.scale_down.writer import ApiCostWriter
from tests.kube.marking import Marking
from tests.kube.rig import credentials_for

POD = Identity(Key("default/victim"), "default-victim")
GIVEN = {COST_ANNOTATION: "-3001", GIVEN_COST_ANNOTATION: "-3001"}


@pytest.fixture
def server() -> Marking:
    return Marking()


@pytest.fixture
async def writer(server: Marking, aiohttp_server: Any) -> AsyncIterator[ApiCostWriter]:
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/default/pods/victim", server.read)
    app.router.add_patch("/api/v1/namespaces/default/pods/victim", server.patch)
    running = await aiohttp_server(app)
    async with ApiClient(credentials_for(str(running.make_url("")))) as client:
        yield ApiCostWriter(client, ObjectReader(client, PodReader(facets=FACETS)))


async def test_two_annotations_are_written_for_the_pod_as_it_was_read(
    server: Marking, writer: ApiCostWriter
) -> None:
    server.metadata["annotations"] = GIVEN | {"other": "stays"}
    assert await writer.write(POD, -3001, -1001)
    annotations = dict.fromkeys((COST_ANNOTATION, GIVEN_COST_ANNOTATION), "-1001")
    metadata = {"uid": POD.uid, "resourceVersion": "7", "annotations": annotations}
    assert server.bodies == [
        ("application/strategic-merge-patch+json", {"metadata": metadata}),
    ]


@pytest.mark.parametrize(
    ("metadata", "before"),
    [
        pytest.param({"annotations": {COST_ANNOTATION: "-3001"}}, -3001, id="a user's own"),
        pytest.param({"annotations": {COST_ANNOTATION: "5"}}, None, id="a user's own by now"),
        pytest.param({"annotations": GIVEN}, -2001, id="another replica's"),
        pytest.param({"annotations": GIVEN}, None, id="given meanwhile"),
        pytest.param({}, -3001, id="taken away"),
        pytest.param({"uid": "another"}, None, id="another pod of the name"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, None, id="on its way out"),
    ],
)
async def test_a_pod_that_is_not_as_it_was_is_left_alone(
    server: Marking, writer: ApiCostWriter, metadata: dict[str, Any], before: int | None
) -> None:
    server.metadata |= metadata
    assert not await writer.write(POD, before, -1001)
    assert server.bodies == []


async def test_what_is_written_in_between_stays(server: Marking, writer: ApiCostWriter) -> None:
    server.meanwhile = [{"annotations": {COST_ANNOTATION: "5"}}]
    assert not await writer.write(POD, None, -1001)


async def test_a_pod_that_is_gone_is_no_failure(server: Marking, writer: ApiCostWriter) -> None:
    server.code = 404
    assert not await writer.write(POD, None, -1001)


async def test_a_refusal_is_told(server: Marking, writer: ApiCostWriter) -> None:
    server.code = 403
    with pytest.raises(ApiError, match="403"):
        await writer.write(POD, None, -1001)
