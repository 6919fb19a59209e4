"""What is sent to nominate a node, and what the answers mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import pytest
from aiohttp import web

from extender.core.errors import ApiError
from extender.core.kube.calls import JSON_PATCH, STRATEGIC_MERGE
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import NoAnswerError
from extender.core.kube.limits import RequestSeconds
from extender.features.refused_pods import nominator as nominator_module
from extender.features.refused_pods.nominator import ApiNominator
from tests.builders import model_pod, pod
from tests.kube.rig import credentials_for
from tests.kube.told import Told

WEB = model_pod(pod("web"))


STORED: dict[str, Any] = {}
"""What the API server has of the pod."""


async def stored(_: web.Request) -> web.Response:
    return web.json_response(STORED)


def store(
    manager: str, node: str = "n", uid: str = "default-web", field: str = "f:nominatedNodeName"
) -> None:
    """Have a pod stored with a nomination, and who wrote that."""
    fields: dict[str, Any] = {"f:status": {field: {}, "f:phase": {}}}
    others = {"manager": "kubelet", "fieldsV1": {"f:status": {"f:conditions": {".": {}}}}}
    managed = [others, {"manager": manager, "fieldsV1": fields}]
    STORED.clear()
    STORED.update(
        metadata={"name": "web", "uid": uid, "managedFields": managed},
        status={"nominatedNodeName": node},
    )


@pytest.fixture
def server() -> Told:
    store("kube-scheduler")
    return Told()


@pytest.fixture
async def nominator(
    server: Told, aiohttp_server: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ApiNominator]:
    monkeypatch.setattr(nominator_module, "WITHIN", RequestSeconds(nomination=0.1))
    app = web.Application()
    app.router.add_patch("/api/v1/namespaces/default/pods/web/status", server.take)
    app.router.add_get("/api/v1/namespaces/default/pods/web", stored)
    running = await aiohttp_server(app)
    async with ApiClient(credentials_for(str(running.make_url("")))) as client:
        yield ApiNominator(client)
    assert {kind for kind, _ in server.bodies} <= {JSON_PATCH, STRATEGIC_MERGE}


def conditions(before: str | None) -> list[dict[str, Any]]:
    """Return what has to hold when the patch is applied."""
    return [
        {"op": "test", "path": "/metadata/uid", "value": "default-web"},
        {"op": "test", "path": "/status/nominatedNodeName", "value": before},
    ]


async def test_a_nomination_names_what_must_not_have_changed(
    server: Told, nominator: ApiNominator
) -> None:
    assert await nominator.nominate(WEB, None, "n")
    assert await nominator.nominate(WEB, "n", "m")
    assert await nominator.nominate(WEB, "m", None)
    field = "/status/nominatedNodeName"
    waits = {"op": "test", "path": "/spec/nodeName", "value": None}
    assert [body for _, body in server.bodies] == [
        [*conditions(None), waits, {"op": "add", "path": field, "value": "n"}],
        [*conditions("n"), waits, {"op": "add", "path": field, "value": "m"}],
        [*conditions("m"), {"op": "remove", "path": field}],
    ]


async def test_a_pod_is_woken_by_a_change_that_says_nothing(
    server: Told, nominator: ApiNominator
) -> None:
    assert await nominator.wake(WEB)
    ((kind, patch),) = server.bodies
    assert kind == STRATEGIC_MERGE
    assert patch["metadata"] == {"uid": "default-web"}
    (condition,) = patch["status"]["conditions"]
    assert condition.keys() == {"type", "lastProbeTime"}
    assert condition["type"] == "PodScheduled"
    assert datetime.fromisoformat(condition["lastProbeTime"]).tzinfo is not None


@pytest.mark.parametrize("code", [404, 409, 422])
async def test_somebody_else_was_faster(server: Told, nominator: ApiNominator, code: int) -> None:
    server.code = code
    assert not await nominator.nominate(WEB, None, "n")


@pytest.mark.parametrize("before", [None, "m"])
async def test_a_nomination_that_a_proxy_has_sent_twice_is_done(
    server: Told, nominator: ApiNominator, before: str | None
) -> None:
    server.code = 422
    store("affinity-extender")
    assert await nominator.nominate(WEB, before, "n")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"manager": "kube-scheduler"}, id="the scheduler"),
        pytest.param({"node": "m"}, id="another node"),
        pytest.param({"uid": "another"}, id="another pod"),
        pytest.param({"field": "f:qosClass"}, id="another field"),
        pytest.param({"manager": None}, id="what cannot be read"),
    ],
)
async def test_what_others_have_nominated_is_not_taken_for_that(
    server: Told, nominator: ApiNominator, other: dict[str, str]
) -> None:
    server.code = 422
    store(**{"manager": "affinity-extender"} | other)
    assert not await nominator.nominate(WEB, None, "n")


async def test_a_proxy_that_knows_no_server_says_nothing_of_the_pod(
    server: Told, nominator: ApiNominator
) -> None:
    server.code, server.reason = 404, "Not Found"
    with pytest.raises(ApiError, match="because"):
        await nominator.nominate(WEB, "n", None)


@pytest.mark.parametrize("code", [403, 500])
async def test_a_refusal_is_an_error(server: Told, nominator: ApiNominator, code: int) -> None:
    server.code = code
    with pytest.raises(ApiError, match="because"):
        await nominator.nominate(WEB, None, "n")


async def test_silence_is_told_from_a_refusal(server: Told, nominator: ApiNominator) -> None:
    server.silent = True
    with pytest.raises(NoAnswerError):
        await nominator.nominate(WEB, None, "n")
