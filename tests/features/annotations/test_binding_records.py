"""By which rules in annotations a pod is placed is on record before it is bound."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.errors import ApiError
from extender.core.wire.placement import RULES_AT_PLACEMENT
from extender.features.annotations.record_first import RecordFirst
from extender.features.annotations.records import ApiRecords
from extender.features.binding.outcome import BindOutcome, Bound
from tests.annotating import REQUIRED, annotated, digest_of, stored
from tests.builders import ZONE, Pod, model_pod, pod, selector, term
from tests.features.binding.test_binds import BindRig, bind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extender.core.model.objects import Pod as ModelPod

AWAY = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(app="batch"), namespaceSelector={})]}}
OTHER = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(app="batch"))]}}
RULED = stored(annotated(pod("ruled"), AWAY))
PLAIN = stored(pod("ruled"))
BATCH = stored(pod("batch").labels(app="batch"))


def recording(*pods: Pod) -> BindRig:
    """Build what answers bind, with records."""

    async def record(placed: ModelPod, digest: str) -> str | None:
        return await rig.api.record(placed, digest)

    rig = BindRig(*pods, hooks=lambda state, _: [RecordFirst(state, record)])
    return rig


def on_record(raw: Pod, record: Mapping[str, Any]) -> Pod:
    """Return a waiting pod with what an earlier attempt has left in its status."""
    return stored(raw, record)


@pytest.mark.parametrize(
    ("waiting", "written"),
    [
        pytest.param(RULED, [digest_of(RULED)], id="rules"),
        pytest.param(PLAIN, [], id="no rules"),
        pytest.param(on_record(RULED, RULED), [], id="on record already"),
        pytest.param(
            on_record(RULED, annotated(pod("ruled"), OTHER)),
            [digest_of(RULED)],
            id="other rules on record",
        ),
        pytest.param(on_record(PLAIN, RULED), [""], id="rules that are gone on record"),
        pytest.param(
            stored(annotated(pod("ruled"), {"nodeAffinity": {}})), [], id="none about pods"
        ),
        pytest.param(annotated(pod("ruled"), AWAY), [], id="a manifest, which has no status"),
    ],
)
async def test_what_is_put_on_record(aiohttp_client: Any, waiting: Pod, written: list[str]) -> None:
    rig = recording(waiting)
    client = await aiohttp_client(rig.app)
    assert await bind(client, waiting, "a") == ""
    assert rig.api.recorded == [("default/ruled", each) for each in written]
    assert rig.api.order == [*("record" for _ in written), "bind"]


async def test_without_a_record_there_is_no_bind(aiohttp_client: Any) -> None:
    rig = recording(RULED, BATCH)
    client = await aiohttp_client(rig.app)
    rig.api.no_record = "403: pods/status is forbidden"
    assert await bind(client, RULED, "a") == (
        "the rules in its annotation cannot be put on record in its status, which needs the right "
        "to patch pods/status: 403: pods/status is forbidden"
    )
    assert rig.api.bound == []
    # Its place is free at once, and others are not held up.
    assert await bind(client, BATCH, "a") == ""
    rig.api.no_record = None
    assert "anti-affinity" in await bind(client, RULED, "a")
    assert await bind(client, RULED, "b") == ""
    assert len(rig.api.recorded) == 2


async def test_what_is_left_of_an_attempt_is_taken_back(aiohttp_client: Any) -> None:
    rig = recording(RULED)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.REFUSED, "no")
    assert await bind(client, RULED, "a") == "no"
    # The watch shows the edit, and not the record yet.
    rig.state.upsert_pod(model_pod(PLAIN))
    rig.api.end = Bound(BindOutcome.BOUND)
    assert await bind(client, PLAIN, "a") == ""
    assert [digest for _, digest in rig.api.recorded] == [digest_of(RULED), ""]


async def test_what_another_replica_has_put_on_record_since_is_taken_back(
    aiohttp_client: Any,
) -> None:
    rig = recording(RULED)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.REFUSED, "no")
    assert await bind(client, RULED, "a") == "no"
    # Edited, it was tried by the other replica, and then it was edited back.
    rig.state.upsert_pod(model_pod(on_record(PLAIN, PLAIN)))
    again = on_record(RULED, PLAIN)
    rig.state.upsert_pod(model_pod(again))
    rig.api.end = Bound(BindOutcome.BOUND)
    assert await bind(client, again, "b") == ""
    assert rig.api.recorded == [("default/ruled", digest_of(RULED))] * 2


async def test_what_may_have_been_put_on_record_is_written_over(aiohttp_client: Any) -> None:
    waiting = on_record(PLAIN, RULED)
    rig = recording(waiting)
    client = await aiohttp_client(rig.app)
    rig.api.no_record = "no answer"
    assert "no answer" in await bind(client, waiting, "a")
    # It is edited back, and the watch shows what was on record before; the request is under way.
    again = on_record(RULED, RULED)
    rig.state.upsert_pod(model_pod(again))
    rig.api.no_record = None
    assert await bind(client, again, "a") == ""
    assert [digest for _, digest in rig.api.recorded] == ["", digest_of(RULED)]


async def test_one_record_is_not_for_two_places_judged_by_different_rules(
    aiohttp_client: Any,
) -> None:
    rig = recording(PLAIN)
    client = await aiohttp_client(rig.app)
    rig.api.end = Bound(BindOutcome.INDETERMINATE, "no answer")
    assert await bind(client, PLAIN, "a") == "no answer"
    # Edited, it would be judged on another node, and the first bind might be carried out yet.
    rig.state.upsert_pod(model_pod(RULED))
    rig.api.end = Bound(BindOutcome.BOUND)
    assert await bind(client, RULED, "b") == (
        "it may come to be bound to a yet, where it was judged by other rules in its annotation"
    )
    assert (rig.api.recorded, rig.api.bound) == ([], [("default/ruled", "a")])
    assert [each.pod.node for each in rig.state.reservations] == ["a"]
    # By the same rules it may go anywhere.
    rig.state.upsert_pod(model_pod(PLAIN))
    assert await bind(client, PLAIN, "b") == ""


async def test_a_pod_that_the_watch_has_not_shown_is_recorded_as_well(aiohttp_client: Any) -> None:
    rig = recording()
    rig.api.pods = {"default/ruled": model_pod(RULED)}
    client = await aiohttp_client(rig.app)
    assert await bind(client, RULED, "a") == ""
    assert rig.api.recorded == [("default/ruled", digest_of(RULED))]


class Patched:
    """An API server's client that is told what to answer."""

    def __init__(self, error: ApiError | None = None) -> None:
        self.error = error
        self.sent: list[tuple[str, Any, str]] = []

    async def patch(self, path: str, body: bytes, kind: str, **_: Any) -> bytes:
        self.sent.append((path, json.loads(body), kind))
        if self.error is not None:
            raise self.error
        return b"{}"


@pytest.mark.parametrize(
    ("digest", "status"), [("abc", "True"), ("", "False")], ids=["rules", "none"]
)
async def test_a_record_is_a_condition_of_this_very_pod(digest: str, status: str) -> None:
    client: Any = Patched()
    assert await ApiRecords(client).record(model_pod(RULED), digest) is None
    ((path, body, kind),) = client.sent
    assert path == "/api/v1/namespaces/default/pods/ruled/status"
    assert kind == "application/strategic-merge-patch+json"
    assert body["metadata"] == {"uid": "default-ruled"}
    (condition,) = body["status"]["conditions"]
    assert (condition["type"], condition["status"]) == (RULES_AT_PLACEMENT, status)
    assert condition["message"] == digest


async def test_what_the_api_server_refuses_is_told() -> None:
    client: Any = Patched(ApiError(403, "Forbidden", "no"))
    why = await ApiRecords(client).record(model_pod(RULED), "abc")
    assert why == "403 Forbidden: no"
