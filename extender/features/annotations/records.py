"""Writes into the status of pods by which rules in annotations they are placed."""

from __future__ import annotations

from extender.core.errors import ExtenderError
from extender.core.kube.calls import STRATEGIC_MERGE, condition_patch, pod_path, second_now
from extender.core.kube.client import ApiClient
from extender.core.kube.flowcontrol import Flow
from extender.core.kube.limits import WITHIN
from extender.core.model.objects import Pod
from extender.core.wire.placement import RULES_AT_PLACEMENT


class ApiRecords:
    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def record(self, pod: Pod, digest: str) -> str | None:
        """Put on record by which rules in annotations a pod is placed; return why that failed.

        As a condition of the pod's status: the right to edit pods does not include it, and kubelet
        and scheduler leave it as it is. "" stands for no rules.
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
