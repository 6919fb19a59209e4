"""/explain: why a pod fits on some nodes and not on others, put together in small slices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Final

from msgspec import structs

from extender.cluster.state import ClusterState
from extender.config.features import about_places, enabled
from extender.enabled import explained, score_plugins
from extender.errors import InputError, RequestError
from extender.model.objects import Pod
from extender.parts import Context
from extender.ports import Check
from extender.reading import pods_apart
from extender.source import pod_reader
from extender.verbs.explaining.explanation import Explanation, Question
from extender.verbs.explaining.notes import noting
from extender.verbs.explaining.steps import explaining, taking_apart
from extender.web.app import HungUpError, read_body
from extender.web.offered import Request, Response
from extender.web.turns import Pieces, QueryError, Turns, check_known, in_slices
from extender.wire.explanation import Explained, read_asked, write_explanation
from extender.wire.limits import OF_REQUESTS
from extender.wire.objects import PodReader
from extender.wire.validation import LONGEST_NAME

PARAMETERS: Final = ("namespace", "pod", "node")


class Explain:
    """Answers GET and POST /explain from the live state."""

    def __init__(
        self,
        state: ClusterState,
        question: Callable[[Pod, Sequence[str]], Question],
        pods: PodReader,
        unready: Check,
        turns: Turns,
    ) -> None:
        """`question` says by which plugins a pod and nodes are judged; `pods` reads manifests."""
        self.state: Final = state
        self._question = question
        self._pods = pods_apart(pods)
        self.unready: Final = unready
        self._arriving = Turns()
        self._turns = turns

    async def get(self, request: Request) -> Response:
        """Explain a pod of the cluster."""

        async def asked() -> Explained:
            query = _checked(request.query)
            pod = self.known(query.get("namespace") or "default", query["pod"])
            return Explained(pod, node_names=[query["node"]] if "node" in query else None)

        return await self._answer(asked)

    async def post(self, request: Request) -> Response:
        """Explain what a manifest would become."""
        try:
            # By themselves: bodies that do not come keep nobody from asking.
            async with self._arriving.waiting():
                body = await read_body(request)
        except QueryError as error:
            return _said(error.status, str(error))
        except (HungUpError, RequestError) as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))

        async def asked() -> Explained:
            found = await self._pods.read(len(body), partial(read_asked, body))
            known = self.state.pods.get(found.pod.key)
            if known is None or found.pod.uid != found.pod.key:
                return found
            # Without a uid it is the pod of that name, which is not its own neighbour.
            return replace(found, pod=structs.replace(found.pod, uid=known.uid))

        return await self._answer(asked)

    async def _answer(self, asked: Callable[[], Awaitable[Explained]]) -> Response:
        try:
            async with self._turns.waiting():
                explained = await asked()
                async with self._turns.working:
                    pieces = await self.document(explained)
        except QueryError as error:
            return _said(error.status, str(error))
        except InputError as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))
        return Response(body=Pieces(pieces, "application/json"))

    async def document(self, asked: Explained) -> list[bytes]:
        """Return the JSON document about a pod, in pieces; QueryError while nothing is known."""
        found = await self.explanation(asked)
        remarks = await in_slices(noting(self.state, found))
        pieces = await in_slices(_collected(write_explanation(found, remarks)))
        await in_slices(taking_apart(found))
        return pieces

    async def explanation(self, asked: Explained) -> Explanation:
        """Explain a pod, in slices; QueryError while the cluster is not known."""
        check_known(self.unready)
        return await in_slices(self.explaining(asked.pod, asked.node_names))

    def explaining(
        self, pod: Pod, names: Sequence[str] | None = None
    ) -> Generator[None, None, Explanation]:
        """Explain a pod, in steps; with all nodes where none are named."""
        names = list(self.state.nodes) if names is None else names
        return explaining(self.state, self._question(pod, names))

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
    )
    pods = pod_reader(config, OF_REQUESTS.entries, manifests=True, asked=True)
    return Explain(context.state, question, pods, context.unsynced, context.turns)


def _collected(pieces: Iterator[bytes]) -> Generator[None, None, list[bytes]]:
    found = []
    for piece in pieces:
        found.append(piece)
        yield
    return found


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
