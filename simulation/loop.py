"""An event loop without sockets, whose time passes while nothing is to be done, and hardly else."""

from __future__ import annotations

import asyncio
import contextvars
from asyncio import get_running_loop
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

OWNER: contextvars.ContextVar[str] = contextvars.ContextVar("OWNER", default="world")
"""Whose code is running: a process that is killed takes its tasks with it, and no others."""


TURN_SECONDS: Final = 1e-6
"""What one turn of the loop takes: whoever waits for time to pass, however little, gets on."""
RESOLUTION: Final = 1e-9
"""A timer that rings may be so much too early."""
STRETCH: Final = 20.0
LONGEST_STRETCHED: Final = 20.0
"""While all is quiet, an extender waits so many times as long, up to so many seconds."""
FEW_TASKS: Final = 1_000
"""Kept before any is looked at whether it has ended."""


class StuckError(Exception):
    """All tasks wait for each other."""


def _nothing() -> None:
    """Stand where a call was that is not to come."""


class _Timer(asyncio.TimerHandle):
    """A call to come. Half of a simulation is these, so nothing is done that nobody asks for."""

    __slots__ = ("args", "callback", "context", "is_cancelled")

    def __init__(
        self,
        callback: Callable[..., object],
        args: Sequence[Any],
        context: contextvars.Context | None,
    ) -> None:
        # Asyncio's own also ask for the loop's debug mode, several times.
        self.is_cancelled = False
        self.callback = callback
        self.args = args
        self.context = contextvars.copy_context() if context is None else context

    def cancel(self) -> None:
        self.is_cancelled = True
        self.callback, self.args = _nothing, ()

    def cancelled(self) -> bool:
        return self.is_cancelled

    @property
    def owner(self) -> str:
        return self.context.get(OWNER, "")


class _Task(asyncio.Task[T]):
    """A task that knows whose it is."""

    owner = ""


class SimulatedLoop(asyncio.SelectorEventLoop):
    """The loop; `time()` starts at 0, and code that runs takes next to none.

    Its inside is much shorter than that of asyncio, with the same order: no file is ever ready, so
    that nothing has to be asked whether it is, and timers are compared without a call of Python.
    """

    _ready: deque[_Timer]
    """What is to run in this turn; asyncio's own."""
    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0
        """How often the loop has gone round: time stands still in most of them."""
        self._now = 0.0
        self._on_turn: Callable[[], None] | None = None
        self._timers: list[tuple[float, int, _Timer]] = []
        self._numbers = count()
        self._tasks: list[_Task[Any]] = []
        """All that have not ended, in the order in which they were made, and some that have."""
        self._most_tasks = FEW_TASKS
        self.quiet = False
        """Whether nothing happens but what extenders do by themselves: that they do less often."""
        self._halted: dict[str, list[_Timer]] = {}
        """Processes that stand still, each with what it has to do when it goes on."""
        self._contexts: dict[str, contextvars.Context] = {}
        """One for each process, never run: each task has a copy."""

    def time(self) -> float:
        return self._now

    def run_in_executor(
        self, executor: Any, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run a function at once: a thread of its own would come back at a time by chance."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as fault:  # noqa: BLE001 - as of a thread, it is the caller's
            future.set_exception(fault)
        return future

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = _Timer(callback, args, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Have something called in the next turn; there is one thread.

        So asyncio ends a generator that nobody has closed.
        """
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Have something called at a time, after all that was asked for the same time before."""
        timer = _Timer(callback, args, context)
        if self.quiet:
            when = self._now + _stretched(when - self._now)
        heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = _Timer(callback, args, context)
        if self.quiet:
            delay = _stretched(delay)
        heappush(self._timers, (self._now + delay, next(self._numbers), timer))
        return timer

    def _run_once(self) -> None:  # noqa: C901 - in one piece, as it is a tenth of a run
        """Let time pass as far as the next timer if nobody has anything to do, and let all run.

        And so on, until somebody stops the loop: asyncio's own goes round with more ado.
        """
        timers, ready = self._timers, self._ready
        take, put = ready.popleft, ready.append
        while not self._stopping:
            self.turns += 1
            if self._on_turn is not None:
                self._on_turn()
            while timers and timers[0][2].is_cancelled:
                heappop(timers)
            now = self._now + TURN_SECONDS
            if not ready:
                if not timers:
                    raise StuckError("everybody waits for somebody else")
                now = max(now, timers[0][0])
            self._now = now
            until = now + RESOLUTION
            while timers and timers[0][0] <= until:
                put(heappop(timers)[2])
            if self._halted:
                self._hold()
            for _ in range(len(ready)):
                handle = take()
                if handle.is_cancelled:
                    continue
                try:
                    handle.context.run(handle.callback, *handle.args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as failure:  # noqa: BLE001 - as asyncio does
                    self._tell(handle, failure)

    def _tell(self, handle: _Timer, failure: BaseException) -> None:
        about = {"message": f"exception in {handle.callback}", "exception": failure}
        self.call_exception_handler(about)

    def at_turn(self, turn: int, act: Callable[[], None]) -> None:
        """Do something between two steps of the program, wherever in its awaits that finds it."""

        def look() -> None:
            if self.turns >= turn:
                self._on_turn = None
                self.call_soon(act, context=contextvars.Context())

        self._on_turn = look

    def halt(self, owner: str) -> None:
        """Let a process stand still, as SIGSTOP does: it hears and does nothing."""
        self._halted.setdefault(owner, [])

    def go_on(self, owner: str) -> None:
        """Let a process go on where it stood still; its clocks have gone on meanwhile."""
        self._ready.extend(self._halted.pop(owner, ()))

    def _hold(self) -> None:
        ready = [*self._ready]
        self._ready.clear()
        for handle in ready:
            self._halted.get(handle.owner, self._ready).append(handle)

    def kill(self, owner: str) -> None:
        """End all tasks of one process. What they still do reaches no other: see `Session.dead`."""
        self.go_on(owner)
        for task in [each for each in self._tasks if each.owner == owner]:
            task.cancel()

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        """Start a task of whoever's context it runs in."""
        # Asyncio's own asks whether it is closed, and numbers the names.
        task = _Task(coro, loop=self, name=str(name or ""), context=context)
        task.owner = OWNER.get() if context is None else context.get(OWNER, OWNER.get())
        self._tasks.append(task)
        if len(self._tasks) > self._most_tasks:
            # Now and then, which takes less than a call at the end of each.
            self._tasks = [each for each in self._tasks if not each.done()]
            self._most_tasks = FEW_TASKS + 2 * len(self._tasks)
        return task

    def context_of(self, owner: str) -> contextvars.Context:
        context = self._contexts.get(owner)
        if context is None:
            context = self._contexts[owner] = contextvars.Context()
            context.run(OWNER.set, owner)
        return context.copy()


def _stretched(delay: float) -> float:
    """Return how long an extender waits while all is quiet; nobody else waits otherwise."""
    if delay < LONGEST_STRETCHED and "extender-" in OWNER.get():
        return min(delay * STRETCH, LONGEST_STRETCHED)
    return delay


def spawn(coro: Coroutine[Any, Any, T], owner: str) -> asyncio.Task[T]:
    loop = the_loop()
    return loop.create_task(coro, context=loop.context_of(owner))


def the_loop() -> SimulatedLoop:
    loop = get_running_loop()
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
    return get_running_loop().time()
