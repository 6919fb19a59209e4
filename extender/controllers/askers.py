"""Which schedulers ask for verdicts or scores: a pod of any other is placed without either.

A scheduler may ask one replica of several, and the leader is another. So replicas tell each other,
by an annotation of the Lease, in which hour a scheduler has asked last.
"""

from __future__ import annotations

from collections.abc import Callable
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

_HOURS: Final = msgspec.json.Decoder(dict[str, int])


class Askers:
    """The hour, since 1970, in which each scheduler has asked last."""

    def __init__(self, epoch: Callable[[], float] = time) -> None:
        self._epoch = epoch
        self._hours: dict[str, int] = {}
        self._read = ""

    @property
    def _now(self) -> int:
        return int(self._epoch() // HOUR)

    def note(self, scheduler: str) -> None:
        """Note that a scheduler asks; O(1)."""
        self._learn(scheduler, self._now)

    def asks(self, scheduler: str) -> bool:
        """Return whether a scheduler has asked within the last day."""
        return self._hours.get(scheduler, -LATELY_HOURS) >= self._now - LATELY_HOURS

    def learn(self, text: str) -> None:
        """Take over what replicas have written; what none of them has is left alone."""
        if text == self._read:
            return
        self._read = text
        try:
            found = decode(_HOURS, text.encode()) if text else {}
        except ObjectError:
            return
        for scheduler, hour in found.items():
            # A clock that was wrong does not make a scheduler ask for ever.
            self._learn(scheduler, min(hour, self._now))

    def _learn(self, scheduler: str, hour: int) -> None:
        known = self._hours.get(scheduler)
        if known is None and len(self._hours) >= MOST:
            oldest = min(self._hours, key=self._hours.__getitem__)
            if self._hours[oldest] >= hour:
                return
            del self._hours[oldest]
        if known is None or known < hour:
            self._hours[scheduler] = hour

    def written(self) -> str:
        """Return what is to be written, the same for the same."""
        lately = self._now - LATELY_HOURS
        kept = {name: hour for name, hour in sorted(self._hours.items()) if hour >= lately}
        return msgspec.json.encode(kept).decode()
