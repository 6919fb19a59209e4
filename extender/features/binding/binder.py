"""Binds pods, and finds out what became of a bind whose answer was lost."""

from __future__ import annotations

from typing import Final

import msgspec

from extender.core.errors import ApiError, ExtenderError, ObjectError
from extender.core.kube.calls import pod_path
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import (
    BrokenAnswerError,
    NoAnswerError,
    NotSentAgainError,
    NotSentError,
)
from extender.core.kube.limits import WITHIN
from extender.core.model.keys import Key, name_of, namespace_of
from extender.core.model.objects import Pod, SeenPod
from extender.core.ports import ClusterReader
from extender.features.binding.outcome import BindOutcome, Bound

_CLEAR: Final = frozenset((400, 401, 403, 404, 405, 406, 410, 413, 415, 422, 429))
"""Answers after which this request certainly binds nothing: it was turned away before the storage,
or there is no such pod. A 409 is none of these: the API server answers so to a pod that has a node,
gates or a deletionTimestamp, or another uid, but also to whatever went wrong while it wrote the
pod, such as a timeout of etcd (BindingREST.assignPod). The pod is read back in either case."""

_CONFLICT: Final = 409


class Binder:
    """Asks the API server to bind pods; does not limit how many binds run at a time."""

    def __init__(self, client: ApiClient, objects: ClusterReader) -> None:
        self._client = client
        self._objects = objects

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Bind a pod in at most `within` seconds; neither an answer nor its lack raises."""
        path, body = f"{pod_path(pod.key)}/binding", _binding(pod, node)
        try:
            await self._client.post(path, body, within=max(within - WITHIN.look, 0.0))
        except NotSentAgainError as error:
            return await self._look(pod, node, str(error), otherwise=BindOutcome.REFUSED)
        except NotSentError as error:
            return Bound(BindOutcome.REFUSED, str(error))
        except ApiError as error:
            if error.status in _CLEAR:
                return await self._look(pod, node, str(error), otherwise=BindOutcome.REFUSED)
            return await self._look(pod, node, str(error), judged=error.status == _CONFLICT)
        except (NoAnswerError, BrokenAnswerError) as error:
            # The server may still be working on the request that we gave up.
            return await self._look(pod, node, str(error))
        return Bound(BindOutcome.BOUND)

    async def read(self, key: str, within: float = WITHIN.read) -> SeenPod | None:
        """Return a pod as the API server has it, None when there is none; ExtenderError else."""
        return await self._objects.pod(Key(key), within)

    async def _look(
        self,
        pod: Pod,
        node: str,
        why: str,
        *,
        otherwise: BindOutcome = BindOutcome.INDETERMINATE,
        judged: bool = False,
    ) -> Bound:
        """Find out what became of a bind, and of those of the same pod before it.

        A pod that has a node keeps it: a proxy may have sent twice what is refused now. One that is
        gone or is being deleted gets none. `otherwise`, it may still get it from a request that the
        server has not finished with. One that it has `judged` was refused if the pod still has
        gates, which no update can add.
        """
        try:
            seen = await self.read(pod.key, WITHIN.look)
        except (ExtenderError, ObjectError) as error:
            return Bound(otherwise, f"{why}; reading it back: {error}")
        found = None if seen is None else seen.pod
        if found is None or found.uid != pod.uid or found.status.terminal:
            return Bound(BindOutcome.GONE, f"{why}; the pod is gone")
        if found.node == node:
            return Bound(BindOutcome.BOUND)
        if found.node is not None:
            why = f"the pod is bound to {found.node} already"
            return Bound(BindOutcome.ELSEWHERE, why, found.node)
        if found.status.deleting:
            return Bound(BindOutcome.GONE, f"{why}; the pod is being deleted")
        refused = judged and found.spec.requirements.gates
        return Bound(BindOutcome.REFUSED if refused else otherwise, why)


def _binding(pod: Pod, node: str) -> bytes:
    metadata: dict[str, object] = {
        "namespace": namespace_of(pod.key),
        "name": name_of(pod.key),
        # With it, a pod that was re-created under the name is not bound by mistake.
        "uid": pod.uid,
    }
    facets = pod.status.facets
    annotations = [each for facet, value in facets for each in facet.written(value).items()]
    if annotations:
        # The API server adds them to the pod's own (setPodNodeAndMetadata).
        metadata["annotations"] = dict(annotations)
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
    )
