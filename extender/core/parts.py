"""What a feature adds to the program while it is on: the `PART` of its `part.py`."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import random
from time import monotonic, time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.state import ClusterState
from extender.core.config import Config
from extender.core.config.features import Feature, enabled
from extender.core.controllers.context import Clocks, ControllerContext
from extender.core.controllers.history import History
from extender.core.enabled import filter_plugins
from extender.core.metrics import Metrics
from extender.core.metrics.series import Collectors
from extender.core.ports import Check, Hook
from extender.core.source import Source
from extender.core.warm_up import WarmUp
from extender.core.web.app import Callback, LastCalls
from extender.core.web.offered import Findings, Route, Section
from extender.core.web.turns import Turns

if TYPE_CHECKING:
    from extender.core.callbacks.in_flight import InFlightPods
    from extender.core.callbacks.refused_pods import RefusedPods
    from extender.core.callbacks.requests import Requests

__all__ = ["Context", "Hook", "Part", "Program", "Task", "build_parts", "part_of"]

Task: TypeAlias = tuple[str, Coroutine[Any, Any, NoReturn]]
"""A name for logs, and what runs as long as the program."""


@dataclass(frozen=True, slots=True)
class Context:
    """What all parts of a program share."""

    config: Config
    source: Source
    state: ClusterState
    metrics: Metrics
    unsynced: Check
    warm_up: WarmUp
    history: History
    clocks: Clocks = field(default_factory=lambda: Clocks(monotonic, time, random))
    turns: Turns = field(default_factory=Turns)
    """Of all answers that take long to put together."""
    findings: list[Findings] = field(default_factory=list)
    """What features know of pods that should be elsewhere, for those who show broken rules."""
    refused: RefusedPods | None = None
    """None where filter refuses nothing."""

    @property
    def of_controllers(self) -> ControllerContext:
        """The part that controllers get."""
        return ControllerContext(
            self.state,
            filter_plugins(self.config),
            self.metrics,
            self.warm_up,
            self.history,
            self.clocks,
        )


@dataclass(frozen=True, slots=True)
class Program:
    """What there is of a program before its operations port opens."""

    readiness: Mapping[str, Check]
    sections: Sequence[Section]
    """Those of all parts."""
    calls: LastCalls
    callbacks_url: str


class Part:
    """A feature that is on. There is one for each program, made before the first callback."""

    ledgers: Sequence[Ledger] = ()
    """Book the pods that have a place by then, and hear of all changes after that."""
    hooks: Sequence[Hook] = ()
    in_flight: InFlightPods | None = None
    """The pods that filter answered and whose end it decides: filter waits for them, and adds to
    them. Of one part at most; else it waits for the watch to show them."""
    routes: Sequence[Route] = ()
    """What the operations port answers; a handler imports what it needs at the first request."""
    sections: Sequence[Section] = ()
    """Pages for people."""
    checks: Mapping[str, Check] = MappingProxyType({})
    """What readiness waits for, or what it remarks, by name."""

    def __init__(self, context: Context) -> None:
        """Build it from what all parts share."""

    def callbacks(self, requests: Requests) -> Mapping[str, Callback]:
        """Return what it answers the scheduler, by verb, beside filter, prioritize and preempt."""
        del requests
        return {}

    def built(self, program: Program) -> None:
        """Hear of all parts and callbacks; what `routes` are after that is answered."""

    @staticmethod
    def metrics(make: Collectors) -> object:
        """Make the feature's metrics; the reference lists what is made here."""
        del make
        return None

    async def close(self) -> None:
        """Leave nothing behind, once the tasks are ended and no callback comes any more."""

    def tasks(self) -> Iterable[Task]:
        """Return what runs as long as the program."""
        return ()


def part_of(feature: Feature) -> type[Part]:
    """Import what a feature adds to the program."""
    part: type[Part] = feature.module("part").PART
    return part


def build_parts(context: Context) -> list[Part]:
    """Build the parts of the features that are on, and have their ledgers book from now on."""
    parts = [part_of(each)(context) for each in enabled(context.config)]
    for part in parts:
        for ledger in part.ledgers:
            context.state.book_with(ledger)
    return parts
