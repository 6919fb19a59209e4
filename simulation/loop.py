"""An event loop without sockets, whose time passes while nothing is to be done, and hardly else."""

from __future__ import annotations

import asyncio
import contextvars
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

OWNER: contextvars.ContextVar[str] = contextvars.ContextVar("OWNER", default="world")
"""Whose code is running: a process that is killed takes its tasks with it, and no others."""


TURN_SECONDS = 1e-6
"""What one turn of the loop takes: whoever waits for time to pass, however little, gets on."""


class StuckError(Exception):
    """Everybody waits for somebody else."""


class _NoSelector(selectors.SelectSelector):
    """Moves the clock to the next timer instead of waiting for it; no file is ever ready."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.turns = 0
        self.on_turn: Callable[[], None] | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let time pass, as far as the next timer."""
        self.turns += 1
        if self.on_turn is not None:
            self.on_turn()
        if timeout is None:
            raise StuckError("everybody waits for somebody else")
        self.now += max(timeout, TURN_SECONDS)
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    """The loop; `time()` starts at 0, and code that runs takes next to none."""

    def __init__(self) -> None:
        self._nothing = _NoSelector()
        super().__init__(self._nothing)
        self._owned: dict[asyncio.Task[Any], str] = {}
        self.set_task_factory(self._make_task)  # type: ignore[arg-type]

    def time(self) -> float:
        """Return the simulated seconds since the start."""
        return self._nothing.now

    @property
    def turns(self) -> int:
        """Return how often the loop has gone round: time stands still in most of them."""
        return self._nothing.turns

    def at_turn(self, turn: int, act: Callable[[], None]) -> None:
        """Do something between two steps of the program, wherever in its awaits that finds it."""

        def look() -> None:
            if self._nothing.turns >= turn:
                self._nothing.on_turn = None
                self.call_soon(act, context=contextvars.Context())

        self._nothing.on_turn = look

    def kill(self, owner: str) -> None:
        """End all tasks of one process. What they still do reaches nobody: see `Session.dead`."""
        for task in [each for each, whose in self._owned.items() if whose == owner]:
            task.cancel()

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, T], **options: Any
    ) -> asyncio.Task[T]:
        task: asyncio.Task[T] = asyncio.Task(coro, loop=loop, **options)
        context = options.get("context")
        owner = OWNER.get() if context is None else context.get(OWNER, OWNER.get())
        self._owned[task] = owner
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._owned.pop(task, None)


def spawn(coro: Coroutine[Any, Any, T], owner: str) -> asyncio.Task[T]:
    """Start a task that belongs to a process."""
    context = contextvars.copy_context()
    context.run(OWNER.set, owner)
    return asyncio.get_running_loop().create_task(coro, context=context)


def the_loop() -> SimulatedLoop:
    """Return the loop that everybody is in."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SimulatedLoop):
        raise TypeError("this runs in simulated time only")
    return loop


def resolve(future: asyncio.Future[T], result: T) -> None:
    """Give somebody who waits what he waits for, if he still does."""
    if not future.done():
        future.set_result(result)


def reject(future: asyncio.Future[Any], failure: BaseException) -> None:
    """Give somebody who waits a failure instead."""
    if not future.done():
        future.set_exception(failure)


def simulate(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in simulated time."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main)


def now() -> float:
    """Return the simulated seconds since the start."""
    return asyncio.get_running_loop().time()
