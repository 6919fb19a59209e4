"""What optional features count and mirror, held against a recount: a module NAME for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

from extender.core.cluster.state import ClusterState
from extender.core.config.features import features
from simulation.apiserver.store import Store


class Judge(Protocol):
    """Each answers at once where the feature is off."""

    def knows_all(self, state: ClusterState, store: Store) -> bool:
        """Return whether the objects that it mirrors are those that there are."""

    def mismatches(self, state: ClusterState) -> Iterable[str]:
        """Say what differs from a recount of the state's own pods."""

    def differences(
        self, state: ClusterState, placed: Iterable[tuple[Mapping[str, Any], str]]
    ) -> Iterable[str]:
        """Say what differs from the pods that the API server has, each with its node."""


@cache
def judges() -> Sequence[Judge]:
    names = (f"{__name__}.{each.name}" for each in features())
    return tuple(cast("Judge", import_module(name)) for name in names if find_spec(name))
