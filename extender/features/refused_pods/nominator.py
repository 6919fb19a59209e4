"""Sets the field by which pods are pointed at nodes, and wakes pods."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct, field

from extender.core.errors import ApiError
from extender.core.kube.calls import (
    JSON_PATCH,
    STRATEGIC_MERGE,
    condition_patch,
    pod_path,
    second_now,
    took_effect,
)
from extender.core.kube.client import USER_AGENT, ApiClient
from extender.core.kube.limits import WITHIN
from extender.core.model.objects import Pod
from extender.core.wire.decoding import BROKEN_JSON, decoded

_NOMINATION: Final = "/status/nominatedNodeName"
_OVERTAKEN: Final = frozenset((404, 409, 422))
"""Not Found, Conflict, and how the API server says that a test of a patch failed."""
_MANAGER: Final = USER_AGENT.partition("/")[0]
"""As whom the API server enters in `managedFields` what this program has written."""


class _Status(Struct):
    node: dict[str, msgspec.Raw] | None = field(default=None, name="f:nominatedNodeName")


class _Fields(Struct):
    status: _Status = field(default_factory=_Status, name="f:status")


class _Written(Struct):
    manager: str = ""
    fields: _Fields = field(default_factory=_Fields, name="fieldsV1")


class _Metadata(Struct):
    uid: str
    written: list[_Written] = field(default_factory=list, name="managedFields")


class _Nominated(Struct):
    node: str | None = field(default=None, name="nominatedNodeName")


class _Pod(Struct):
    metadata: _Metadata
    status: _Nominated = field(default_factory=_Nominated)


_POD: Final = msgspec.json.Decoder(_Pod)


class ApiNominator:
    """Sets the field by which the scheduler itself points pods at nodes, and wakes pods."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        """Nominate a node, or none any more; False when another writer has changed something.

        `before` is what the field has to be at that moment. ApiError when the API server refuses,
        NoAnswerError and BrokenAnswerError leave open whether it was done.
        """
        if await self._patch(pod, _nomination(pod.uid, before, node), JSON_PATCH):
            return True
        return node is not None and await self._has_set(pod, node)

    async def _has_set(self, pod: Pod, node: str) -> bool:
        """Return whether it was done all the same: a proxy that sends a patch twice answers no.

        A hint that is taken for another writer's would never be withdrawn. Errors as of `nominate`.
        """
        try:
            body = await self._client.get(pod_path(pod.key), {}, within=WITHIN.nomination)
            seen = decoded(_POD.decode, body)
        except ApiError as error:
            if error.is_missing:
                return False
            raise
        except BROKEN_JSON:
            return False
        writers = [
            each.manager for each in seen.metadata.written if each.fields.status.node is not None
        ]
        return (seen.metadata.uid, seen.status.node) == (pod.uid, node) and _MANAGER in writers

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
