"""Python's collector of cyclic garbage, kept from walking the whole cluster while calls wait.

A full collection walks every object that is alive, and nobody is answered meanwhile: 0.03 s for the
program alone, 0.3 s with 500,000 pods of 35,000 kinds. One pod with thousands of terms is enough to
make it due, again and again. So full collections do not begin by themselves here. Often, between
two turns of the event loop, those objects are walked that are new, and what is alive of them is
frozen: never walked again, and freed as ever when nobody refers to it any more.

Frozen objects that refer to each other in a circle are left to full walks. But the cluster's state
makes no circles, nor do answers and the failures of every day (`tests/circles.py`). What does are
other failures, of which the walks over what is new see nearly all, for few are under way when
something is frozen. So no full walk is due before those have found a lot, or a day is over.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Final, NoReturn


@dataclass(frozen=True, slots=True)
class Walks:
    pause: float = 0.05
    """Seconds between two looks. What is made in that time takes some 15 ms to walk."""
    middle: int = 2
    """The second of Python's thresholds. With the usual 10, a walk over survivors that refer to
    many others takes up to 9 ms."""
    due: int = 10
    """Such walks until all that is new is walked: some 20,000 survivors."""
    soon: int = 100
    """New objects of long work that are frozen; from 700 on they would be walked."""
    look: float = 10.0
    """Seconds between two looks at how much memory is in use, at most, whatever is due."""
    spare: int = 400_000
    """Blocks of memory, beyond twice as many as the last full walk left, until the next one: some
    200,000 objects."""
    full: float = 3600.0
    """Seconds after which it need not be more: garbage may be little and yet hold much memory."""
    circles: int = 20_000
    """Objects in circles that have to be found before that, as some 700 failed requests leave."""
    seldom: float = 86_400.0
    """Seconds after which one is due whatever was found: an unforeseen circle may hide."""


WALKS: Final = Walks()


@contextmanager
def resting() -> Iterator[None]:
    """Build the first state without the collector, then keep that state out of its way.

    Nothing of it is garbage, yet every full collection would walk all of it.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


async def keep_collecting() -> NoReturn:
    """Collect what is new, often, for as long as the program runs. Changes the whole process."""
    usual = gc.get_threshold()
    # Full collections never begin by themselves.
    gc.set_threshold(usual[0], WALKS.middle, 1 << 30)
    collector = Collector(monotonic)
    try:
        while True:
            await asyncio.sleep(WALKS.pause)
            collector.step()
    finally:
        gc.set_threshold(*usual)


def pass_over_new() -> None:
    """Keep the collector from what was made until now, if it would soon walk that; O(1).

    For work that makes tens of thousands of objects, all of which go with their last reference:
    else each is walked up to three times, and calls wait milliseconds for that. Circles that others
    drop meanwhile are left to a full walk.
    """
    if gc.get_count()[0] >= WALKS.soon:
        gc.freeze()


class Collector:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        now = clock()
        self._walked_at = now
        self._look_at = now + WALKS.look
        self._most = 0
        """Blocks of memory in use until a full walk is due; 0 before the first look."""
        self._found = _found()
        """Objects in circles by the last full walk."""

    def step(self) -> None:
        """Walk what is new, if there is much of it; O(new objects), seldom O(all objects)."""
        if not gc.isenabled():
            return
        now = self._clock()
        if gc.get_count()[2] >= WALKS.due:
            gc.collect()
            gc.freeze()
        elif not self._most or now < self._look_at:
            return
        self._look_at = now + WALKS.look
        # Counting what is frozen would take a fifth of a walk.
        blocks = sys.getallocatedblocks()
        self._most = self._most or _most(blocks)
        passed = now - self._walked_at
        is_due = blocks > self._most or passed >= WALKS.full
        has_circles = _found() - self._found >= WALKS.circles
        if (is_due and has_circles) or passed >= WALKS.seldom:
            self.walk_all()

    def walk_all(self) -> None:
        """Walk every object that is alive, frozen or not."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._most = _most(sys.getallocatedblocks())
        self._walked_at = self._clock()
        self._found = _found()


def _found() -> int:
    return sum(each["collected"] for each in gc.get_stats())


def _most(kept: int) -> int:
    return 2 * kept + WALKS.spare
