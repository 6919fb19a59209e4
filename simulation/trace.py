"""What happened, line by line, and a digest of it by which two runs are told to be the same."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable

KEPT_LINES = 20_000


class Trace:
    def __init__(self, clock: Callable[[], float]) -> None:
        self.kinds: Counter[str] = Counter()
        """How often each kind of thing has happened."""
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._clock = clock
        self._digest = hashlib.sha256()

    def say(self, who: str, what: str, about: str = "") -> None:
        """Write that somebody did something, with what it was about."""
        line = f"{self._clock():12.6f} {who:<12} {what:<22} {about}".rstrip()
        self.kinds[what] += 1
        self.lines.append(line)
        self._digest.update(line.encode())

    @property
    def digest(self) -> str:
        """Return what tells this run from any other."""
        return self._digest.hexdigest()[:16]

    def about(self, words: Iterable[str], last: int) -> list[str]:
        """Return the last lines in which any of some words occurs."""
        wanted = tuple(words)
        found = [line for line in self.lines if any(word in line for word in wanted)]
        return found[-last:]
