"""Evicts pods for more important ones, as kube-scheduler does: by deletion with its own condition.

The Eviction API would not go beyond a disruption budget, and preemption may.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from extender.core.errors import ApiError
from extender.core.kube.calls import (
    STRATEGIC_MERGE,
    condition_patch,
    pod_path,
    second_now,
    took_effect,
)
from extender.core.kube.client import ApiClient
from extender.core.kube.events import EventWriter, reference
from extender.core.kube.failures import NotSentError
from extender.core.kube.flowcontrol import Flow
from extender.core.kube.limits import WITHIN
from extender.core.model.keys import namespace_of
from extender.core.model.objects import Pod
from extender.core.ports import ClusterReader, Occurrence

_GONE: Final = frozenset((HTTPStatus.NOT_FOUND,))


class ApiEvictor(EventWriter):
    """Marks pods, deletes them and writes Events about them."""

    def __init__(self, client: ApiClient, objects: ClusterReader) -> None:
        super().__init__(client)
        self.objects = objects

    async def mark(self, victim: Pod, message: str) -> bool:
        """Set the condition DisruptionTarget; False when the pod is gone or going already.

        It is written for the pod as it has just been read. So a request that is carried out late,
        when the pod is marked for another preemptor or is going, changes nothing. ApiError when the
        API server refuses; NoAnswerError and BrokenAnswerError leave open whether it was done.
        """
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": message,
            "lastTransitionTime": second_now(),
        }
        for last in (False, False, True):
            seen = await self.objects.pod(victim.key)
            if seen is None or seen.pod.uid != victim.uid or seen.pod.status.deleting:
                return False
            patch = self.client.patch(
                f"{pod_path(victim.key)}/status",
                condition_patch(victim.uid, condition, seen.version),
                STRATEGIC_MERGE,
                within=WITHIN.deletion,
                flow=Flow.EVICTIONS,
            )
            try:
                return await took_effect(patch, unless=_GONE)
            except ApiError as error:
                # Its kubelet writes to the same status.
                if last or error.status != HTTPStatus.CONFLICT:
                    raise
        raise AssertionError("the last try returns or raises")

    async def delete(
        self, victim: Pod, *, dry_run: bool = False, may_go: Callable[[], bool] = lambda: True
    ) -> bool | None:
        """Delete a pod with its own grace period; failures as with `mark`.

        None when `may_go` says no: the request may have to wait until it can be sent.
        """
        options: dict[str, Any] = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": victim.uid},
        }
        if dry_run:
            options["dryRun"] = ["All"]
        body = msgspec.json.encode(options)
        path, within = pod_path(victim.key), WITHIN.deletion
        sent = self.client.delete(path, body, within=within, may_go=may_go)
        try:
            return await took_effect(sent, unless=_GONE)
        except NotSentError:
            if may_go():
                raise
            return None

    async def tell(self, victim: Pod, preemptor: Pod, note: str) -> None:
        occurrence = Occurrence("Preempted", "Preempting", note)
        # Readers of the victim's namespace may have no right to read the preemptor's.
        shared = namespace_of(victim.key) == namespace_of(preemptor.key)
        related = {"related": reference(preemptor)} if shared else {}
        await self.write(victim.key, occurrence, reference(victim), **related)
