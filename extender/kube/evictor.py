"""Evicts pods: for more important ones, and when they break a rule.

For more important ones as kube-scheduler does, by deletion with its own condition: the Eviction API
would not go beyond a disruption budget, and preemption may. In all other cases by that API.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import uuid4

import msgspec

from extender.errors import ApiError
from extender.kube.calls import (
    STRATEGIC_MERGE,
    condition_patch,
    namespace_path,
    pod_path,
    second_now,
    took_effect,
)
from extender.kube.client import ApiClient
from extender.kube.failures import NotSentError, StatusError
from extender.kube.flowcontrol import Flow
from extender.kube.limits import MOST, WITHIN
from extender.model.keys import Key, name_of, namespace_of
from extender.model.objects import Pod
from extender.ports import ClusterReader, Evicted, Eviction, Occurrence

CONTROLLER: Final = "affinity-extender"
EVENTS: Final = "/apis/events.k8s.io/v1"
_OF_BUDGET: Final = "DisruptionBudget"
"""The cause in an answer that a budget, or its unusable status, has led to."""
_IN_TWO_BUDGETS: Final = "more than one PodDisruptionBudget"
"""In the answer about such a pod, which is a clear no, though its status is 500."""
_GONE: Final = frozenset((HTTPStatus.NOT_FOUND,))


class ApiEvictor:
    """Marks pods, deletes them and writes Events about them."""

    def __init__(self, client: ApiClient, objects: ClusterReader, lease: Key | None = None) -> None:
        """With the `lease` by which one of several replicas leads, Events can be about it."""
        self._client = client
        self.objects = objects
        self._lease = lease
        self._instance = f"{CONTROLLER}-{socket.gethostname()}"[: MOST.instance]

    async def mark(self, victim: Pod, message: str) -> bool:
        """Set the condition DisruptionTarget; False when the pod is gone or going already.

        It is written for the pod as it has just been read. So a request that is carried out late,
        when the pod is marked for somebody else or is going, changes nothing.
        ApiError when the API server refuses; NoAnswerError and BrokenAnswerError leave open whether
        it was done.
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
            patch = self._client.patch(
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

    async def delete(self, victim: Pod, *, dry_run: bool = False) -> bool:
        """Delete a pod with its own grace period; failures as with `mark`."""
        options: dict[str, Any] = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": victim.uid},
        }
        if dry_run:
            options["dryRun"] = ["All"]
        body = msgspec.json.encode(options)
        sent = self._client.delete(pod_path(victim.key), body, within=WITHIN.deletion)
        return await took_effect(sent, unless=_GONE)

    async def tell(self, victim: Pod, preemptor: Pod, note: str) -> None:
        """Write an Event about the eviction of a pod."""
        occurrence = Occurrence("Preempted", "Preempting", note)
        # Whoever may read the victim's namespace may not know the other one.
        shared = namespace_of(victim.key) == namespace_of(preemptor.key)
        related = {"related": _reference(preemptor)} if shared else {}
        await self._write(victim.key, occurrence, _reference(victim), **related)

    async def _write(
        self, key: Key, occurrence: Occurrence, regarding: dict[str, str], **more: Any
    ) -> None:
        namespace, name, note = namespace_of(key), name_of(key), occurrence.note
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "namespace": namespace,
                "name": f"{name[: MOST.event_name].rstrip('-.')}.{uuid4().hex[:16]}",
            },
            "eventTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "type": "Warning" if occurrence.warns else "Normal",
            "reason": occurrence.reason,
            "action": occurrence.action,
            "regarding": regarding,
            "note": note if len(note) <= MOST.note else f"{note[: MOST.note - 4]} ...",
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            **more,
        }
        await self._client.post(
            f"{namespace_path(namespace, EVENTS)}/events",
            msgspec.json.encode(event),
            within=WITHIN.deletion,
            flow=Flow.EVICTIONS,
        )

    async def evict(
        self, pod: Pod, *, version: str, dry_run: bool, may_go: Callable[[], bool]
    ) -> Eviction:
        """Evict a pod by the Eviction API, unless a disruption budget or `may_go` says no.

        Nor if anybody has changed it since `version`. ApiError for other answers; NoAnswerError and
        BrokenAnswerError leave open whether it was done, and so does an ApiError with a status from
        500 on.
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
            await self._client.post(
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
            if error.status == HTTPStatus.NOT_FOUND:
                return Eviction(Evicted.GONE, str(error))
            if error.status == HTTPStatus.CONFLICT:
                return Eviction(Evicted.CHANGED, str(error))
            raise
        return Eviction(Evicted.DONE)

    async def report(self, pod: Pod | None, occurrence: Occurrence) -> None:
        """Write an Event about a pod, or without one about the Lease of this program."""
        if pod is not None:
            await self._write(pod.key, occurrence, _reference(pod))
        elif self._lease is not None:
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "namespace": namespace_of(self._lease),
                "name": name_of(self._lease),
            }
            await self._write(self._lease, occurrence, lease)


def _is_of_budget(error: StatusError) -> bool:
    return (
        error.status == HTTPStatus.TOO_MANY_REQUESTS
        or _OF_BUDGET in error.causes
        or _IN_TWO_BUDGETS in error.message
    )


def _reference(pod: Pod) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": namespace_of(pod.key),
        "name": name_of(pod.key),
        "uid": pod.uid,
    }
