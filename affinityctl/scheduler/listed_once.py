"""Resources of which commands read what is there once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from extender.core.cluster.state import ClusterState
from extender.core.resources import WatchedResource
from extender.core.wire.decoding import Json

T = TypeVar("T")


def listed_once(
    name: str,
    kind: str,
    read: Callable[[Json], T],
    put: Callable[[ClusterState, T], None],
    *,
    group: str = "",
    without: str = "",
) -> WatchedResource[T]:
    """Return a resource that is never watched, so that nothing of it goes."""
    return WatchedResource(
        name,
        kind,
        reader=lambda _: read,
        keys=lambda _: frozenset(),
        upsert=put,
        remove=lambda *_: None,
        group=group,
        without=without,
    )
