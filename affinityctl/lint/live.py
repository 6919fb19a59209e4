"""What lint looks at in a live cluster."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from affinityctl.cluster import api_client
from affinityctl.lint.objects import Objects, Raw
from extender.cluster.state import ClusterState
from extender.resources import NAMESPACES, NODES, PODS, WatchedResource
from extender.wire.objects import PodReader


class _Version(msgspec.Struct):
    """What the API server says of its version, in part."""

    minor: str = ""


class _Resource(NamedTuple):
    kind: str
    group: str
    name: str
    query: Mapping[str, str] = MappingProxyType({})

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/v1/{self.name}"


_WORKLOADS: Final = (
    _Resource("Deployment", "apps", "deployments"),
    _Resource("StatefulSet", "apps", "statefulsets"),
    _Resource("DaemonSet", "apps", "daemonsets"),
    _Resource("CronJob", "batch", "cronjobs"),
    _Resource("Job", "batch", "jobs"),
)
"""ReplicaSets repeat the templates of Deployments, and are many."""


async def list_cluster(
    kubeconfig: str | None,
    context: str | None,
    objects: Objects,
    state: ClusterState | None = None,
) -> int | None:
    """Add a cluster's nodes, namespaces, pods and workloads; return its minor version.

    Those that a state has are put into it as well: a cluster may be large, and is listed once.
    """
    from extender.kube.reader import list_raw  # noqa: PLC0415 - 40 MB of models come along

    pods = PodReader()
    async with await api_client(kubeconfig, context) as client:
        for each in (NODES, NAMESPACES, *_WORKLOADS, PODS):
            raws = await list_raw(client, each.name, each.path, each.query)
            objects.take(Raw("", index, each.kind, raw) for index, raw in enumerate(raws))
            if state is not None and isinstance(each, WatchedResource):
                store = each.storing(state, pods)
                for raw in raws:
                    store(raw)
        return _minor(await client.get("/version", {}))


def _minor(body: bytes) -> int | None:
    minor = msgspec.json.decode(body, type=_Version).minor.removesuffix("+")
    return int(minor) if minor.isdecimal() else None
