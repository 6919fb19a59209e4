"""The cluster as it is at one moment, for commands that answer and end."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from extender.kube.frames import Resource
from extender.kube.listing import Lister
from extender.kube.observers import SkipLog
from extender.kube.resources import NOT_TERMINAL
from extender.wire.quotas import read_quota

if TYPE_CHECKING:
    from collections.abc import Iterable

    from extender.cluster.state import ClusterState
    from extender.kube.client import ApiClient
    from extender.wire.objects import PodReader

logger = logging.getLogger(__name__)

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
    log = SkipLog(logger, resource.name, time.monotonic)
    snapshot = await Lister(client, resource, log.left_out).latest()
    return snapshot.objects.values()
