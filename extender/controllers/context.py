"""What all controllers share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from extender.cluster.state import ClusterState
from extender.controllers.history import History
from extender.metrics import Metrics
from extender.verbs.plugins import Plugins
from extender.warm_up import WarmUp


@dataclass(frozen=True, slots=True)
class Clocks:
    clock: Callable[[], float]
    """Seconds that only ever grow."""
    epoch: Callable[[], float]
    """Seconds since 1970."""
    chance: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, slots=True)
class ControllerContext:
    state: ClusterState
    plugins: Plugins
    metrics: Metrics
    warm_up: WarmUp
    history: History
    clocks: Clocks
