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

from extender.core.controllers.history import HOUR
from extender.core.errors import ObjectError
from extender.core.ports import Hook
from extender.core.wire.decoding import decode

LATELY_HOURS: Final = 24
"""A scheduler asks about each new pod, and in a quiet cluster there is none for hours."""
MOST: Final = 64
"""Schedulers that are remembered: profiles, not pods, have such names."""

_HOURS: Final[msgspec.json.Decoder[Mapping[str, int]]] = msgspec.json.Decoder(dict[str, int])


class Askers:
    """The hour, since 1970, in which each scheduler has asked last.

    Of two values of a scheduler the later counts, so that replicas with different clocks agree on
    what is written. Those that are more than a day ahead of the clock here give way to the next
    that is heard here, and to what another replica has written: a clock that was wrong leaves
    nothing behind.
    """

    def __init__(self, epoch: Callable[[], float] = time) -> None:
        self._epoch = epoch
        self._hours: dict[str, int] = {}
        self._heard: set[str] = set()
        """Of these, what was heard here and not written yet."""
        self._read = ""

    @property
    def _now(self) -> int:
        return int(self._epoch() // HOUR)

    @property
    def _bound(self) -> int:
        """Return up to which hour another clock may be right."""
        return self._now + LATELY_HOURS

    def note(self, scheduler: str) -> None:
        """Note that a scheduler asks; O(1)."""
        now, bound = self._now, self._bound
        if not now <= self._hours.get(scheduler, 0) <= bound:
            self._heard.add(scheduler)
            believed = {name: hour for name, hour in self._hours.items() if hour <= bound}
            self._keep({**believed, scheduler: now})

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
        bound, merged = self._bound, dict(found)
        for name, known in self._hours.items():
            hour = found.get(name, 0)
            if name in self._heard and hour > bound:
                merged[name] = known
            elif known <= bound:
                merged[name] = max(known, hour)
        self._keep(merged)

    def _keep(self, hours: Mapping[str, int]) -> None:
        latest = sorted(hours.items(), key=lambda each: (-each[1], each[0]))
        self._hours = dict(latest[:MOST])

    def written(self) -> str:
        """Return what is to be written, the same for the same; "" for nothing."""
        self._heard.clear()
        hours = dict(sorted(self._hours.items()))
        return msgspec.json.encode(hours).decode() if hours else ""


class Listening(Hook):
    """Notes which schedulers ask."""

    def __init__(self, askers: Askers) -> None:
        self._askers = askers

    def asked(self, scheduler: str) -> None:
        """Note a scheduler."""
        self._askers.note(scheduler)
