"""Evicts pods by the Eviction API, which keeps to disruption budgets."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from extender.core.errors import ExtenderError
from extender.core.kube.calls import pod_path
from extender.core.kube.client import ApiClient
from extender.core.kube.events import EventWriter
from extender.core.kube.failures import NotSentError, StatusError
from extender.core.kube.flowcontrol import Flow
from extender.core.kube.limits import WITHIN
from extender.core.model.keys import Key, name_of, namespace_of
from extender.core.model.objects import Pod
from extender.core.ports import ClusterReader
from extender.features.moving.ports import Evicted, Eviction

_OF_BUDGET: Final = "DisruptionBudget"
"""The cause in an answer that a budget, or its unusable status, has led to."""
_IN_TWO_BUDGETS: Final = "more than one PodDisruptionBudget"
"""In the answer about such a pod, which is a clear no, though its status is 500."""


class ApiMover(EventWriter):
    """Evicts pods, and writes Events about them or about the Lease."""

    def __init__(self, client: ApiClient, objects: ClusterReader, lease: Key | None) -> None:
        super().__init__(client, lease)
        self.objects = objects

    async def evict(
        self, pod: Pod, *, version: str, dry_run: bool, may_go: Callable[[], bool]
    ) -> Eviction:
        """Evict a pod by the Eviction API, unless a disruption budget or `may_go` says no.

        Nor if anybody has changed it since `version`. A pod that is gone, or going, may be so by
        this very request, which a proxy has sent twice. ApiError for other answers; NoAnswerError
        and BrokenAnswerError leave open whether it was done, and so does an ApiError with a status
        from 500 on.
        """
        preconditions = {"uid": pod.uid, "resourceVersion": version}
        options: dict[str, Any] = {"preconditions": preconditions}
        if dry_run:
            options["dryRun"] = ["All"]
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace_of(pod.key), "name": name_of(pod.key)},
            "deleteOptions": options,
        }
        try:
            await self.client.post(
                f"{pod_path(pod.key)}/eviction",
                msgspec.json.encode(eviction),
                within=WITHIN.eviction,
                flow=Flow.EVICTIONS,
                may_go=may_go,
            )
        except NotSentError as error:
            return Eviction(Evicted.NOT_SENT, str(error))
        except StatusError as error:
            if _is_of_budget(error):
                return Eviction(Evicted.REFUSED, str(error), error.retry_after)
            if error.is_missing:
                return Eviction(Evicted.GONE, str(error))
            if error.status == HTTPStatus.CONFLICT:
                return Eviction(await self._after_conflict(pod), str(error))
            raise
        return Eviction(Evicted.DONE)

    async def _after_conflict(self, pod: Pod) -> Evicted:
        """Say whether a pod was only changed; what a proxy sends twice may conflict with itself."""
        try:
            seen = await self.objects.pod(pod.key)
        except ExtenderError:
            return Evicted.GONE
        is_there = seen is not None and seen.pod.uid == pod.uid and not seen.pod.status.deleting
        return Evicted.CHANGED if is_there else Evicted.GONE


def _is_of_budget(error: StatusError) -> bool:
    return (
        error.status == HTTPStatus.TOO_MANY_REQUESTS
        or _OF_BUDGET in error.causes
        or _IN_TWO_BUDGETS in error.message
    )
