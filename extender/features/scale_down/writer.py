"""Writes deletion costs into pods, each exactly the one that was seen, and never over a user's."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from extender.core.kube.calls import STRATEGIC_MERGE, pod_path, took_effect
from extender.core.kube.client import ApiClient
from extender.core.kube.limits import WITHIN
from extender.core.model.keys import Identity
from extender.core.ports import ClusterReader
from extender.features.scale_down.cost import COST, DeletionCost

_OVERTAKEN: Final = frozenset((HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT))


class ApiCostWriter:
    def __init__(self, client: ApiClient, objects: ClusterReader) -> None:
        self._client = client
        self._objects = objects

    async def write(self, pod: Identity, before: int | None, cost: int) -> bool:
        """Give a pod a cost in place of the one that we gave before, None for none.

        False when the pod is gone or going, or was changed meanwhile. ExtenderError when that
        fails, or may have been done for all we know.
        """
        seen = await self._objects.pod(pod.key)
        if seen is None or seen.pod.uid != pod.uid or seen.pod.status.deleting:
            return False
        known = seen.pod.facet(COST)
        if known != (None if before is None else DeletionCost(before, given=True)):
            return False
        annotations = COST.written(DeletionCost(cost, given=True))
        metadata = {"uid": pod.uid, "resourceVersion": seen.version, "annotations": annotations}
        body = msgspec.json.encode({"metadata": metadata})
        path = pod_path(pod.key)
        sent = self._client.patch(path, body, STRATEGIC_MERGE, within=WITHIN.nomination)
        return await took_effect(sent, unless=_OVERTAKEN)
