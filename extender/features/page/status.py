"""What pages show parts of: the program, and what it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.cluster.state import ClusterState
from extender.core.controllers.history import History
from extender.core.parts import Context, Program
from extender.core.ports import Check
from extender.core.resources import needed, object_counts
from extender.core.web.turns import Turns, check_known
from extender.features.page.recent import RecentCalls

MODES: Final = {
    "assist": "scores come from here, the scheduler keeps the hard rules",
    "replace": "scores and hard rules come from here",
    "shadow": "answers change nothing, differences are counted and logged",
}


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """One kind of objects that answers depend on."""

    name: str

    synced: bool
    """Whether all of them have been listed."""

    objects: int

    last_event: float | None = None
    """When the API server was last heard of about them, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Status:
    mode: str

    source: str
    """Where objects come from: the API server's address, or names of files."""

    callbacks: str
    """URL for the scheduler's configuration."""

    started: float
    """In seconds since the epoch."""

    resources: tuple[ResourceStatus, ...]

    calls: Mapping[str, float | None] = field(default_factory=dict)
    """When the scheduler last called each verb, in seconds since the epoch; None before it did."""

    stale_after: float | None = None
    """Seconds of silence after which a watch is stale; None where nothing is watched."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What pages show parts of."""

    state: ClusterState
    recent: RecentCalls
    turns: Turns
    history: History
    unready: Check
    status: Callable[[], Status]
    refused: RefusedPods | None = None
    """None where filter refuses nothing."""

    @property
    def known(self) -> ClusterState:
        """Return the state; QueryError while parts of the cluster are not known yet."""
        check_known(self.unready)
        return self.state


def status_of(context: Context, program: Program, started: float) -> Status:
    """Return what the program says of itself; `started` is in seconds since the epoch."""
    config, source = context.config, context.source
    picture, counts = source.picture, object_counts(context.state, needed(config))
    synced, heard = picture.synced, picture.last_heard
    return Status(
        mode=config.mode.value,
        source=source.description,
        callbacks=program.callbacks_url,
        calls=program.calls.at,
        started=started,
        stale_after=config.client_connection.stale_after_seconds if picture.silent_for else None,
        resources=tuple(
            ResourceStatus(name, synced[name], counts[name], heard[name]) for name in synced
        ),
    )
