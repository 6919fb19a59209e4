"""How long the fuzz drivers run, from which seed, and how they say where they are.

FUZZ_SECONDS (for each driver; 2 unless it is set), FUZZ_INPUTS (after which a driver ends earlier)
and FUZZ_SEED come from the environment: a fault is found again with the seed that was printed with
it.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS = float(os.environ.get("FUZZ_SECONDS", "2"))
INPUTS = float(os.environ.get("FUZZ_INPUTS", "inf"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
REPORT_SECONDS = 10.0
LONG_INPUTS = 100_000
"""From so many on, memory has to be level."""
MOST_GROWN = 48
"""MiB that the process may grow by between a tenth of a long campaign and its end."""
MOST_CPU_SECONDS = 5.0
"""For one input, on however busy a machine."""


class Campaign:
    """Rounds with dice of their own each, until the time is over."""

    def __init__(self, name: str, *, fewest: int = 50) -> None:
        """`fewest` rounds are played on however slow a machine."""
        self.inputs = 0
        self._name = name
        self._fewest = fewest
        self._round = 0
        self._slowest = 0.0

    def __iter__(self) -> Iterator[random.Random]:
        """Yield the dice of each round."""
        start = said = time.monotonic()
        first, tenth, part = _resident(), 0, 0.0
        while self._round < self._fewest or part < 1.0:
            yield random.Random(self.seed)
            self._round += 1
            now = time.monotonic()
            part = max((now - start) / SECONDS, self.inputs / INPUTS)
            if not tenth and part >= 0.1:
                tenth = _resident()
            if now - said >= REPORT_SECONDS:
                said = now
                self.say(f"{self.inputs} inputs in {said - start:.0f} s of {SECONDS:.0f}")
        last = _resident()
        self.say(
            f"{self.inputs} inputs, nothing found; {self.inputs / (time.monotonic() - start):.0f} "
            f"a second, the slowest {self._slowest:.2f} s; {first}, {tenth}, {last} MiB"
        )
        assert self.inputs < LONG_INPUTS or last - tenth <= MOST_GROWN, "memory grows"

    @property
    def seed(self) -> str:
        """What the dice of this round are made from."""
        return f"{self._name} {SEED} {self._round}"

    @contextmanager
    def telling(self, what: object, inputs: int = 1) -> Iterator[None]:
        """Count an input, and add to a fault in what comes with which and in which round it was."""
        self.inputs += inputs
        began = time.process_time()
        try:
            yield
            took = time.process_time() - began
            self._slowest = max(self._slowest, took)
            assert took < MOST_CPU_SECONDS, f"{took:.1f} s for one input"
        except BaseException as error:
            error.add_note(f"fuzz round {self.seed!r} (FUZZ_SEED={SEED}), with: {what!r:.4000}")
            raise

    def say(self, text: str) -> None:
        """Write a line of progress."""
        sys.stderr.write(f"fuzz {self._name}, seed {SEED}: {text}\n")


def _resident() -> int:
    """Return the MiB of memory that the process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() >> 20
