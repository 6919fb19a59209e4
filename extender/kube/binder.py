"""Binds pods, and finds out what became of a bind whose answer was lost."""

from __future__ import annotations

from typing import Final

import msgspec

from extender.errors import ApiError, ExtenderError, ObjectError
from extender.kube.calls import STRATEGIC_MERGE, condition_patch, pod_path, second_now
from extender.kube.client import ApiClient
from extender.kube.failures import BrokenAnswerError, NoAnswerError, NotSentError
from extender.kube.flowcontrol import Flow
from extender.kube.reader import READ_SECONDS, ObjectReader
from extender.model.keys import Key, name_of, namespace_of
from extender.model.objects import Pod, SeenPod
from extender.model.verdict import BindOutcome, Bound
from extender.wire.conditions import RULES_AT_PLACEMENT
from extender.wire.objects import PodReader

LOOK_SECONDS: Final = 1.5
"""Kept of the time for a bind to look what became of it when its own answer says too little."""
RECORD_SECONDS: Final = 1.0
"""For the record of a pod's rules, which comes before the bind, out of the same time."""

_CLEAR: Final = frozenset((400, 401, 403, 404, 405, 406, 410, 413, 415, 422, 429))
"""Answers after which this request certainly binds nothing: it was turned away before the storage,
or there is no such pod. A 409 is none of these: that is also how the API server reports whatever
went wrong while it wrote the pod, a timeout of etcd for one (BindingREST.assignPod)."""


class Binder:
    """Asks the API server to bind pods, as many at a time as are asked for."""

    def __init__(self, client: ApiClient, pods: PodReader) -> None:
        self._client = client
        self._objects = ObjectReader(client, pods)

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Bind a pod within so many seconds; never raises for what the API server says or not."""
        path, body = f"{pod_path(pod.key)}/binding", _binding(pod, node)
        try:
            await self._client.post(path, body, within=max(within - LOOK_SECONDS, 0.0))
        except NotSentError as error:
            return Bound(BindOutcome.REFUSED, str(error))
        except ApiError as error:
            if error.status in _CLEAR:
                return Bound(BindOutcome.REFUSED, str(error))
            return await self._look(pod, node, str(error))
        except (NoAnswerError, BrokenAnswerError) as error:
            # The server may still be working on the request that we gave up.
            return await self._look(pod, node, str(error))
        return Bound(BindOutcome.BOUND)

    async def read(self, key: str, within: float = READ_SECONDS) -> SeenPod | None:
        """Return a pod as the API server has it, None when there is none; ExtenderError else."""
        return await self._objects.pod(Key(key), within)

    async def record(self, pod: Pod, digest: str) -> str | None:
        """Put on record by which rules in annotations a pod is placed; return why that failed.

        As a condition of the pod's status, which nobody may write who may only edit pods, and which
        kubelet and scheduler leave as it is.
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
                path, patch, STRATEGIC_MERGE, within=RECORD_SECONDS, flow=Flow.BINDS
            )
        except ExtenderError as error:
            return str(error)
        return None

    async def _look(self, pod: Pod, node: str, why: str) -> Bound:
        """Find out what became of a bind, and of those of the same pod before it.

        A pod that has a node keeps it, and one that is gone gets none. But one without a node may
        still get it from any request that the server has not finished with.
        """
        try:
            seen = await self.read(pod.key, LOOK_SECONDS)
        except (ExtenderError, ObjectError) as error:
            return Bound(BindOutcome.INDETERMINATE, f"{why}; reading it back: {error}")
        found = None if seen is None else seen.pod
        if found is None or found.uid != pod.uid or found.terminal:
            return Bound(BindOutcome.GONE, f"{why}; the pod is gone")
        if found.node == node:
            return Bound(BindOutcome.BOUND)
        if found.node is not None:
            why = f"the pod is bound to {found.node} already"
            return Bound(BindOutcome.ELSEWHERE, why, found.node)
        return Bound(BindOutcome.INDETERMINATE, why)


def _binding(pod: Pod, node: str) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            # With the uid, a pod that was re-created under the name is not bound by mistake.
            "metadata": {
                "namespace": namespace_of(pod.key),
                "name": name_of(pod.key),
                "uid": pod.uid,
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
    )
