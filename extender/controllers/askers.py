"""Which schedulers ask for verdicts or scores: a pod of any other is placed without either.

A scheduler may ask one replica of several, and the leader is another. So replicas tell each other,
by an annotation of the Lease, in which hour a scheduler has asked last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from time import time
from typing import Final

import msgspec

from extender.controllers.history import HOUR
from extender.errors import ObjectError
from extender.wire.decoding import decode

LATELY_HOURS: Final = 24
"""A scheduler asks about each new pod, and in a quiet cluster there is none for hours."""
MOST: Final = 64
"""Schedulers that are remembered: profiles, not pods, have such names."""

_HOURS: Final[msgspec.json.Decoder[Mapping[str, int]]] = msgspec.json.Decoder(dict[str, int])


class Askers:
    """The hour, since 1970, in which each scheduler has asked last.

    Of two values of a scheduler the later counts, so that replicas with different clocks agree on
    what is written.
    """

    def __init__(self, epoch: Callable[[], float] = time) -> None:
        self._epoch = epoch
        self._hours: dict[str, int] = {}
        self._read = ""

    @property
    def _now(self) -> int:
        return int(self._epoch() // HOUR)

    def note(self, scheduler: str) -> None:
        """Note that a scheduler asks; O(1)."""
        if self._hours.get(scheduler, 0) < self._now:
            self._merge({scheduler: self._now})

    def asks(self, scheduler: str) -> bool:
        """Return whether a scheduler has asked within the last day; a clock may be wrong by one."""
        return abs(self._hours.get(scheduler, 0) - self._now) <= LATELY_HOURS

    def learn(self, text: str) -> None:
        """Take over what replicas have written; what none of them has is left alone."""
        if text != self._read:
            self._read = text
            with suppress(ObjectError):
                self._merge(decode(_HOURS, text.encode()) if text else {})

    def _merge(self, found: Mapping[str, int]) -> None:
        latest = {name: max(hour, found.get(name, 0)) for name, hour in self._hours.items()}
        known = sorted(({**found, **latest}).items(), key=lambda each: (-each[1], each[0]))
        self._hours = dict(known[:MOST])

    def written(self) -> str:
        """Return what is to be written, the same for the same; "" for nothing."""
        hours = dict(sorted(self._hours.items()))
        return msgspec.json.encode(hours).decode() if hours else ""
