"""What all measurements share: what they are given, and what they answer."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from extender.errors import ExtenderError

if TYPE_CHECKING:
    from clusterload.monitoring import Monitoring
    from clusterload.objects import Objects
    from clusterload.parameters import Parameters
    from clusterload.reports import Summary
    from extender.kube.client import ApiClient


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a measurement can look at."""

    client: ApiClient
    objects: Objects
    monitoring: Monitoring
    identifier: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call came to. Both can be there: figures, and that they break a limit."""

    summaries: Sequence[Summary] = ()
    error: str = ""
    critical: bool = False
    """Whether the rest of the test makes no sense any more."""


class Measurement(Protocol):
    """Lives from its first call to the end of the test, one for each method and identifier."""

    async def execute(self, parameters: Parameters) -> Outcome:
        """Do what the parameter `action` says."""

    async def dispose(self) -> None:
        """Stop whatever still goes on."""


class Following(ABC):
    """Base of measurements that follow objects between two calls."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._open = contextlib.AsyncExitStack()
        self._running = False

    async def execute(self, parameters: Parameters) -> Outcome:
        """Start, unless it runs already; or gather."""
        match parameters.text("action"):
            case "start":
                if not self._running:
                    await self._start(parameters)
                    self._running = True
                return Outcome()
            case "gather":
                if not self._running:
                    raise ExtenderError("it has not been started")
                return await self._gather(parameters)
            case "stop":
                await self.dispose()
                return Outcome()
            case action:
                raise ExtenderError(f"unknown action {action}")

    async def dispose(self) -> None:
        """Follow no more."""
        self._running = False
        await self._open.aclose()

    @abstractmethod
    async def _start(self, parameters: Parameters) -> None:
        """Begin to follow."""

    @abstractmethod
    async def _gather(self, parameters: Parameters) -> Outcome:
        """Say what was seen since."""
