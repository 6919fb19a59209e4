"""Runs the reflectors side by side and keeps them running."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

from extender.kube.failures import Restart
from extender.kube.observers import ReflectorObserver, Unobserved
from extender.kube.pacing import Backoff, Timing
from extender.kube.reflector import Reflector

_log = logging.getLogger(__name__)


class Watchers:
    """Entering starts one supervised task for each reflector, leaving ends them."""

    def __init__(
        self,
        reflectors: Sequence[Reflector[Any]],
        *,
        observer: ReflectorObserver | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._reflectors = tuple(reflectors)
        self._observer = observer or Unobserved()
        self._timing = timing or Timing()
        self._tasks: list[asyncio.Task[NoReturn]] = []

    @property
    def synced(self) -> Mapping[str, bool]:
        """Return whether each resource has been taken over once, by name."""
        return {each.name: each.synced.is_set() for each in self._reflectors}

    @property
    def last_heard(self) -> Mapping[str, float | None]:
        """Return when the server last said something about each resource."""
        return {each.name: each.mirror.last_heard for each in self._reflectors}

    @property
    def silent_for(self) -> Mapping[str, float | None]:
        """Return for how many seconds nothing was heard about each resource."""
        return {each.name: each.mirror.silent_for for each in self._reflectors}

    @property
    def unreadable(self) -> Mapping[str, Mapping[str, str]]:
        """Return for each resource the keys of objects that cannot be read, and why."""
        return {each.name: each.mirror.unreadable for each in self._reflectors}

    async def wait_synced(self) -> None:
        """Wait until every resource has been taken over once."""
        for reflector in self._reflectors:
            await reflector.synced.wait()

    async def __aenter__(self) -> Self:
        """Start mirroring."""
        self._tasks = [
            asyncio.create_task(self._keep_running(each), name=f"reflector/{each.name}")
            for each in self._reflectors
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop mirroring and wait until every task is gone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _keep_running(self, reflector: Reflector[Any]) -> NoReturn:
        backoff = Backoff(self._timing)
        while True:
            try:
                await reflector.run()
            except Exception:  # noqa: BLE001 - a defect must not blind us
                # It lists everything when it starts, which also mends what the defect left behind.
                _log.exception("%s: the reflector failed, starting it again", reflector.name)
            self._observer.restarted(reflector.name, Restart.CRASHED)
            await backoff.wait()
