"""The cluster as it is at one moment, for commands that answer and end."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from extender.cluster.state import ClusterState
from extender.kube.client import ApiClient
from extender.kube.frames import Resource
from extender.kube.listing import Lister
from extender.kube.observers import SkipLog
from extender.mirrored import Mirrored
from extender.wire.objects import PodReader

_log = logging.getLogger(__name__)

T = TypeVar("T")


async def list_resources(
    client: ApiClient, state: ClusterState, pods: PodReader, *resources: Mirrored[Any]
) -> None:
    """Put all objects of some resources into a state; of pods those that have not ended.

    ExtenderError when the API server refuses or cannot be reached; objects that cannot be read are
    left out, with a warning in the log.
    """
    for each in resources:
        await _list(client, state, each, pods)


async def list_raw(
    client: ApiClient, name: str, path: str, query: Mapping[str, str]
) -> list[msgspec.Raw]:
    """Return all objects of a resource as the API server writes them, without their kind.

    ExtenderError when the API server refuses or cannot be reached.
    """
    resource = Resource(name, path, lambda raw: raw, query)
    log = SkipLog(_log, name, time.monotonic)
    return list((await Lister(client, resource, log.left_out).latest()).objects.values())


async def _list(
    client: ApiClient, state: ClusterState, mirrored: Mirrored[T], pods: PodReader
) -> None:
    resource = Resource(mirrored.name, mirrored.path, mirrored.reader(pods), mirrored.query)
    log = SkipLog(_log, resource.name, time.monotonic)
    snapshot = await Lister(client, resource, log.left_out).latest()
    for obj in snapshot.objects.values():
        mirrored.upsert(state, obj)
