"""What all measurements share: their surroundings, and the outcome of a call."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from extender.core.errors import ExtenderError

if TYPE_CHECKING:
    from clusterload.monitoring import Monitoring
    from clusterload.objects import Objects
    from clusterload.parameters import Parameters
    from clusterload.reports import Summary
    from extender.core.kube.client import ApiClient


State = Callable[[], str]
"""Says what is waited for, and how much of it is there."""


def unseen(state: State) -> AbstractContextManager[None]:
    del state
    return contextlib.nullcontext()


@dataclass(frozen=True, slots=True)
class Surroundings:
    client: ApiClient
    objects: Objects
    monitoring: Monitoring
    identifier: str = ""
    waiting: Callable[[State], AbstractContextManager[None]] = unseen
    """Shows what a measurement waits for, as long as it does."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one call; there may be both figures and an error, when they break a limit."""

    summaries: Sequence[Summary] = ()
    error: str = ""
    critical: bool = False
    """Whether the test must end."""


class Measurement(Protocol):
    """A measurement, one for each method and identifier, from its first call to the end."""

    async def execute(self, parameters: Parameters) -> Outcome: ...

    async def dispose(self) -> None: ...


class Following(ABC):
    """A measurement that watches objects from the call `start` to the call `gather`."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._open = contextlib.AsyncExitStack()
        self._running = False

    async def execute(self, parameters: Parameters) -> Outcome:
        """Start, unless it runs already; or gather, or stop."""
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
        self._running = False
        await self._open.aclose()

    @abstractmethod
    async def _start(self, parameters: Parameters) -> None: ...

    @abstractmethod
    async def _gather(self, parameters: Parameters) -> Outcome: ...
