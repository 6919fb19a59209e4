"""/explain: why a pod fits on some nodes and not on others, put together in small slices."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from time import perf_counter
from typing import Final, TypeVar

from aiohttp import web

from extender.cluster.state import ClusterState
from extender.errors import InputError
from extender.model.objects import Pod
from extender.ports import Check
from extender.verbs.explaining.explanation import Explanation, Question
from extender.verbs.explaining.notes import notes
from extender.verbs.explaining.steps import explaining
from extender.verbs.plugins import Plugins, ScorePlugins
from extender.web.domains import QueryError
from extender.wire.explained import Explained, read_asked
from extender.wire.explanation import write_explanation
from extender.wire.objects import PodReader

SLICE_SECONDS: Final = 0.0003
"""What is worked on between two turns of the event loop; one step more may be under way by then."""
DEADLINE_SECONDS: Final = 10.0
"""For one answer, its turns waited for and its body read."""
MOST_AT_A_TIME: Final = 2
"""Explanations that are worked on; each holds some megabytes for a large cluster."""
MOST_WAITING: Final = 16

PARAMETERS: Final = ("namespace", "pod", "node")
MOST_SHOWN: Final = 253
"""Characters of a name in an error; no name is longer."""

T = TypeVar("T")


class Explain:
    """Answers GET and POST /explain from the live state."""

    def __init__(
        self,
        state: ClusterState,
        plugins: Plugins,
        scoring: ScorePlugins,
        pods: PodReader,
        unready: Check,
        *,
        max_score: int,
    ) -> None:
        """Explain what these plugins answer; `pods` reads manifests."""
        self._state = state
        self._plugins = plugins
        self._scoring = scoring
        self._pods = pods
        self._unready = unready
        self._max_score = max_score
        self._working = asyncio.Semaphore(MOST_AT_A_TIME)
        self._waiting = 0

    async def get(self, request: web.Request) -> web.Response:
        """Explain a pod of the cluster."""

        async def asked() -> Explained:
            query = _checked(request.query)
            pod = self._known(query.get("namespace", "default"), query["pod"])
            return Explained(pod, node_names=[query["node"]] if "node" in query else None)

        return await self._answer(asked)

    async def post(self, request: web.Request) -> web.Response:
        """Explain what a manifest would become."""

        async def asked() -> Explained:
            found = read_asked(await request.read(), self._pods)
            known = self._state.pods.get(found.pod.key)
            if known is None or found.pod.uid != found.pod.key:
                return found
            # Without a uid it is the pod of that name, which is not its own neighbour.
            return replace(found, pod=replace(found.pod, uid=known.uid))

        return await self._answer(asked)

    async def _answer(self, asked: Callable[[], Awaitable[Explained]]) -> web.Response:
        if self._waiting >= MOST_WAITING:
            return _said(HTTPStatus.TOO_MANY_REQUESTS, "too many explanations at a time")
        self._waiting += 1
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                explained = await asked()
                async with self._working:
                    body = await self.document(explained)
        except QueryError as error:
            return _said(error.status, str(error))
        except InputError as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))
        except TimeoutError:
            why = f"this took more than {DEADLINE_SECONDS:g} s; ask about fewer nodes"
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, why)
        finally:
            self._waiting -= 1
        return web.Response(body=body, content_type="application/json")

    async def document(self, asked: Explained) -> bytes:
        """Return the JSON document about a pod; QueryError while the cluster is not known."""
        if reason := self._unready():
            raise QueryError(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        state, names = self._state, asked.node_names
        question = Question(
            asked.pod,
            list(state.nodes) if names is None else names,
            self._plugins,
            self._scoring,
            self._max_score,
            asked.may_preempt,
        )
        found: Explanation = await in_slices(explaining(state, question))
        remarks = notes(state, found)
        parts = await in_slices(_collected(write_explanation(found, remarks)))
        return b"".join(parts)

    def _known(self, namespace: str, name: str) -> Pod:
        pod = self._state.pods.get(f"{namespace}/{name}")
        if pod is None:
            which = f"{namespace[:MOST_SHOWN]}/{name[:MOST_SHOWN]}"
            why = f"no pod {which} that waits or runs; a manifest can be explained with POST"
            raise QueryError(HTTPStatus.NOT_FOUND, why)
        return pod


async def in_slices(steps: Generator[None, None, T]) -> T:
    """Take steps, others being served in between, and return what the last one returns."""
    # Whatever came in before is served first.
    await asyncio.sleep(0)
    since = perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        if perf_counter() - since >= SLICE_SECONDS:
            await asyncio.sleep(0)
            since = perf_counter()


def _collected(parts: Iterator[bytes]) -> Generator[None, None, Sequence[bytes]]:
    found = []
    for part in parts:
        found.append(part)
        yield
    return found


def _checked(query: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse what would otherwise be ignored without a word."""
    known = ", ".join(PARAMETERS)
    for name in query:
        if name not in PARAMETERS:
            why = f"no parameter {name[:MOST_SHOWN]!a}; there are {known}"
            raise QueryError(HTTPStatus.BAD_REQUEST, why)
    if "pod" not in query:
        why = "say which pod: /explain?namespace=NAMESPACE&pod=NAME, with &node=NODE for one node"
        raise QueryError(HTTPStatus.BAD_REQUEST, why)
    return query


def _said(status: HTTPStatus, why: str) -> web.Response:
    return web.Response(status=status, text=f"{why}\n")
