"""Evicts pods for more important ones, as kube-scheduler does: by deletion, with its own condition.

Not by the Eviction API: that would not go beyond a disruption budget, and preemption may.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import msgspec

from extender.errors import ApiError
from extender.kube.calls import events_path, pod_path
from extender.kube.client import ApiClient
from extender.kube.flowcontrol import Flow
from extender.model.keys import name_of, namespace_of
from extender.model.objects import Pod

REQUEST_SECONDS: Final = 10.0
STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"
CONTROLLER: Final = "affinity-extender"
LONGEST_NOTE: Final = 1024
LONGEST_INSTANCE: Final = 128
"""Characters of an Event's fields that the API server takes."""
LONGEST_NAME: Final = 200
"""Of a pod's name in that of an Event, which has to be a name as well."""

_NOT_FOUND: Final = 404


class Evictor:
    """Marks pods, deletes them and writes Events about them."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._instance = f"{CONTROLLER}-{socket.gethostname()}"[:LONGEST_INSTANCE]

    async def mark(self, victim: Pod, message: str) -> bool:
        """Set the condition DisruptionTarget; False when the pod is gone already.

        ApiError when the API server refuses, also for another pod of the same name; NoAnswerError
        and BrokenAnswerError leave open whether it was done.
        """
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": message,
            "lastTransitionTime": f"{_now():%Y-%m-%dT%H:%M:%SZ}",
        }
        patch = {"metadata": {"uid": victim.uid}, "status": {"conditions": [condition]}}
        return await _unless_gone(
            self._client.patch(
                f"{pod_path(victim.key)}/status",
                msgspec.json.encode(patch),
                STRATEGIC_MERGE,
                within=REQUEST_SECONDS,
                flow=Flow.EVICTIONS,
            )
        )

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
        return await _unless_gone(
            self._client.delete(pod_path(victim.key), body, within=REQUEST_SECONDS)
        )

    async def tell(self, victim: Pod, preemptor: Pod, note: str) -> None:
        """Write an Event about the eviction of a pod."""
        namespace, name = namespace_of(victim.key), name_of(victim.key)
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "namespace": namespace,
                "name": f"{name[:LONGEST_NAME].rstrip('-.')}.{uuid4().hex[:16]}",
            },
            "eventTime": f"{_now():%Y-%m-%dT%H:%M:%S.%fZ}",
            "type": "Normal",
            "reason": "Preempted",
            "action": "Preempting",
            "regarding": _reference(victim),
            "related": _reference(preemptor),
            "note": note if len(note) <= LONGEST_NOTE else f"{note[: LONGEST_NOTE - 4]} ...",
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
        }
        await self._client.post(
            events_path(namespace),
            msgspec.json.encode(event),
            within=REQUEST_SECONDS,
            flow=Flow.EVICTIONS,
        )


async def _unless_gone(request: Awaitable[bytes]) -> bool:
    try:
        await request
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return False
        raise
    return True


def _reference(pod: Pod) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": namespace_of(pod.key),
        "name": name_of(pod.key),
        "uid": pod.uid,
    }


def _now() -> datetime:
    return datetime.now(UTC)
