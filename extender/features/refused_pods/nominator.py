"""Sets the field by which pods are pointed at nodes, and wakes pods."""

from __future__ import annotations

from typing import Final

import msgspec

from extender.core.kube.calls import (
    JSON_PATCH,
    STRATEGIC_MERGE,
    condition_patch,
    pod_path,
    second_now,
    took_effect,
)
from extender.core.kube.client import ApiClient
from extender.core.kube.limits import WITHIN
from extender.core.model.objects import Pod

_NOMINATION: Final = "/status/nominatedNodeName"
_OVERTAKEN: Final = frozenset((404, 409, 422))
"""Not Found, Conflict, and how the API server says that a test of a patch failed."""


class ApiNominator:
    """Sets the field by which the scheduler itself points pods at nodes, and wakes pods."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        """Nominate a node, or none any more; False when another writer has changed something.

        `before` is what the field has to be at that moment. ApiError when the API server refuses,
        NoAnswerError and BrokenAnswerError leave open whether it was done.
        """
        return await self._patch(pod, _nomination(pod.uid, before, node), JSON_PATCH)

    async def wake(self, pod: Pod) -> bool:
        """Make the scheduler try a pod again that an extender refused; False when it is gone.

        Any change to such a pod does (pkg/scheduler/scheduler.go, buildQueueingHintMap). This one
        says no more than that the pod was looked at, and in a second only the first is a change.
        Errors as of `nominate`.
        """
        condition = {"type": "PodScheduled", "lastProbeTime": second_now()}
        return await self._patch(pod, condition_patch(pod.uid, condition), STRATEGIC_MERGE)

    async def _patch(self, pod: Pod, patch: bytes, kind: str) -> bool:
        path = f"{pod_path(pod.key)}/status"
        sent = self._client.patch(path, patch, kind, within=WITHIN.nomination)
        return await took_effect(sent, unless=_OVERTAKEN)


def _nomination(uid: str, before: str | None, node: str | None) -> bytes:
    """Write a JSON Patch: unlike a merge, it can tell what must not have changed meanwhile."""
    # A missing field passes a test for null.
    patch: list[dict[str, object]] = [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": _NOMINATION, "value": before},
    ]
    if node is None:
        patch.append({"op": "remove", "path": _NOMINATION})
    else:
        # A bind that came first has cleared the field for good.
        patch.append({"op": "test", "path": "/spec/nodeName", "value": None})
        patch.append({"op": "add", "path": _NOMINATION, "value": node})
    return msgspec.json.encode(patch)
