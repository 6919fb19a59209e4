"""Shows on standard error how far a command is."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Generator
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from extender.core.command_line import complain
from extender.core.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

T = TypeVar("T")
REDRAWN_SECONDS: Final = 0.3
"""What is sooner done shows no bar, and does not wait for one to be imported."""
SAID_SECONDS: Final = 5.0
"""Between two lines, where standard error is no terminal; what is shorter says nothing."""


class Progress:
    """A bar on a terminal; elsewhere a line every few seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic, things: str = "pods") -> None:
        self._clock = clock
        self._things = things
        self._pause = REDRAWN_SECONDS if sys.stderr.isatty() else SAID_SECONDS
        self._last = 0.0
        self._bar: Bar | None = None

    def through(self, what: str, total: int, looks: Generator[None, None, T]) -> T:
        """Go through all looks and return their result; `total` 0 for an unknown number."""
        self.begin()
        done = 0
        while True:
            try:
                next(looks)
            except StopIteration as end:
                self.wipe()
                result: T = end.value
                return result
            done += 1
            self.show(what, done, total)

    def begin(self) -> None:
        self._last = self._clock()

    def show(self, what: str, done: int, total: int = 0) -> None:
        """Say how many are done, if it is time to."""
        now = self._clock()
        if now - self._last < self._pause:
            return
        self._last = now
        count = f"{done:,} of {total:,} {self._things}" if total else f"{done:,} {self._things}"
        if not sys.stderr.isatty():
            complain(f"{what}: {count}")
            return
        if self._bar is None:
            self._bar = _bar()
        (task,) = self._bar.task_ids
        said = printable(f"{what}: {count}")
        self._bar.update(task, completed=done, total=total or None, description=said)
        self._bar.refresh()

    def wipe(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Bar:
    from rich.console import Console  # noqa: PLC0415 - 50 ms
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = BarColumn(), TextColumn("{task.description}", markup=False), TimeRemainingColumn()
    made = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    made.add_task("", total=None)
    atexit.register(made.stop)  # it hides the cursor
    made.start()
    return made
