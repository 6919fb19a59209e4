"""What is sent to evict a pod, and what the answers mean."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from extender.core.errors import ApiError
from extender.core.kube.client import ApiClient
from extender.core.kube.limits import MOST
from extender.core.kube.reader import ObjectReader
from extender.core.wire.objects import PodReader
from extender.features.refused_pods.evictor import ApiEvictor
from tests.builders import model_pod, pod
from tests.kube.marking import Marking
from tests.kube.rig import credentials_for

VICTIM = model_pod(pod("victim"))
PREEMPTOR = model_pod(pod("preemptor"))


@pytest.fixture
def server() -> Marking:
    return Marking()


@pytest.fixture
async def evictor(server: Marking, aiohttp_server: Any) -> AsyncIterator[ApiEvictor]:
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/default/pods/victim", server.read)
    app.router.add_patch("/api/v1/namespaces/default/pods/victim/status", server.patch)
    app.router.add_delete("/api/v1/namespaces/default/pods/victim", server.take)
    app.router.add_post("/apis/events.k8s.io/v1/namespaces/default/events", server.take)
    running = await aiohttp_server(app)
    async with ApiClient(credentials_for(str(running.make_url("")))) as client:
        yield ApiEvictor(client, ObjectReader(client, PodReader()))


async def test_the_condition_says_why_and_names_the_very_pod(
    server: Marking, evictor: ApiEvictor
) -> None:
    assert await evictor.mark(VICTIM, "for a better one")
    ((kind, body),) = server.bodies
    assert kind == "application/strategic-merge-patch+json"
    (condition,) = body["status"]["conditions"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", condition.pop("lastTransitionTime"))
    assert condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "for a better one",
    }
    assert body["metadata"] == {"uid": "default-victim", "resourceVersion": "7"}


async def test_a_mark_is_written_for_the_pod_as_it_is(server: Marking, evictor: ApiEvictor) -> None:
    server.meanwhile = [{}, {}]
    assert await evictor.mark(VICTIM, "for a better one")
    assert [body["metadata"]["resourceVersion"] for _, body in server.bodies] == ["7", "8", "9"]


async def test_a_pod_that_changes_all_the_time_is_not_marked(
    server: Marking, evictor: ApiEvictor
) -> None:
    server.meanwhile = [{}, {}, {}]
    with pytest.raises(ApiError, match="because"):
        await evictor.mark(VICTIM, "for a better one")


@pytest.mark.parametrize(
    "became",
    [
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, id="it goes for another one"),
        pytest.param({"uid": "another"}, id="another pod has its name"),
    ],
)
async def test_a_mark_comes_too_late(
    server: Marking, evictor: ApiEvictor, became: dict[str, str]
) -> None:
    server.meanwhile = [became]
    assert not await evictor.mark(VICTIM, "for a better one")
    assert len(server.bodies) == 1, "and nothing was written"


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_deletion_keeps_the_pod_s_own_grace_period(
    server: Marking, evictor: ApiEvictor, *, dry_run: bool
) -> None:
    assert await evictor.delete(VICTIM, dry_run=dry_run)
    assert server.bodies == [
        (
            "application/json",
            {
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                # Whoever may edit the pod could dodge a version.
                "preconditions": {"uid": "default-victim"},
                **({"dryRun": ["All"]} if dry_run else {}),
            },
        )
    ]


@pytest.mark.parametrize("letter", ["x", "\N{HIRAGANA LETTER A}"])
async def test_an_event_names_both_pods(server: Marking, evictor: ApiEvictor, letter: str) -> None:
    await evictor.tell(VICTIM, PREEMPTOR, letter * 2000)
    ((_, event),) = server.bodies
    assert event["metadata"]["name"].startswith("victim.")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["eventTime"])
    assert (event["regarding"]["name"], event["related"]["uid"]) == ("victim", "default-preemptor")
    assert (event["reason"], event["action"], event["type"]) == (
        "Preempted",
        "Preempting",
        "Normal",
    )
    assert event["reportingInstance"].startswith("affinity-extender-")
    # The API server refuses an Event with more bytes.
    assert MOST.note - 2 <= len(event["note"].encode()) <= MOST.note


async def test_an_event_about_a_victim_does_not_name_a_preemptor_of_another_namespace(
    server: Marking, evictor: ApiEvictor
) -> None:
    await evictor.tell(VICTIM, model_pod(pod("payroll-db-0", "payroll")), "why")
    ((_, event),) = server.bodies
    assert "payroll" not in json.dumps(event)


async def test_a_deletion_that_is_needed_no_more_is_not_sent(
    server: Marking, evictor: ApiEvictor
) -> None:
    assert await evictor.delete(VICTIM, may_go=lambda: False) is None
    assert server.bodies == []


async def test_a_victim_that_is_gone_is_no_failure(server: Marking, evictor: ApiEvictor) -> None:
    server.code = 404
    assert not await evictor.mark(VICTIM, "")
    assert await evictor.delete(VICTIM) is False


@pytest.mark.parametrize("code", [403, 409, 500])
async def test_a_refusal_is_an_error(server: Marking, evictor: ApiEvictor, code: int) -> None:
    server.code = code
    with pytest.raises(ApiError, match="because"):
        await evictor.mark(VICTIM, "")
    with pytest.raises(ApiError, match="because"):
        await evictor.delete(VICTIM)
    with pytest.raises(ApiError, match="because"):
        await evictor.tell(VICTIM, PREEMPTOR, "")
