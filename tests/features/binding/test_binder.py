"""What becomes of a bind, whatever the API server answers or does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from aiohttp import web

from extender.core.errors import ApiError
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import NoAnswerError, NotSentAgainError
from extender.core.kube.limits import RequestSeconds
from extender.core.kube.reader import ObjectReader
from extender.core.model.objects import SeenPod
from extender.core.reading import APART_BYTES
from extender.features.binding.binder import Binder
from extender.features.binding.outcome import BindOutcome
from tests.builders import Pod, model_pod, pod
from tests.faceted import SIZE, SizeFacet
from tests.kube.fake_api import Answer, answering, dropping, failure, hanging
from tests.kube.rig import credentials_for
from tests.reading import Reading

WEB = pod("web")
PATH = "/api/v1/namespaces/default/pods/web"
NEVER = hanging(headers=False)
WITHIN = 0.6
"""Seconds for a bind and the look after it."""


def status(code: int, reason: str, message: str) -> Answer:
    return answering(lambda: failure(code, reason, message))


def shows(raw: Pod) -> Answer:
    return answering(lambda: web.json_response(raw))


async def created(_: web.Request) -> web.Response:
    """Answer as the API server does to a Binding that it took."""
    return web.json_response({"kind": "Status", "status": "Success"}, status=201)


class Server:
    """An API server that knows one pod."""

    def __init__(self) -> None:
        self.bind: Answer = created
        self.read: Answer = shows(WEB)
        self.bindings: list[dict[str, Any]] = []
        self.reads = 0

    async def post(self, request: web.Request) -> web.StreamResponse:
        assert request.content_type == "application/json"
        self.bindings.append(await request.json())
        return await self.bind(request)

    async def get(self, request: web.Request) -> web.StreamResponse:
        self.reads += 1
        return await self.read(request)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def reader() -> Reading:
    return Reading()


@pytest.fixture
async def binder(
    server: Server, reader: Reading, aiohttp_server: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Binder]:
    monkeypatch.setattr(Binder.__module__ + ".WITHIN", RequestSeconds(look=0.3))
    app = web.Application()
    app.router.add_post(f"{PATH}/binding", server.post)
    app.router.add_get(PATH, server.get)
    running = await aiohttp_server(app)
    async with ApiClient(credentials_for(str(running.make_url("")))) as client:
        yield Binder(client, ObjectReader(client, reader))


async def test_a_binding_names_pod_uid_and_node(server: Server, binder: Binder) -> None:
    bound = await binder.bind(model_pod(WEB), "n", WITHIN)
    assert bound.outcome is BindOutcome.BOUND
    assert server.bindings == [
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": "default", "name": "web", "uid": "default-web"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n"},
        }
    ]
    assert server.reads == 0


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        pytest.param(shows(WEB), BindOutcome.REFUSED, id="it has no node"),
        pytest.param(shows(WEB.on("n")), BindOutcome.BOUND, id="a copy was carried out"),
        pytest.param(shows(WEB.on("m")), BindOutcome.ELSEWHERE, id="an earlier one was"),
        pytest.param(status(503, "Unavailable", "no"), BindOutcome.REFUSED, id="it is unknown"),
    ],
)
async def test_what_was_turned_away_and_is_not_sent_again_is_looked_into(
    server: Server,
    binder: Binder,
    monkeypatch: pytest.MonkeyPatch,
    read: Answer,
    outcome: BindOutcome,
) -> None:
    server.read = read

    async def turned_away(*_: object, **__: object) -> bytes:
        raise NotSentAgainError("not sent, the time for it is over")

    monkeypatch.setattr(ApiClient, "post", turned_away)
    bound = await binder.bind(model_pod(WEB), "n", WITHIN)
    assert bound.outcome is outcome
    assert server.reads > 0


class ColourFacet(SizeFacet):
    """Another one."""

    def written(self, value: int) -> Mapping[str, str]:
        return {"example.com/colour": str(value)}


async def test_a_binding_brings_the_annotations_that_facets_write(
    server: Server, binder: Binder
) -> None:
    placed = model_pod(WEB)
    for number in (7, 0):
        await binder.bind(placed.with_facet(SIZE, number), "n", WITHIN)
    await binder.bind(placed.with_facet(SIZE, 7).with_facet(ColourFacet(), 8), "n", WITHIN)
    annotations = [each["metadata"].get("annotations") for each in server.bindings]
    seven = {"example.com/size": "7"}
    assert annotations == [seven, None, {**seven, "example.com/colour": "8"}]


CONFLICT = status(409, "Conflict", "etcdserver: request timed out")
DELETING = "pod web is being deleted, cannot be assigned to a host"
ASSIGNED = 'pod web is already assigned to node "n"'
GATED = "pod web has non-empty .spec.schedulingGates"
OTHER_UID = "Precondition failed: UID in precondition: default-web, UID in object meta: new"
ENDING = WEB.being_deleted()
GATES = Pod(WEB | {"spec": {**WEB["spec"], "schedulingGates": [{"name": "quota"}]}})
UNAVAILABLE = status(503, "ServiceUnavailable", "etcd has no leader")


@pytest.mark.parametrize(
    ("bind", "read", "outcome", "says"),
    [
        pytest.param(
            status(403, "Forbidden", "you may not"),
            shows(WEB),
            BindOutcome.REFUSED,
            "you may not",
            id="a clear refusal",
        ),
        pytest.param(
            status(403, "Forbidden", "you may not"),
            UNAVAILABLE,
            BindOutcome.REFUSED,
            "you may not",
            id="a clear refusal that cannot be looked into",
        ),
        pytest.param(
            status(429, "TooManyRequests", "later"),
            shows(WEB.on("n")),
            BindOutcome.BOUND,
            "",
            id="a clear refusal of a second copy, and the first was carried out",
        ),
        pytest.param(
            status(429, "TooManyRequests", "later"),
            shows(WEB.on("other")),
            BindOutcome.ELSEWHERE,
            "bound to other already",
            id="a clear refusal, and an earlier bind was carried out",
        ),
        pytest.param(
            CONFLICT,
            shows(WEB.on("n")),
            BindOutcome.BOUND,
            "",
            id="a conflict with its own success",
        ),
        pytest.param(
            CONFLICT,
            shows(WEB.on("other")),
            BindOutcome.ELSEWHERE,
            "bound to other already",
            id="a conflict with another node",
        ),
        pytest.param(
            CONFLICT,
            shows(WEB),
            BindOutcome.INDETERMINATE,
            "Conflict",
            id="a conflict that has bound nothing yet",
        ),
        pytest.param(
            CONFLICT,
            shows(WEB.uid("new")),
            BindOutcome.GONE,
            "gone",
            id="a conflict with a successor of the name",
        ),
        pytest.param(
            CONFLICT,
            status(404, "NotFound", "no such pod"),
            BindOutcome.GONE,
            "gone",
            id="the pod was deleted meanwhile",
        ),
        pytest.param(
            UNAVAILABLE,
            answering(lambda: web.Response(status=404, text="404 page not found")),
            BindOutcome.INDETERMINATE,
            "no leader",
            id="a proxy that knows no server says nothing of the pod",
        ),
        pytest.param(
            answering(lambda: web.Response(text="<html>Log in</html>", content_type="text/html")),
            shows(WEB),
            BindOutcome.INDETERMINATE,
            "not what the API server sends",
            id="a proxy that answers in its place with a page",
        ),
        pytest.param(
            status(409, "Conflict", DELETING),
            shows(ENDING),
            BindOutcome.GONE,
            DELETING,
            id="BindingREST refuses: deletionTimestamp",
        ),
        pytest.param(
            status(409, "Conflict", ASSIGNED),
            shows(WEB.on("other")),
            BindOutcome.ELSEWHERE,
            "bound to other already",
            id="BindingREST refuses: nodeName",
        ),
        pytest.param(
            status(409, "Conflict", GATED),
            shows(GATES),
            BindOutcome.REFUSED,
            GATED,
            id="BindingREST refuses: schedulingGates",
        ),
        pytest.param(
            status(409, "Conflict", OTHER_UID),
            shows(WEB.uid("new")),
            BindOutcome.GONE,
            "gone",
            id="BindingREST refuses: uid",
        ),
        pytest.param(
            NEVER,
            shows(ENDING),
            BindOutcome.GONE,
            "being deleted",
            id="no answer, and the pod is being deleted",
        ),
        pytest.param(
            NEVER,
            shows(ENDING.on("n")),
            BindOutcome.BOUND,
            "",
            id="no answer, but it was done before the pod was deleted",
        ),
        pytest.param(
            NEVER,
            shows(GATES),
            BindOutcome.INDETERMINATE,
            "no answer",
            id="no answer, and gates that may be gone by the time the bind is carried out",
        ),
        pytest.param(
            UNAVAILABLE,
            shows(GATES),
            BindOutcome.INDETERMINATE,
            "no leader",
            id="gates, and a server that gave up before it looked",
        ),
        pytest.param(
            NEVER,
            shows(WEB.on("n").phase("Failed")),
            BindOutcome.GONE,
            "gone",
            id="no answer, and the pod has ended meanwhile",
        ),
        pytest.param(
            NEVER, shows(WEB.on("n")), BindOutcome.BOUND, "", id="no answer, but it was done"
        ),
        pytest.param(
            NEVER,
            shows(WEB),
            BindOutcome.INDETERMINATE,
            "no answer",
            id="no answer, and not done yet",
        ),
        pytest.param(dropping, shows(WEB.on("n")), BindOutcome.BOUND, "", id="a lost connection"),
        pytest.param(
            NEVER,
            NEVER,
            BindOutcome.INDETERMINATE,
            "reading it back",
            id="nothing is answered at all",
        ),
        pytest.param(
            UNAVAILABLE,
            shows(WEB),
            BindOutcome.INDETERMINATE,
            "no leader",
            id="a server that gave up",
        ),
        pytest.param(
            UNAVAILABLE,
            shows(Pod({"metadata": {"name": 7}})),
            BindOutcome.INDETERMINATE,
            "metadata.name",
            id="a pod that cannot be read",
        ),
    ],
)
async def test_the_end_of_a_bind(  # noqa: PLR0917 - a table's columns
    server: Server,
    binder: Binder,
    bind: Answer,
    read: Answer,
    outcome: BindOutcome,
    says: str,
) -> None:
    server.bind, server.read = bind, read
    bound = await binder.bind(model_pod(WEB), "n", WITHIN)
    assert bound.outcome is outcome
    assert says in bound.why
    assert server.reads == 1


@pytest.mark.parametrize("within", [0.0, -16.0], ids=["no time", "after a standstill"])
async def test_a_bind_whose_time_is_over_is_not_sent(
    server: Server, binder: Binder, within: float
) -> None:
    # A connection that is open already takes a request at once.
    await binder.bind(model_pod(WEB), "other", WITHIN)
    server.bindings.clear()
    bound = await binder.bind(model_pod(WEB), "n", within)
    assert (bound.outcome, server.bindings) == (BindOutcome.REFUSED, [])
    await asyncio.sleep(0.05)
    assert server.bindings == []


async def test_a_pod_is_read_with_its_version(server: Server, binder: Binder) -> None:
    metadata = {**WEB["metadata"], "resourceVersion": "12"}
    pod = Pod({**WEB, "metadata": metadata})
    server.read = shows(pod)
    assert await binder.read("default/web") == SeenPod(model_pod(pod), "12")


async def test_a_large_pod_is_read_beside_the_event_loop(
    server: Server, reader: Reading, binder: Binder
) -> None:
    server.read = shows(pod("web").annotated("example.com/long", "x" * APART_BYTES))
    seen = await binder.read("default/web")
    assert seen is not None
    assert reader.threads == []
    (apart,) = reader.apart
    assert apart != threading.get_ident()


async def test_a_pod_that_is_not_there_reads_as_none(server: Server, binder: Binder) -> None:
    server.read = status(404, "NotFound", "no such pod")
    assert await binder.read("default/web") is None


async def test_a_refused_read_is_an_error(server: Server, binder: Binder) -> None:
    server.read = status(403, "Forbidden", "you may not")
    with pytest.raises(ApiError, match="you may not"):
        await binder.read("default/web")


async def test_hundreds_of_binds_at_a_time(server: Server, binder: Binder) -> None:
    arrived = asyncio.Semaphore(0)
    go_on = asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        arrived.release()
        await go_on.wait()
        return await created(request)

    server.bind = slow
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        tasks = [group.create_task(binder.bind(model_pod(WEB), "n", 20.0)) for _ in range(20)]
        for _ in tasks:
            await arrived.acquire()
        go_on.set()
    assert {task.result().outcome for task in tasks} == {BindOutcome.BOUND}


@pytest.mark.parametrize("within", [4.0, 2.0, 1.6])
async def test_a_bind_without_an_answer_leaves_time_to_read_the_pod_back(within: float) -> None:
    given: list[float] = []

    class Silent:
        async def post(self, *_: object, within: float) -> bytes:
            given.append(within)
            raise NoAnswerError("nothing came")

        async def pod(self, _: str, within: float) -> None:
            given.append(within)

    silent: Any = Silent()
    assert (await Binder(silent, silent).bind(model_pod(WEB), "a", within)).outcome.value == "gone"
    assert len(given) == 2
    assert sum(given) <= within
