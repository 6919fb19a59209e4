"""The labels of nodes or namespaces, as they are and as they were until lately."""

from __future__ import annotations

from collections import deque
from typing import Final

from simulation.invariants.kinds import Spaces
from simulation.invariants.rules import Labels

REMEMBERED_SECONDS: Final = 600.0


class History:
    """The labels of one kind of object, and those that they had until lately."""

    def __init__(self) -> None:
        self.now: dict[str, Labels] = {}
        self.number = 0
        self._before: deque[tuple[float, Spaces]] = deque()
        self._first: dict[str, int] = {}
        """The number of the first picture that has a name."""

    def set(self, name: str, labels: Labels | None, at: float) -> None:
        """Change an object's labels; None removes it."""
        if self.now.get(name) == labels:
            return
        self._before.append((at, (self.number, self.now)))
        self.number += 1
        self.now = {**self.now, name: labels} if labels is not None else _without(self.now, name)
        self._first.setdefault(name, self.number)
        while self._before and self._before[0][0] < at - REMEMBERED_SECONDS:
            self._before.popleft()

    def pictures(self, since: float) -> list[Spaces]:
        """Return all that have been true since a moment."""
        before = (labels for until, labels in self._before if until >= since)
        return [(self.number, self.now), *before]

    def first(self, name: str) -> int:
        """Return the number of the first picture that a name is in."""
        return self._first.get(name, 0)


def _without(labels: dict[str, Labels], name: str) -> dict[str, Labels]:
    return {each: found for each, found in labels.items() if each != name}
