"""How long the fuzz drivers run, from which seed, and how they say where they are.

FUZZ_SECONDS (for each driver; 2 unless it is set) and FUZZ_SEED come from the environment: a fault
is found again with the seed that was printed with it.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = float(os.environ.get("FUZZ_SECONDS", "2"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
REPORT_SECONDS = 10.0


class Campaign:
    """Rounds with dice of their own each, until the time is over."""

    def __init__(self, name: str, *, fewest: int = 50) -> None:
        """`fewest` rounds are played on however slow a machine."""
        self._name = name
        self._fewest = fewest
        self._round = 0

    def __iter__(self) -> Iterator[random.Random]:
        """Yield the dice of each round."""
        start = said = time.monotonic()
        while self._round < self._fewest or time.monotonic() - start < SECONDS:
            yield random.Random(self.seed)
            self._round += 1
            if time.monotonic() - said >= REPORT_SECONDS:
                said = time.monotonic()
                self.say(f"{self._round} rounds in {said - start:.0f} s of {SECONDS:.0f}")
        self.say(f"{self._round} rounds, nothing found")

    @property
    def seed(self) -> str:
        """What the dice of this round are made from."""
        return f"{self._name} {SEED} {self._round}"

    @contextmanager
    def telling(self, what: object) -> Iterator[None]:
        """Add to a fault in what comes with which input and in which round it was met."""
        try:
            yield
        except BaseException as error:
            error.add_note(f"fuzz round {self.seed!r} (FUZZ_SEED={SEED}), with: {what!r:.4000}")
            raise

    def say(self, text: str) -> None:
        """Write a line of progress."""
        sys.stderr.write(f"fuzz {self._name}, seed {SEED}: {text}\n")
