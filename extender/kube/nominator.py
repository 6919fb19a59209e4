"""Points pods at nodes, by the field that the scheduler itself uses for that."""

from __future__ import annotations

from typing import Final

import msgspec

from extender.errors import ApiError
from extender.kube.calls import pod_path
from extender.kube.client import ApiClient
from extender.model.objects import Pod

PATCH_SECONDS: Final = 2.5

JSON_PATCH: Final = "application/json-patch+json"

_FIELD: Final = "/status/nominatedNodeName"

_NODE: Final = "/spec/nodeName"

_OVERTAKEN: Final = frozenset((404, 409, 422))
"""Not Found, Conflict, and how the API server says that a test of a patch failed."""


class Nominator:
    """Sets status.nominatedNodeName of pods."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        """Nominate a node, or none any more; False when somebody else has changed something.

        `before` is what the field has to be at that moment. ApiError when the API server refuses,
        NoAnswerError and BrokenAnswerError leave open whether it was done.
        """
        path = f"{pod_path(pod.key)}/status"
        patch = _patch(pod.uid, before, node)
        try:
            await self._client.patch(path, patch, JSON_PATCH, within=PATCH_SECONDS)
        except ApiError as error:
            if error.status in _OVERTAKEN:
                return False
            raise
        return True


def _patch(uid: str, before: str | None, node: str | None) -> bytes:
    """Write a JSON Patch: unlike a merge, it can tell what must not have changed meanwhile."""
    # A missing field passes a test for null.
    patch: list[dict[str, object]] = [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": _FIELD, "value": before},
    ]
    if node is None:
        patch.append({"op": "remove", "path": _FIELD})
    else:
        # A bind that came first has cleared the field for good.
        patch.append({"op": "test", "path": _NODE, "value": None})
        patch.append({"op": "add", "path": _FIELD, "value": node})
    return msgspec.json.encode(patch)
