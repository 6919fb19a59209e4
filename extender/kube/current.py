"""The cluster as it is at one moment, for commands that answer and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from extender.kube.feed import NOT_TERMINAL
from extender.kube.frames import Resource
from extender.kube.listing import Lister
from extender.wire.quotas import read_quota

if TYPE_CHECKING:
    from collections.abc import Iterable

    from extender.cluster.state import ClusterState
    from extender.kube.client import ApiClient
    from extender.wire.objects import PodReader

T = TypeVar("T")


async def list_quotas_and_pods(client: ApiClient, state: ClusterState, pods: PodReader) -> None:
    """Put the quotas of all namespaces, and all pods that have not ended, into a state.

    ExtenderError when the API server refuses or cannot be reached; objects that cannot be read are
    left out, with a warning in the log.
    """
    quotas = Resource("resourcequotas", "/api/v1/resourcequotas", read_quota, {})
    for quota in await _list(client, quotas):
        state.upsert_quota(quota)
    every_pod = Resource("pods", "/api/v1/pods", pods.read, {"fieldSelector": NOT_TERMINAL})
    for pod in await _list(client, every_pod):
        state.upsert_pod(pod)


async def _list(client: ApiClient, resource: Resource[T]) -> Iterable[T]:
    snapshot = await Lister(client, resource, _ignore).latest()
    return snapshot.objects.values()


def _ignore(_: Any) -> None:
    """Count nothing: what was left out is in the log."""
