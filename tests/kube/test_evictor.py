"""What is sent to evict a pod, and what the answers mean."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from extender.errors import ApiError
from extender.kube.client import ApiClient
from extender.kube.evictor import ApiEvictor
from extender.kube.limits import MOST
from extender.kube.reader import ObjectReader
from extender.ports import Evicted, Eviction, Occurrence
from extender.wire.objects import PodReader
from tests.builders import model_pod, pod
from tests.kube.rig import credentials_for
from tests.kube.told import Told

VICTIM = model_pod(pod("victim"))
PREEMPTOR = model_pod(pod("preemptor"))


class Marking(Told):
    """One that has a pod, and lets somebody else change it before some of the patches come."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata: dict[str, Any] = {"name": "victim", "uid": "default-victim"}
        self.version = 7
        self.meanwhile: list[dict[str, Any]] = []
        """What others change of its metadata, each before one patch."""

    async def read(self, _: web.Request) -> web.Response:
        """Show the pod."""
        if self.code == 404:
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        metadata = {**self.metadata, "resourceVersion": str(self.version)}
        return web.json_response({"metadata": metadata, "spec": {}})

    async def patch(self, request: web.Request) -> web.Response:
        """Take a patch, unless it was written for a pod as it is no more."""
        answer = await self.take(request)
        if self.meanwhile:
            self.metadata |= self.meanwhile.pop(0)
            self.version += 1
        _, body = self.bodies[-1]
        if body["metadata"]["resourceVersion"] == str(self.version):
            return answer
        conflict = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "because"}
        return web.json_response(conflict, status=409)


@pytest.fixture
def server() -> Marking:
    return Marking()


@pytest.fixture
async def evictor(server: Marking, aiohttp_server: Any) -> AsyncIterator[ApiEvictor]:
    app = web.Application()
    app.router.add_get("/api/v1/namespaces/default/pods/victim", server.read)
    app.router.add_patch("/api/v1/namespaces/default/pods/victim/status", server.patch)
    app.router.add_delete("/api/v1/namespaces/default/pods/victim", server.take)
    app.router.add_post("/api/v1/namespaces/default/pods/victim/eviction", server.take)
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


async def test_an_event_names_both_pods(server: Marking, evictor: ApiEvictor) -> None:
    await evictor.tell(VICTIM, PREEMPTOR, "x" * 2000)
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
    assert len(event["note"]) == MOST.note


async def test_an_event_about_a_victim_does_not_name_a_preemptor_of_another_namespace(
    server: Marking, evictor: ApiEvictor
) -> None:
    await evictor.tell(VICTIM, model_pod(pod("payroll-db-0", "payroll")), "why")
    ((_, event),) = server.bodies
    assert "payroll" not in json.dumps(event)


async def test_a_victim_that_is_gone_is_no_failure(server: Marking, evictor: ApiEvictor) -> None:
    server.code = 404
    assert not await evictor.mark(VICTIM, "")
    assert not await evictor.delete(VICTIM)


@pytest.mark.parametrize("code", [403, 409, 500])
async def test_a_refusal_is_an_error(server: Marking, evictor: ApiEvictor, code: int) -> None:
    server.code = code
    with pytest.raises(ApiError, match="because"):
        await evictor.mark(VICTIM, "")
    with pytest.raises(ApiError, match="because"):
        await evictor.delete(VICTIM)
    with pytest.raises(ApiError, match="because"):
        await evictor.tell(VICTIM, PREEMPTOR, "")


async def test_an_eviction_names_the_very_pod(server: Marking, evictor: ApiEvictor) -> None:
    for dry_run in (False, True):
        answer = await evictor.evict(VICTIM, version="17", dry_run=dry_run, may_go=lambda: True)
        assert answer == Eviction(Evicted.DONE)
    preconditions = {"uid": "default-victim", "resourceVersion": "17"}
    options: dict[str, Any] = {"preconditions": preconditions}
    assert [body["deleteOptions"] for _, body in server.bodies] == [
        options,
        options | {"dryRun": ["All"]},
    ]
    (_, body), _ = server.bodies
    assert (body["apiVersion"], body["kind"]) == ("policy/v1", "Eviction")
    assert body["metadata"] == {"namespace": "default", "name": "victim"}


@pytest.mark.parametrize(
    ("code", "became"),
    [(429, Evicted.REFUSED), (404, Evicted.GONE), (409, Evicted.CHANGED)],
    ids=["a budget says no", "it is gone", "it was changed, or another pod has its name"],
)
async def test_what_an_eviction_comes_to(
    server: Marking, evictor: ApiEvictor, code: int, became: Evicted
) -> None:
    server.code = code
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: True)
    assert answer.became is became
    assert "because" in answer.why


@pytest.mark.parametrize(
    ("code", "message", "causes"),
    [
        pytest.param(
            500,
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
            [],
            id="it is in two",
        ),
        pytest.param(
            403,
            'poddisruptionbudget "b" is forbidden: pdb disruptions allowed is negative',
            [{"reason": "DisruptionBudget", "message": "it does not allow evicting pods"}],
            id="the status of one cannot be used",
        ),
    ],
)
async def test_budgets_say_no_in_other_words(
    server: Marking, evictor: ApiEvictor, code: int, message: str, causes: list[dict[str, str]]
) -> None:
    server.code, server.message, server.causes = code, message, causes
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: True)
    assert answer.became is Evicted.REFUSED
    assert message in answer.why


async def test_an_eviction_that_is_not_ours_to_make_is_not_sent(
    server: Marking, evictor: ApiEvictor
) -> None:
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: False)
    assert answer.became is Evicted.NOT_SENT
    assert "no longer ours" in answer.why
    assert server.bodies == []


async def test_an_event_can_be_about_the_pod_or_the_lease(
    server: Marking, evictor: ApiEvictor
) -> None:
    await evictor.report(VICTIM, Occurrence("Reason", "Action", "note", warns=True))
    ((_, event),) = server.bodies
    assert (event["type"], event["reason"], event["regarding"]["name"]) == (
        "Warning",
        "Reason",
        "victim",
    )
    await evictor.report(None, Occurrence("Reason", "Action", "note"))
    assert len(server.bodies) == 1
