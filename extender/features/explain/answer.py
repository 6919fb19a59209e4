"""/explain: why a pod fits on some nodes and not on others; one explanation at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from time import perf_counter, time
from typing import Final, TypeVar

from msgspec import structs

from extender.core.cluster.state import ClusterState
from extender.core.config.features import about_places, enabled, left_to_scheduler
from extender.core.enabled import score_plugins
from extender.core.errors import InputError, RequestError
from extender.core.model.objects import Pod
from extender.core.parts import Context
from extender.core.ports import Check
from extender.core.reading import pods_apart
from extender.core.source import pod_reader
from extender.core.web.app import HungUpError, read_body
from extender.core.web.offered import Request, Response
from extender.core.web.turns import Pieces, QueryError, Turns, check_known, in_slices
from extender.core.wire.limits import OF_REQUESTS
from extender.core.wire.objects import PodReader
from extender.core.wire.validation import LONGEST_NAME
from extender.diagnosis.explained import explained
from extender.diagnosis.verbs.explain import comparisons, explanation_of, preparing
from extender.diagnosis.verbs.explanation import Explanation, Question
from extender.diagnosis.verbs.leaving import may_preempt
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.wire.explanation import write_explanation
from extender.features.explain.asked import AskedPod, read_asked

PARAMETERS: Final = ("namespace", "pod", "node")
RESTS: Final = 9
"""Times as long as an explanation took, for which none is made after it."""

MOST_COMPARISONS: Final = 250_000
"""Of a condition with a class of pods, for which an explanation takes 0.1 s."""

T = TypeVar("T")


class Rests:
    """Runs one piece of work at a time, and then rests nine times as long as that took.

    So the work takes at most a tenth of the event loop's time, however much is asked for.
    """

    def __init__(
        self,
        clock: Callable[[], float] = perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._one = asyncio.Lock()
        self._until = 0.0

    async def run(self, work: Callable[[], T]) -> T:
        """Run a piece of work once it is its turn; its errors are passed on."""
        async with self._one:
            # Whatever came in before is served first.
            await self._sleep(max(0.0, self._until - self._clock()))
            since = self._clock()
            try:
                return work()
            finally:
                now = self._clock()
                self._until = now + RESTS * (now - since)


class Explain:
    """Answers GET and POST /explain from the live state."""

    def __init__(
        self,
        state: ClusterState,
        question: Callable[[Pod, Sequence[str]], Question],
        pods: PodReader,
        unready: Check,
        now: Callable[[], float] = time,
    ) -> None:
        """`question` says by which plugins a pod and nodes are judged; `pods` reads manifests."""
        self.state: Final = state
        self._question = question
        self._pods = pods_apart(pods)
        self.unready: Final = unready
        # Bounded apart: bodies that do not come and explanations that rest delay no other answer.
        self._arriving, self._waiting = Turns(), Turns()
        self._rests = Rests()
        self._now = now

    async def get(self, request: Request) -> Response:
        async def asked() -> AskedPod:
            query = _checked(request.query)
            pod = self.known(query.get("namespace") or "default", query["pod"])
            return AskedPod(pod, node_names=[query["node"]] if "node" in query else None)

        return await self._answer(asked)

    async def post(self, request: Request) -> Response:
        """Explain what a manifest would become."""
        try:
            async with self._arriving.waiting():
                body = await read_body(request)
        except QueryError as error:
            return _said(error.status, str(error))
        except (HungUpError, RequestError) as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))

        async def asked() -> AskedPod:
            found = await self._pods.read(len(body), partial(read_asked, body))
            known = self.state.pods.get(found.pod.key)
            if known is None or found.pod.uid != found.pod.key:
                return found
            # Without a uid it is the pod of that name, which is not its own neighbour.
            return replace(found, pod=structs.replace(found.pod, uid=known.uid))

        return await self._answer(asked)

    async def _answer(self, asked: Callable[[], Awaitable[AskedPod]]) -> Response:
        try:
            async with self._waiting.waiting():
                pieces = await self.document(await asked())
        except QueryError as error:
            return _said(error.status, str(error))
        except InputError as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))
        return Response(body=Pieces(pieces, "application/json"))

    async def document(self, asked: AskedPod) -> list[bytes]:
        """Return the JSON document about a pod, in pieces; QueryError while nothing is known."""

        def written(found: Explanation) -> list[bytes]:
            return list(write_explanation(found, notes(self.state, found)))

        return await self.explained(asked.pod, written, asked.node_names)

    async def explained(
        self, pod: Pod, told: Callable[[Explanation], T], names: Sequence[str] | None = None
    ) -> T:
        """Return what `told` makes of an explanation, in its turn; of all nodes if none are named.

        QueryError while the cluster is not known.
        """
        check_known(self.unready)
        if comparisons(self.state, pod) > MOST_COMPARISONS:
            why = "rules that take too long to compare; `affinity-extender explain` has the time"
            raise QueryError(HTTPStatus.UNPROCESSABLE_ENTITY, why)
        # What a filter call takes in slices as well.
        await in_slices(preparing(self.state, pod))

        def work() -> T:
            nodes = list(self.state.nodes) if names is None else names
            question = replace(self._question(pod, nodes), now=self._now())
            found = explanation_of(self.state, question)
            found.may_preempt = may_preempt(self.state, found)
            return told(found)

        return await self._rests.run(work)

    def known(self, namespace: str, name: str) -> Pod:
        """Return a pod of the cluster; QueryError for one that is not there, or not listed yet."""
        check_known(self.unready)
        pod = self.state.pods.get(f"{namespace}/{name}")
        if pod is None:
            which = f"{namespace[:LONGEST_NAME]}/{name[:LONGEST_NAME]}"
            why = f"no pod {which} that waits or runs; a manifest can be explained with POST"
            raise QueryError(HTTPStatus.NOT_FOUND, why)
        return pod


def build_explain(context: Context) -> Explain:
    """Build what explains the verdict of all filters, the scheduler's and ours, in every mode."""
    config = context.config
    places = about_places(enabled(config))
    question = partial(
        Question,
        plugins=explained(config),
        scoring=score_plugins(config),
        max_score=config.prioritize.max_score,
        names_all=config.serving.name_pods_of_all_namespaces,
        sits=None if places is None else places.sitting,
        left=left_to_scheduler(config),
    )
    pods = pod_reader(config, OF_REQUESTS.entries, manifests=True, asked=True)
    context.state.forgetful.append(pods.forgetting)
    return Explain(context.state, question, pods, context.unsynced, context.clocks.epoch)


def _checked(query: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse what would otherwise be ignored without a word."""
    known = ", ".join(PARAMETERS)
    for name in query:
        if name not in PARAMETERS:
            why = f"no parameter {name[:LONGEST_NAME]!a}; there are {known}"
            raise QueryError(HTTPStatus.BAD_REQUEST, why)
    if "pod" not in query:
        why = "say which pod: /explain?namespace=NAMESPACE&pod=NAME, with &node=NODE for one node"
        raise QueryError(HTTPStatus.BAD_REQUEST, why)
    return query


def _said(status: HTTPStatus, why: str) -> Response:
    return Response(status=status, text=f"{why}\n")
