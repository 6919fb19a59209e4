"""Where the cluster comes from: files, or the API server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Protocol

from extender.core.cluster.state import ClusterState
from extender.core.collecting import resting
from extender.core.config import Config
from extender.core.config.features import (
    Want,
    enabled,
    facets,
    lease_name,
    reads_rules,
    scope,
    wants,
)
from extender.core.metrics import Metrics
from extender.core.model.keys import Key, key_of
from extender.core.offline import ClusterFiles
from extender.core.ports import ClusterReader, Leadership
from extender.core.resources import WatchedResource, book, needed, object_counts
from extender.core.wire.decoding import check_depth
from extender.core.wire.objects import PodReader

if TYPE_CHECKING:
    from extender.core.kube.client import ApiClient
    from extender.core.kube.pacing import Timing
    from extender.core.kube.watchers import Watchers

_log = logging.getLogger(__name__)


class Certainty(Protocol):
    """Whether what is known is what the server has or had a moment ago.

    It need not be after a connection broke: etcd may have been restored from a backup since.
    """

    @property
    def certain(self) -> bool:
        """Return whether it is."""

    async def wait_certain(self) -> None:
        """Wait until it may be."""


class Picture(Certainty, Protocol):
    """How far what is known of the cluster can be trusted, by resource."""

    @property
    def synced(self) -> Mapping[str, bool]:
        """Return whether each is known."""

    @property
    def last_heard(self) -> Mapping[str, float | None]:
        """Return when something was last heard about each, in epoch seconds."""

    @property
    def silent_for(self) -> Mapping[str, float | None]:
        """Return the seconds since then; nothing where silence means nothing."""

    @property
    def unreadable(self) -> Mapping[str, Mapping[str, str]]:
        """Return of each that is watched the objects that cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class StillPicture:
    synced: Mapping[str, bool]
    last_heard: Mapping[str, float | None]
    silent_for: Mapping[str, float | None] = field(default_factory=dict)
    unreadable: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    certain: bool = True

    async def wait_certain(self) -> None:
        """Return at once: files do not change."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """What features send requests by."""

    client: ApiClient
    objects: ClusterReader
    lease: Key | None = None
    """The one by which one of several replicas acts."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the cluster comes from, and what it is acted on by."""

    description: str
    """For people: names of files, or the API server's address."""
    picture: Picture
    leadership: Leadership | None = None
    """Which of several replicas acts; None where that does not matter."""
    api: ApiServer | None = None
    """None for files."""


def empty_state(config: Config) -> ClusterState:
    """Return a state in which nothing is yet, with what features book of what is mirrored."""
    state = ClusterState(scope=scope(config), empty_selects_all=config.empty_selects_all)
    if _reads_nodes(config):
        _ = state.node_rules  # Made while there are no pods, which it counts.
    book(config, state)
    return state


async def open_source(
    config: Config, state: ClusterState, metrics: Metrics, parts: AsyncExitStack
) -> Source:
    """Fill the state from the configured files, or keep it filled until the stack unwinds."""
    if config.cluster_files:
        return _load(config, state, metrics)
    return await _watch(config, state, metrics, parts)


def _reads_nodes(config: Config) -> bool:
    return wants(config, Want.NODES) or wants(config, Want.HOLDS)


def pod_reader(
    config: Config,
    most_entries: int | None = None,
    *,
    manifests: bool = False,
    asked: bool = False,
) -> PodReader:
    """Build what reads pods: which fields of a term count, and what features read.

    With `manifests`, they may come from people, whatever the cluster comes from. With `asked`, they
    come with requests about them, whether they have a node or not.
    """
    # What comes from files was never created, or says by its version that it was.
    live, holds = not config.cluster_files and not manifests, wants(config, Want.HOLDS)
    return PodReader(
        gates=config.feature_gates,
        node_selection=_reads_nodes(config) or manifests,
        # Whoever waits may be explained, and what comes with a request is read for that alone.
        waiting=not asked,
        owners=wants(config, Want.OWNERS),
        facets=facets(config),
        requirements=asked or holds,
        classes=asked,
        most_entries=most_entries,
        stored=live,
        rules=reads_rules(enabled(config)),
    )


def cluster_files(config: Config, state: ClusterState) -> ClusterFiles:
    """Return what reads the files of a configuration."""
    return ClusterFiles(state, pod_reader(config), needed(config))


def _load(config: Config, state: ClusterState, metrics: Metrics) -> Source:
    files = cluster_files(config, state)
    with resting():
        for path in config.cluster_files:
            start = monotonic()
            content = files.load(path)
            _log.info("loaded %s in %.1f s: %s", path, monotonic() - start, content)
        files.finish()
    for resource in ("nodes", "pods"):
        if not object_counts(state)[resource]:
            _log.warning("there are no %s in the cluster files", resource)
    state.compact()
    resources = [each.name for each in needed(config)]
    for resource in resources:
        metrics.synced(resource, synced=True)
    picture = StillPicture(dict.fromkeys(resources, True), dict.fromkeys(resources, time()))
    return Source(", ".join(map(str, config.cluster_files)), picture)


async def _watch(
    config: Config, state: ClusterState, metrics: Metrics, parts: AsyncExitStack
) -> Source:
    # Only for those who watch a cluster: it would take part of every other command's start.
    from extender.core.kube.client import ApiClient  # noqa: PLC0415
    from extender.core.kube.credentials import load_credentials, namespace_of_context  # noqa: PLC0415
    from extender.core.kube.flowcontrol import FlowControl  # noqa: PLC0415

    check_depth()
    connection = config.client_connection
    kubeconfig = None if connection.kubeconfig is None else str(connection.kubeconfig)
    credentials = await load_credentials(kubeconfig, connection.context)
    namespace = namespace_of_context(kubeconfig, connection.context)
    limit = FlowControl(connection.qps, connection.burst)
    client = await parts.enter_async_context(ApiClient(credentials, observer=metrics, limit=limit))
    if credentials.certificate_ends is not None:
        metrics.certificate_ends.ask(lambda: credentials.certificate_ends or 0.0, "api-server")
    return await mirror(client, config, state, metrics=metrics, parts=parts, namespace=namespace)


async def mirror(
    client: ApiClient,
    config: Config,
    state: ClusterState,
    *,
    metrics: Metrics,
    parts: AsyncExitStack,
    timing: Timing | None = None,
    namespace: str | None = None,
) -> Source:
    """Keep the state equal to what an API server has until the stack unwinds.

    `namespace` is where the program itself runs, if anything says so.
    """
    from extender.core.kube.failures import Relist, Restart  # noqa: PLC0415
    from extender.core.kube.frames import EventType, Skip  # noqa: PLC0415
    from extender.core.kube.lease import Lease  # noqa: PLC0415
    from extender.core.kube.pacing import USUAL_MIRROR  # noqa: PLC0415
    from extender.core.kube.reader import ObjectReader  # noqa: PLC0415
    from extender.core.kube.watchers import Watchers, build_reflectors  # noqa: PLC0415

    pods = pod_reader(config)
    state.forgetful.append(pods.forgetting)
    watched = needed(config)
    for each in watched:
        metrics.begin_mirror(
            each.name, kinds=EventType, skips=Skip, restarts=Restart, relists=Relist
        )
    # In time for a list to come before the resource is stale.
    silence = min(USUAL_MIRROR.silence, config.client_connection.stale_after_seconds - 15.0)
    timing = timing or USUAL_MIRROR.timing
    settings = replace(USUAL_MIRROR, observer=metrics, timing=timing, silence=silence)
    reflectors = build_reflectors(client, state, watched, pods, settings)
    watchers = await parts.enter_async_context(Watchers(reflectors))
    settling = asyncio.create_task(_settle(watchers, state, watched), name="settle")
    parts.callback(settling.cancel)
    key = lease_key(config, namespace)
    leadership = None if key is None else Lease(client, key, timing=timing)
    if leadership is not None:
        parts.push_async_callback(leadership.close)
    api = ApiServer(client, ObjectReader(client, pods), key)
    return Source(client.host, watchers, leadership, api)


def lease_key(config: Config, namespace: str | None = None) -> Key | None:
    """Return the Lease by which one of several replicas acts, None where none does.

    By default it is where the program runs: there its Role is, however it was installed.
    """
    if not wants(config, Want.LEASE):
        return None
    chosen = lease_name(config)
    return key_of(chosen.namespace or namespace or "kube-system", chosen.name)


async def _settle(
    watchers: Watchers, state: ClusterState, watched: Sequence[WatchedResource[Any]]
) -> None:
    start = monotonic()
    with resting():
        await watchers.wait_synced()
    state.compact()
    found = object_counts(state, watched)
    counts = ", ".join(f"{found[name]} {name}" for name in watchers.synced)
    _log.info("synced in %.1f s: %s", monotonic() - start, counts)
