"""Writes Events about pods, and about the Lease by which one of several replicas acts."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

import msgspec

from extender.core.errors import bounded
from extender.core.kube.calls import namespace_path
from extender.core.kube.client import ApiClient
from extender.core.kube.flowcontrol import Flow
from extender.core.kube.limits import MOST, WITHIN
from extender.core.model.keys import Key, name_of, namespace_of
from extender.core.model.objects import Pod
from extender.core.ports import Occurrence

CONTROLLER: Final = "affinity-extender"
EVENTS: Final = "/apis/events.k8s.io/v1"


class EventWriter:
    """Writes Events."""

    def __init__(self, client: ApiClient, lease: Key | None = None) -> None:
        """With the `lease` by which one of several replicas leads, Events can be about it."""
        self.client: Final = client
        self._lease = lease
        self._instance = f"{CONTROLLER}-{socket.gethostname()}"[: MOST.instance]

    async def write(
        self, key: Key, occurrence: Occurrence, regarding: dict[str, str], **more: Any
    ) -> None:
        """Write one into the namespace of a key; `more` are further fields of it."""
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
            "note": bounded(note, MOST.note),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            **more,
        }
        await self.client.post(
            f"{namespace_path(namespace, EVENTS)}/events",
            msgspec.json.encode(event),
            within=WITHIN.deletion,
            flow=Flow.EVICTIONS,
        )

    async def report(self, pod: Pod | None, occurrence: Occurrence) -> None:
        """Write an Event about a pod, or without one about the Lease of this program."""
        if pod is not None:
            await self.write(pod.key, occurrence, reference(pod))
        elif self._lease is not None:
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "namespace": namespace_of(self._lease),
                "name": name_of(self._lease),
            }
            await self.write(self._lease, occurrence, lease)


def reference(pod: Pod) -> dict[str, str]:
    """Return what names a pod in an Event."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": namespace_of(pod.key),
        "name": name_of(pod.key),
        "uid": pod.uid,
    }
