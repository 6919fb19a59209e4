"""What the overview shows of the program itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

STALE_SECONDS: Final = 60.0
"""A watch that was silent for longer is pointed out; bookmarks come every minute or so."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of objects that answers depend on."""

    name: str

    synced: bool
    """Whether all of them have been listed."""

    objects: int

    last_event: float | None = None
    """When the API server was last heard of about them, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Status:
    """The program, at one moment."""

    mode: str

    source: str
    """Where objects come from: the API server's address, or names of files."""

    callbacks: str
    """URL for the scheduler's configuration."""

    started: float
    """In seconds since the epoch."""

    resources: tuple[Resource, ...]

    calls: Mapping[str, float | None] = field(default_factory=dict)
    """When the scheduler last called each verb, in seconds since the epoch; None before it did."""

    stale_after: float | None = None
    """Seconds of silence after which a watch is stale; None where nothing is watched."""


MODES: Final = {
    "assist": "scores come from here, the scheduler keeps the hard rules",
    "replace": "scores and hard rules come from here",
    "shadow": "answers change nothing, differences are counted and logged",
}
