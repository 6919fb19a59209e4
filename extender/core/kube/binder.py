"""Binds pods, and finds out what became of a bind whose answer was lost."""

from __future__ import annotations

from typing import Final

import msgspec

from extender.core.errors import ApiError, ExtenderError, ObjectError
from extender.core.kube.calls import (
    STRATEGIC_MERGE,
    condition_patch,
    pod_path,
    second_now,
)
from extender.core.kube.client import ApiClient
from extender.core.kube.failures import BrokenAnswerError, NoAnswerError, NotSentError
from extender.core.kube.flowcontrol import Flow
from extender.core.kube.limits import WITHIN
from extender.core.kube.reader import ObjectReader
from extender.core.model.keys import Key, name_of, namespace_of
from extender.core.model.objects import Pod, SeenPod
from extender.core.model.verdict import BindOutcome, Bound
from extender.core.wire.objects import PodReader
from extender.core.wire.placement import RULES_AT_PLACEMENT

_CLEAR: Final = frozenset((400, 401, 403, 404, 405, 406, 410, 413, 415, 422, 429))
"""Answers after which this request certainly binds nothing: it was turned away before the storage,
or there is no such pod. A 409 is none of these: the API server answers so to a pod that has a node,
gates or a deletionTimestamp, or another uid, but also to whatever went wrong while it wrote the
pod, such as a timeout of etcd (BindingREST.assignPod). So the pod is read back."""

_CONFLICT: Final = 409


class Binder:
    """Asks the API server to bind pods; does not limit how many binds run at a time."""

    def __init__(self, client: ApiClient, pods: PodReader) -> None:
        self._client = client
        self._objects = ObjectReader(client, pods)

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Bind a pod in at most `within` seconds; neither an answer nor its lack raises."""
        path, body = f"{pod_path(pod.key)}/binding", _binding(pod, node)
        try:
            await self._client.post(path, body, within=max(within - WITHIN.look, 0.0))
        except NotSentError as error:
            return Bound(BindOutcome.REFUSED, str(error))
        except ApiError as error:
            if error.status in _CLEAR:
                return Bound(BindOutcome.REFUSED, str(error))
            return await self._look(pod, node, str(error), judged=error.status == _CONFLICT)
        except (NoAnswerError, BrokenAnswerError) as error:
            # The server may still be working on the request that we gave up.
            return await self._look(pod, node, str(error))
        return Bound(BindOutcome.BOUND)

    async def read(self, key: str, within: float = WITHIN.read) -> SeenPod | None:
        """Return a pod as the API server has it, None when there is none; ExtenderError else."""
        return await self._objects.pod(Key(key), within)

    async def record(self, pod: Pod, digest: str) -> str | None:
        """Put on record by which rules in annotations a pod is placed; return why that failed.

        As a condition of the pod's status: the right to edit pods does not include it, and kubelet
        and scheduler leave it as it is.
        """
        condition = {
            "type": RULES_AT_PLACEMENT,
            "status": "True" if digest else "False",
            "reason": "Judged" if digest else "NoRules",
            "message": digest,
            "lastTransitionTime": second_now(),
        }
        path, patch = f"{pod_path(pod.key)}/status", condition_patch(pod.uid, condition)
        try:
            await self._client.patch(
                path, patch, STRATEGIC_MERGE, within=WITHIN.record, flow=Flow.BINDS
            )
        except ExtenderError as error:
            return str(error)
        return None

    async def _look(self, pod: Pod, node: str, why: str, *, judged: bool = False) -> Bound:
        """Find out what became of a bind, and of those of the same pod before it.

        A pod that has a node keeps it. One that is gone or is being deleted gets none. Any other
        may still get it from a request that the server has not finished with. One that it has
        `judged` was refused if the pod still has gates, which no update can add.
        """
        try:
            seen = await self.read(pod.key, WITHIN.look)
        except (ExtenderError, ObjectError) as error:
            return Bound(BindOutcome.INDETERMINATE, f"{why}; reading it back: {error}")
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
        return Bound(BindOutcome.REFUSED if refused else BindOutcome.INDETERMINATE, why)


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
