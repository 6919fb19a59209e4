"""The API's resources that the cluster state mirrors: one row for each.

Whatever brings objects, a reflector, a single list or a file, puts them into the state from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct

from extender.core.cluster.state import ClusterState
from extender.core.config import Config, Mode
from extender.core.config.features import Feature, Want, enabled, features, wants
from extender.core.model.disruption import PodDisruptionBudget
from extender.core.model.objects import Namespace, Node, Pod
from extender.core.wire.decoding import Json
from extender.core.wire.objects import NodeReader, PodReader, read_budget, read_namespace

T = TypeVar("T")


class Identified(Protocol):
    """An object that is told from its namesakes."""

    @property
    def uid(self) -> str: ...


def _by_name_alone(state: ClusterState, key: str) -> None:
    """Find no uid: an object of the same name takes the old one's place."""
    del state, key


def _always(config: Config) -> bool:
    del config
    return True


def _nothing(state: ClusterState, obj: object) -> None:
    del state, obj


def _forget_what_was_undone(state: ClusterState, pod: Pod) -> None:
    """Forget a pod that is no longer where it was bound, or no longer being deleted.

    Neither ends for a pod, and events that say otherwise are old ones. A list never is; so etcd was
    restored from a backup, in which the pod was not bound yet, or not deleted. A bind that no watch
    has shown may be undone as well.
    """
    if pod.node is None:
        state.doubt_bind(pod)
    known = state.pod(pod.key, pod.uid)
    if known is not None and (
        (known.node is not None and known.node != pod.node)
        or (known.status.deleting and not pod.status.deleting)
    ):
        state.remove_pod(pod.key, pod.uid)


@dataclass(frozen=True, slots=True)
class WatchedResource(Generic[T]):
    """A resource, and how its objects get into the cluster state and out of it.

    Objects go by their key: namespace/name, or the name of what has no namespace.
    """

    name: str
    """As paths, metrics and logs have it, for example pods."""
    kind: str
    reader: Callable[[PodReader], Callable[[Json], T]]
    """Makes what reads one object; what the configuration says of pods is in the PodReader."""
    keys: Callable[[ClusterState], AbstractSet[str]]
    upsert: Callable[[ClusterState, T], None]
    remove: Callable[[ClusterState, str, str], None]
    """Is given key and uid, and leaves a successor of the same name alone."""
    key: Callable[[T], str] | None = None
    """The key of an object, where that is a string of its own."""
    unlearn: Callable[[ClusterState, T], None] = _nothing
    """Forgets what `upsert` would keep of an object though a list shows that it is so no longer."""
    find: Callable[[ClusterState, str], Identified | None] = _by_name_alone
    group: str = ""
    """The API group; "" for the core's."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Of every list and watch."""
    needed: Callable[[Config], bool] = _always
    manifest: type[Struct] | None = None
    """What it is decoded as, where others keep what is read."""
    without: str = ""
    """What comes of it for a command that has no right to list it; "" where it needs that."""

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/v1/{self.name}" if self.group else f"/api/v1/{self.name}"

    def storing(self, state: ClusterState, pods: PodReader) -> Callable[[Json], None]:
        read = self.reader(pods)
        return lambda raw: self.upsert(state, read(raw))

    def uid(self, state: ClusterState, key: str) -> str:
        """Return the uid of an object, "" when it has just gone or has none that matters."""
        found = self.find(state, key)
        return "" if found is None else found.uid


NAMESPACES: Final[WatchedResource[Namespace]] = WatchedResource(
    "namespaces",
    "Namespace",
    reader=lambda _: read_namespace,
    keys=lambda state: state.namespaces.keys(),
    upsert=ClusterState.upsert_namespace,
    remove=lambda state, name, _: state.remove_namespace(name),
)
NODES: Final[WatchedResource[Node]] = WatchedResource(
    "nodes",
    "Node",
    reader=lambda _: NodeReader().read,
    keys=lambda state: state.nodes.keys(),
    upsert=ClusterState.upsert_node,
    remove=lambda state, name, _: state.remove_node(name),
)
PODS: Final[WatchedResource[Pod]] = WatchedResource(
    "pods",
    "Pod",
    reader=lambda pods: pods.read,
    keys=lambda state: state.pods.keys(),
    upsert=ClusterState.upsert_pod,
    remove=ClusterState.remove_pod,
    key=lambda pod: pod.key,
    unlearn=_forget_what_was_undone,
    find=lambda state, key: state.pods.get(key),
    # kube-scheduler's selector: a pod that ends is DELETED from our view of the world.
    query={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
)
BUDGETS: Final[WatchedResource[PodDisruptionBudget]] = WatchedResource(
    "poddisruptionbudgets",
    "PodDisruptionBudget",
    group="policy",
    reader=lambda _: read_budget,
    keys=lambda state: state.budgets.keys(),
    upsert=ClusterState.upsert_budget,
    remove=ClusterState.remove_budget,
    find=lambda state, key: state.budgets.get(key),
    # They say who may be added to the victims of preemption, and which only replica may be moved.
    needed=lambda config: config.mode is Mode.REPLACE or wants(config, Want.HOLDS),
)
RESOURCES: Final[tuple[WatchedResource[Any], ...]] = (NAMESPACES, NODES, PODS, BUDGETS)
VITAL: Final = (NAMESPACES.name, NODES.name, PODS.name)
"""Without these no rule can be judged."""


def mirrored_for(feature: Feature) -> tuple[WatchedResource[Any], ...]:
    """Return the resources that are mirrored for a feature alone."""
    found: tuple[WatchedResource[Any], ...] = (
        feature.module(feature.mirrors).RESOURCES if feature.mirrors else ()
    )
    return found


def of_features() -> tuple[WatchedResource[Any], ...]:
    """Return the resources that are mirrored for features, on or off."""
    return tuple(row for each in features() for row in mirrored_for(each))


def needed(config: Config) -> tuple[WatchedResource[Any], ...]:
    core = (each for each in RESOURCES if each.needed(config))
    return (*core, *(row for each in enabled(config) for row in mirrored_for(each)))


def book(config: Config, state: ClusterState, some: Iterable[Feature] | None = None) -> None:
    """Have what features mirror booked with a new state; of those that are on, unless given."""
    for each in enabled(config) if some is None else some:
        if each.mirrors:
            each.module(each.mirrors).book(state, config)


def object_counts(
    state: ClusterState, resources: Iterable[WatchedResource[Any]] = RESOURCES
) -> Mapping[str, int]:
    return {each.name: len(each.keys(state)) for each in resources}
