"""The operations port over a state that a test has put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from extender.core.callbacks.refused_pods import RefusedPods
from extender.core.cluster.state import ClusterState
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.parts import Part, Program
from extender.core.ports import Check
from extender.core.web.app import LastCalls
from extender.core.web.ops import ops_app
from extender.core.web.turns import Turns
from tests.beside import COVERS_ALL
from tests.builders import empty_state
from tests.features.every import framing


@dataclass(frozen=True, slots=True)
class Seen:
    """What pages show parts of."""

    state: ClusterState
    metrics: Metrics = field(default_factory=Metrics)
    turns: Turns = field(default_factory=Turns)
    history: History = field(default_factory=History)
    unready: Check = lambda: None
    status: Callable[[], Mapping[str, Any]] = dict
    """What is unusual in what the program says of itself."""
    refused: RefusedPods | None = None


def shown(
    state: ClusterState | None = None, metrics: Metrics | None = None, **changed: Any
) -> Seen:
    """Return what pages show parts of."""
    state = state or empty_state(scope=COVERS_ALL)
    seen = Seen(state, metrics or Metrics(), refused=RefusedPods(state))
    return replace(seen, **changed)


def app_of(
    seen: Seen,
    readiness: Mapping[str, Check] | None = None,
    configuration: Mapping[str, Any] | None = None,
    metrics: Metrics | None = None,
    parts: Sequence[Part] = (),
) -> web.Application:
    """Serve the operations port, with what features add, and with their pages if there are any."""
    parts, readiness = [*framing(seen), *parts], readiness or {}
    sections = [section for each in parts for section in each.sections]
    program = Program(readiness, sections, LastCalls(()), "")
    for each in parts:
        each.built(program)
    return ops_app(
        configuration=configuration or {},
        readiness=readiness,
        metrics=metrics or Metrics(),
        routes=[route for each in parts for route in each.routes],
    )
