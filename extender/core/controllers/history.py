"""What controllers did in the last hour, pod by pod, for people; metrics only have the numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import time
from typing import Final

HOUR: Final = 3600.0
MOST: Final = 2_000
MOST_BYTES: Final = 1 << 20
"""Of all entries; the oldest goes first, as with MOST."""
MOST_CHARACTERS: Final = 600
"""Of a name or note; what is longer is cut."""
ENTRY_BYTES: Final = 400
"""About what an entry takes beside its texts."""


EVICTION: Final = "eviction"
"""A kind that several features note."""


@dataclass(frozen=True, slots=True)
class Entry:
    at: float
    """In seconds since the epoch."""
    kind: str
    """What it was about: EVICTION, or what a feature does."""
    result: str
    """As the metric of that kind counts it."""
    pod: str
    """namespace/name."""
    node: str | None = None
    note: str = ""

    @property
    def size(self) -> int:
        """Return about how many bytes it takes."""
        return ENTRY_BYTES + sum(map(_size, (self.pod, self.node or "", self.note)))


class History:
    """The latest entries, bounded in age, number and bytes."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self.told: Final[dict[str, Mapping[str, str]]] = {}
        """How people read the results of each kind that one feature alone notes."""

    def note(
        self, kind: str, result: str, pod: str, node: str | None = None, note: str = ""
    ) -> None:
        """Note something that was done just now; O(1)."""
        where = None if node is None else _cut(node)
        entry = Entry(self._clock(), kind, result, _cut(pod), where, _cut(note))
        self._entries.append(entry)
        self._bytes += entry.size
        self._forget()

    def latest(self) -> Sequence[Entry]:
        """Return the entries of the last hour, the latest first."""
        self._forget()
        return [*reversed(self._entries)]

    def _forget(self) -> None:
        entries, oldest = self._entries, self._clock() - HOUR
        while entries and (
            len(entries) > MOST or self._bytes > MOST_BYTES or entries[0].at <= oldest
        ):
            self._bytes -= entries.popleft().size


def _size(text: str) -> int:
    # A character takes four bytes at most.
    return len(text) if text.isascii() else 4 * len(text)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
