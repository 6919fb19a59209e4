"""Builds the reflectors that keep the cluster state like the cluster, and keeps them running."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Generic, NoReturn, Self, TypeVar

from extender.core.cluster.state import ClusterState
from extender.core.kube.client import ApiClient
from extender.core.kube.frames import Resource
from extender.core.kube.pacing import USUAL_MIRROR, MirrorSettings
from extender.core.kube.reflector import Reflector
from extender.core.model.keys import Identity
from extender.core.reading import ApartReader
from extender.core.resources import PODS, VITAL, WatchedResource
from extender.core.wire.objects import PodReader

T = TypeVar("T")


class StateSink(Generic[T]):
    """One resource's objects in the cluster state."""

    def __init__(self, state: ClusterState, watched: WatchedResource[T]) -> None:
        self._state = state
        self._resource = watched

    def keys(self) -> AbstractSet[str]:
        return self._resource.keys(self._state)

    def uid(self, key: str) -> str:
        """Return the uid of an object, "" when it has just gone or has none that matters."""
        return self._resource.uid(self._state, key)

    def put(self, obj: T) -> None:
        self._resource.unlearn(self._state, obj)
        self.upsert(obj)

    def upsert(self, obj: T) -> None:
        self._resource.upsert(self._state, obj)

    def delete(self, key: str, uid: str) -> None:
        self._resource.remove(self._state, key, uid)


def build_reflectors(
    client: ApiClient,
    state: ClusterState,
    watched: Iterable[WatchedResource[Any]],
    pods: PodReader,
    settings: MirrorSettings = USUAL_MIRROR,
) -> list[Reflector[Any]]:
    """Build what keeps `state` equal to the cluster; `Watchers` runs them."""
    return [
        Reflector(
            client,
            _resource(each, pods),
            StateSink(state, each),
            settings,
            (lambda: _unseen(state)) if each is PODS else dict,
        )
        for each in watched
    ]


def _resource(watched: WatchedResource[T], pods: PodReader) -> Resource[T]:
    """Return how a resource is mirrored whose objects may be large."""
    apart = ApartReader(watched.reader(pods), watched.reader(pods.another()))
    return Resource(watched.name, watched.path, apart.here, watched.query, apart, watched.key)


def _unseen(state: ClusterState) -> Mapping[Identity, str]:
    """Return the pods that hold reservations and that no watch has shown, with their versions."""
    reserved = state.reservations.pods().items()
    return {each: at for each, at in reserved if PODS.uid(state, each.key) != each.uid}


class Watchers:
    """Entering starts one supervised task for each reflector, leaving ends them."""

    def __init__(self, reflectors: Sequence[Reflector[Any]]) -> None:
        self._reflectors = tuple(reflectors)
        self._vital = [each for each in self._reflectors if each.name in VITAL]
        self._tasks: list[asyncio.Task[NoReturn]] = []

    @property
    def synced(self) -> Mapping[str, bool]:
        return {each.name: each.synced.is_set() for each in self._reflectors}

    @property
    def last_heard(self) -> Mapping[str, float | None]:
        return {each.name: each.mirror.last_heard for each in self._reflectors}

    @property
    def silent_for(self) -> Mapping[str, float | None]:
        return {each.name: each.mirror.silent_for for each in self._reflectors}

    @property
    def unreadable(self) -> Mapping[str, Mapping[str, str]]:
        return {each.name: each.mirror.unreadable for each in self._reflectors}

    @property
    def certain(self) -> bool:
        return all(each.certain.is_set() for each in self._vital)

    async def wait_certain(self) -> None:
        for reflector in self._vital:
            await reflector.certain.wait()

    async def wait_synced(self) -> None:
        for reflector in self._reflectors:
            await reflector.synced.wait()

    async def __aenter__(self) -> Self:
        self._tasks = [
            asyncio.create_task(each.keep_running(), name=f"reflector/{each.name}")
            for each in self._reflectors
        ]
        return self

    async def __aexit__(self, *failure: object) -> None:
        """Stop mirroring and wait until every task is gone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
