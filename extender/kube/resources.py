"""Builds the reflectors that keep the cluster state equal to the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

from extender.cluster.state import ClusterState
from extender.kube.apart import PreparedPods
from extender.kube.client import ApiClient
from extender.kube.frames import Resource
from extender.kube.observers import ReflectorObserver
from extender.kube.pacing import Timing
from extender.kube.reflector import Reflector
from extender.mirrored import PODS, Mirrored
from extender.model.keys import Identity
from extender.reading import ApartReader
from extender.wire.objects import PodReader

T = TypeVar("T")


class StateSink(Generic[T]):
    """One resource's objects in the cluster state."""

    def __init__(self, state: ClusterState, mirrored: Mirrored[T]) -> None:
        self._state = state
        self._mirrored = mirrored

    def keys(self) -> AbstractSet[str]:
        """Return the keys of all objects."""
        return self._mirrored.keys(self._state)

    def uid(self, key: str) -> str:
        """Return the uid of an object, "" when it has just gone or has none that matters."""
        return self._mirrored.uid(self._state, key)

    def upsert(self, obj: T) -> None:
        """Add or change an object, or take its successor of the same name."""
        self._mirrored.upsert(self._state, obj)

    def delete(self, key: str, uid: str) -> None:
        """Forget an object."""
        self._mirrored.remove(self._state, key, uid)


def build_reflectors(
    client: ApiClient,
    state: ClusterState,
    mirrored: Iterable[Mirrored[Any]],
    pods: PodReader,
    *,
    observer: ReflectorObserver | None = None,
    timing: Timing | None = None,
) -> list[Reflector[Any]]:
    """Build what keeps `state` equal to the cluster; `Watchers` runs them."""
    made: list[Reflector[Any]] = []
    for each in mirrored:
        sink = StateSink(state, each)
        if each is PODS:
            resource, promised = _pods(state, pods), lambda: _unseen(state)
            made.append(
                Reflector(
                    client, resource, sink, observer=observer, timing=timing, promised=promised
                )
            )
        else:
            resource = Resource(each.name, each.path, each.reader(pods), each.query)
            made.append(Reflector(client, resource, sink, observer=observer, timing=timing))
    return made


def _pods(state: ClusterState, pods: PodReader) -> Resource[Any]:
    """Return how pods are mirrored, each of which may be large and dear to store."""
    prepared = PreparedPods(ApartReader(pods))
    return Resource(
        PODS.name,
        PODS.path,
        prepared.read,
        PODS.query,
        prepare=prepared.prepare,
        ease=state.taking_up,
    )


def _unseen(state: ClusterState) -> Mapping[Identity, str]:
    """Return the pods that hold reservations and that no watch has shown, with their versions."""
    reserved = state.reservations.pods().items()
    return {each: at for each, at in reserved if PODS.uid(state, each.key) != each.uid}
