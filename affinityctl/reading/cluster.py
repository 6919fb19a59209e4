"""The cluster that a command's flags name: files, or what an API server has at this moment."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from affinityctl.reading.api_server import api_server
from affinityctl.reading.sources import PassedOver, Raw, read_objects
from affinityctl.reading.workloads import WorkloadFiles
from affinityctl.scheduler.default_spread.selectors import Selectors, selecting_resources
from affinityctl.scheduler.judging import Judging
from affinityctl.scheduler.volumes.ledger import KINDS, ledger_of
from affinityctl.scheduler.volumes.resources import VOLUME_RESOURCES
from extender.core.cluster.state import ClusterState
from extender.core.command_line import complain
from extender.core.config.features import features
from extender.core.errors import ApiError, ConfigError
from extender.core.model.workload import DAEMON_SET, STATEFUL_SET, Identity
from extender.core.offline import EXPECTED, ClusterFiles, listed
from extender.core.resources import (
    BUDGETS,
    NAMESPACES,
    NODES,
    PODS,
    WatchedResource,
    book,
    of_features,
)
from extender.core.wire.decoding import Json
from extender.core.wire.objects import PodReader
from extender.diagnosis.wire.workloads import Workload, read_workload


def fill(
    flags: argparse.Namespace,
    files: ClusterFiles,
    resources: Sequence[WatchedResource[Any]],
    *,
    dispensable: Mapping[str, str] | None = None,
    also: Callable[[Iterable[Raw]], None] | None = None,
) -> set[str]:
    """Put what the flags name into a state: files as a whole, of an API server these resources.

    Return the kinds of which an API server has said all there is.

    `dispensable` has, by its name, what comes of it where the right to list a resource is lacking.
    `also` gets the objects of each file: standard input cannot be read twice.
    """
    if not flags.cluster:
        return asyncio.run(_list(flags, files, resources, dispensable or {}))
    for path in flags.cluster:
        passed = PassedOver()
        objects: Iterable[Raw] = read_objects(path, passed, of_cluster=True)
        if also is not None:
            objects = list(objects)
        content = files.take(path, ((each.where, each.kind, each.content) for each in objects))
        passed.update(content.ignored, content.places)
        passed.note(path, listed(content.read), verbose=flags.verbose)
        if also is not None:
            also(objects)
    files.finish()
    return set()


def cluster_with_nodes(
    flags: argparse.Namespace,
    pods: PodReader,
    *further: WatchedResource[Any],
    by: Judging,
) -> WorkloadFiles:
    """Return what the flags name, for pods to be placed on its nodes, with the workloads in files.

    `further` resources are listed beside those that filter needs. `by` says where rules in
    annotations count, and gets to know what selects pods. ConfigError without a node.
    """
    state = by.empty_state()
    book(by.config, state, features())
    mirrored = of_features()
    resources: list[WatchedResource[Any]] = [NAMESPACES, NODES, *mirrored, *further, PODS]
    resources += VOLUME_RESOURCES if pods.read_volumes else ()
    dispensable = {each.name: "less is known of pods with volumes" for each in VOLUME_RESOURCES}
    selecting = selecting_resources(by.selectors) if by.has_defaults else ()
    resources += selecting
    dispensable |= {each.name: "less is known of default topology spread" for each in selecting}
    dispensable |= {each.name: each.without for each in (*mirrored, *further) if each.without}
    dispensable |= {BUDGETS.name: "budgets are not looked at"}
    files = WorkloadFiles(state, pods, by.selectors, mirrored)
    listed = fill(flags, files, resources, dispensable=dispensable)
    ledger_of(state).known |= listed & KINDS.keys()
    by.selectors.known |= listed
    require_nodes(flags, state)
    return files


def require_nodes(flags: argparse.Namespace, state: ClusterState) -> None:
    """Raise ConfigError without a node, where no rule would refuse anything."""
    if not len(state.nodes):
        if flags.cluster:
            raise ConfigError("--cluster", f"there is no node in it; {EXPECTED}")
        raise ConfigError("", "the cluster of the kubeconfig has no node")


async def _list(
    flags: argparse.Namespace,
    files: ClusterFiles,
    resources: Sequence[WatchedResource[Any]],
    dispensable: Mapping[str, str],
) -> set[str]:
    from affinityctl.reading.listing import list_resource  # noqa: PLC0415 - 40 MB of models come along

    known: set[str] = set()
    lacking: dict[str, list[str]] = {}
    async with api_server(flags) as client:
        for each in resources:
            try:
                await list_resource(client, files.state, files.pods, each)
            except ApiError as error:
                if error.status != HTTPStatus.FORBIDDEN or each.name not in dispensable:
                    raise
                lacking.setdefault(dispensable[each.name], []).append(each.name)
            else:
                known.add(each.kind)
    for what, names in lacking.items():
        complain(f"note: no right to list {', '.join(names)}, so {what}")
    return known


def list_workloads(flags: argparse.Namespace, selectors: Selectors) -> Mapping[Identity, Workload]:
    return _workloads(flags, selectors, ("Deployment", STATEFUL_SET, DAEMON_SET))


def list_stateful_sets(
    flags: argparse.Namespace, selectors: Selectors
) -> Mapping[Identity, Workload]:
    """Return the StatefulSets of an API server; without the right to list them, say so."""
    lacking = "note: no right to list statefulsets, so each is taken to be OrderedReady"
    return _workloads(flags, selectors, (STATEFUL_SET,), lacking)


def _workloads(
    flags: argparse.Namespace, selectors: Selectors, kinds: Sequence[str], lacking: str = ""
) -> Mapping[Identity, Workload]:
    found = {}
    for kind, raw in asyncio.run(_list_workloads(flags, kinds, lacking)):
        selectors.take(kind, raw)
        workload = read_workload(kind, raw)
        found[workload.identity] = workload
    return found


async def _list_workloads(
    flags: argparse.Namespace, kinds: Sequence[str], lacking: str
) -> list[tuple[str, Json]]:
    from affinityctl.reading.listing import list_raw  # noqa: PLC0415 - 40 MB of models come along

    found: list[tuple[str, Json]] = []
    async with api_server(flags) as client:
        for kind in kinds:
            name = f"{kind.lower()}s"
            try:
                raws = await list_raw(client, name, f"/apis/apps/v1/{name}", {})
            except ApiError as error:
                if error.status != HTTPStatus.FORBIDDEN or not lacking:
                    raise
                complain(lacking)
            else:
                found += ((kind, raw) for raw in raws)
    return found
