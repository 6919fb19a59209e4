"""What is sent to move a pod by the Eviction API, and what the answers mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from extender.core.kube.client import ApiClient
from extender.core.kube.failures import NoAnswerError
from extender.core.kube.pacing import Timing
from extender.core.kube.reader import ObjectReader
from extender.core.ports import Occurrence
from extender.core.wire.objects import PodReader
from extender.features.moving.evictor import ApiMover
from extender.features.moving.ports import Evicted, Eviction
from tests.builders import Pod, model_pod, pod, state_of
from tests.kube.rig import credentials_for
from tests.kube.told import Told
from tests.shown_objects import Objects

RAW = pod("victim").on("node")
VICTIM = model_pod(RAW)


async def at_once(_: float) -> None:
    """Let no time pass."""


@pytest.fixture
def server() -> Told:
    return Told()


@pytest.fixture
async def evictor(server: Told, aiohttp_server: Any) -> AsyncIterator[ApiMover]:
    app = web.Application()
    app.router.add_post("/api/v1/namespaces/default/pods/victim/eviction", server.take)
    app.router.add_post("/apis/events.k8s.io/v1/namespaces/default/events", server.take)
    running = await aiohttp_server(app)
    credentials = credentials_for(str(running.make_url("")))
    async with ApiClient(credentials, timing=Timing(sleep=at_once)) as client:
        yield ApiMover(client, ObjectReader(client, PodReader()), None)


async def test_an_eviction_names_the_very_pod(server: Told, evictor: ApiMover) -> None:
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
    [(429, Evicted.REFUSED), (404, Evicted.GONE)],
    ids=["a budget says no", "it is gone"],
)
async def test_what_an_eviction_comes_to(
    server: Told, evictor: ApiMover, code: int, became: Evicted
) -> None:
    server.code = code
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: True)
    assert answer.became is became
    assert "because" in answer.why


def fails() -> None:
    raise NoAnswerError("lost")


def shown(now: Pod | None) -> Objects:
    """Return what an API server shows of a pod, or of None that does not answer."""
    found = Objects(state_of([], [], [] if now is None else [now]))
    if now is None:
        found.meanwhile = fails
    return found


@pytest.mark.parametrize(
    ("now", "became"),
    [
        pytest.param(RAW, Evicted.CHANGED, id="it is there"),
        pytest.param(RAW.being_deleted(), Evicted.GONE, id="it is on its way out"),
        pytest.param(RAW.uid("another"), Evicted.GONE, id="another pod has its name"),
        pytest.param(None, Evicted.GONE, id="nobody can tell"),
    ],
)
async def test_what_conflicts_may_be_this_very_eviction_sent_twice(
    server: Told, evictor: ApiMover, now: Pod | None, became: Evicted
) -> None:
    server.code = 409
    evictor.objects = shown(now)
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: True)
    assert answer.became is became


@pytest.mark.parametrize(
    ("now", "became"),
    [
        pytest.param(RAW, Evicted.REFUSED, id="it is there"),
        pytest.param(RAW.being_deleted(), Evicted.GONE, id="it is on its way out"),
        pytest.param(RAW.uid("another"), Evicted.GONE, id="another pod has its name"),
        pytest.param(None, Evicted.REFUSED, id="nobody can tell"),
    ],
)
async def test_a_budget_may_refuse_the_second_copy_of_an_eviction_that_was_carried_out(
    server: Told, evictor: ApiMover, now: Pod | None, became: Evicted
) -> None:
    server.code = 429
    evictor.objects = shown(now)
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: True)
    assert answer.became is became


@pytest.mark.parametrize(
    ("now", "became"),
    [
        pytest.param(RAW, Evicted.NOT_SENT, id="it is there"),
        pytest.param(RAW.being_deleted(), Evicted.GONE, id="it is on its way out"),
        pytest.param(None, Evicted.NOT_SENT, id="it cannot be read"),
    ],
)
async def test_a_copy_may_be_carried_out_of_what_was_turned_away_and_is_not_sent_again(
    server: Told, evictor: ApiMover, now: Pod | None, became: Evicted
) -> None:
    """It is not, because the watch shows by then that the pod goes."""
    server.code, server.headers = 429, {"Retry-After": "1"}
    evictor.objects = shown(now)
    answer = await evictor.evict(
        VICTIM, version="17", dry_run=False, may_go=lambda: not server.bodies
    )
    assert answer.became is became
    assert len(server.bodies) == 1


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
    server: Told, evictor: ApiMover, code: int, message: str, causes: list[dict[str, str]]
) -> None:
    server.code, server.message, server.causes = code, message, causes
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: True)
    assert answer.became is Evicted.REFUSED
    assert message in answer.why


async def test_a_budget_may_say_when_to_ask_again(server: Told, evictor: ApiMover) -> None:
    server.code, server.headers = 429, {"Retry-After": "70"}
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: True)
    assert (answer.became, answer.retry_after) == (Evicted.REFUSED, 70.0)


async def test_an_eviction_that_is_not_ours_to_make_is_not_sent(
    server: Told, evictor: ApiMover
) -> None:
    answer = await evictor.evict(VICTIM, version="17", dry_run=False, may_go=lambda: False)
    assert answer.became is Evicted.NOT_SENT
    assert "no longer ours" in answer.why
    assert server.bodies == []


async def test_an_event_can_be_about_the_pod_or_the_lease(server: Told, evictor: ApiMover) -> None:
    await evictor.report(VICTIM, Occurrence("Reason", "Action", "note", warns=True))
    ((_, event),) = server.bodies
    assert (event["type"], event["reason"], event["regarding"]["name"]) == (
        "Warning",
        "Reason",
        "victim",
    )
    await evictor.report(None, Occurrence("Reason", "Action", "note"))
    assert len(server.bodies) == 1
