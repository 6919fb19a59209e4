"""What all controllers share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from extender.core.cluster.state import ClusterState
from extender.core.controllers.history import History
from extender.core.metrics import Metrics
from extender.core.verbs.plugins import Plugins
from extender.core.warm_up import WarmUp


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
