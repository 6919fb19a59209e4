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
from extender.core.kube.failures import NotSentAgainError, NotSentError, StatusError
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
        except NotSentAgainError as error:
            became = await self._unless_gone(pod, Evicted.NOT_SENT, unread=Evicted.NOT_SENT)
            return Eviction(became, str(error))
        except NotSentError as error:
            return Eviction(Evicted.NOT_SENT, str(error))
        except StatusError as error:
            if _is_of_budget(error):
                became = await self._unless_gone(pod, Evicted.REFUSED, unread=Evicted.REFUSED)
                return Eviction(became, str(error), error.retry_after)
            if error.is_missing:
                return Eviction(Evicted.GONE, str(error))
            if error.status == HTTPStatus.CONFLICT:
                became = await self._unless_gone(pod, Evicted.CHANGED, unread=Evicted.GONE)
                return Eviction(became, str(error))
            raise
        return Eviction(Evicted.DONE)

    async def _unless_gone(self, pod: Pod, answered: Evicted, *, unread: Evicted) -> Evicted:
        """Say what an answer means while the pod is there, else that it is gone.

        What a proxy sends twice may conflict with itself, or find a budget that the first copy has
        used up. `unread` is what it means where the pod cannot be read.
        """
        try:
            seen = await self.objects.pod(pod.key)
        except ExtenderError:
            return unread
        is_there = seen is not None and seen.pod.uid == pod.uid and not seen.pod.status.deleting
        return answered if is_there else Evicted.GONE


def _is_of_budget(error: StatusError) -> bool:
    return (
        error.status == HTTPStatus.TOO_MANY_REQUESTS
        or _OF_BUDGET in error.causes
        or _IN_TWO_BUDGETS in error.message
    )
