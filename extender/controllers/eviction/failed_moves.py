"""Whether moves still make sense: none does where what is evicted does not come back.

The cause may be one for all, such as a webhook that is down or a zone whose nodes cannot pull
images, or of one tenant, such as a quota that is used up. So a namespace stops by itself after
MOST of its moves in a row have failed, and all stop when as many namespaces have one that did,
since a move went well anywhere. After an hour without another one, moves are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from extender.controllers.history import HOUR

MOST: Final = 3
"""One may be bad luck, and two the same. With more, more pods are lost until it is noticed."""
SOON_SECONDS: Final = 5.0
"""Until it is looked again whether a successor that is late is ready."""


@dataclass(slots=True, eq=False)
class _Row:
    times: list[float] = field(default_factory=list)
    """When the last moves of a namespace failed, since one went well."""
    anywhere: bool = True
    """No move of another namespace has gone well since the last of these."""


class FailedMoves:
    """The moves that failed in a row, by namespace; a failure counts for an hour."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows: dict[str, _Row] = {}

    def succeeded(self, namespace: str) -> None:
        """Note that a move was replaced, and its successor is ready."""
        self._rows.pop(namespace, None)
        for each in self._rows.values():
            each.anywhere = False

    def failed(self, namespace: str) -> None:
        """Note that a move was not replaced, or its successor is not ready."""
        self._rows = {name: row for name, row in self._rows.items() if self._recent(name)}
        row = self._rows.setdefault(namespace, _Row())
        row.times = [*row.times[1 - MOST :], self._clock()]
        row.anywhere = True

    def stops(self, namespace: str, late: Mapping[str, int]) -> float | None:
        """Return for how many seconds nothing moves in a namespace, None: it may.

        Moves that are `late`, by namespace, may turn out to fail, and count until that is known.
        """
        own = len(self._recent(namespace)) + late.get(namespace, 0)
        everywhere = self._everywhere() | late.keys()
        if own < MOST and len(everywhere) < MOST:
            return None
        times = [at for name in {namespace, *everywhere} for at in self._recent(name)]
        return SOON_SECONDS if late else min(times) + HOUR - self._clock()

    @property
    def stopped(self) -> tuple[bool, frozenset[str]]:
        """Return whether all stands still, and which namespaces do by themselves."""
        alone = frozenset(name for name in self._rows if len(self._recent(name)) >= MOST)
        return len(self._everywhere()) >= MOST, alone

    def _recent(self, namespace: str) -> list[float]:
        row = self._rows.get(namespace)
        now = self._clock()
        return [] if row is None else [at for at in row.times if at > now - HOUR]

    def _everywhere(self) -> set[str]:
        return {
            name for name, row in list(self._rows.items()) if row.anywhere and self._recent(name)
        }

    def written(self) -> Iterator[tuple[str, float, bool]]:
        """Yield what the next leader has to know: namespace, age, and `anywhere`, for each."""
        now = self._clock()
        for name, row in self._rows.items():
            yield from ((name, now - at, row.anywhere) for at in row.times)

    def inherit(self, written: Iterable[tuple[str, float, bool]]) -> None:
        """Take over what another leader has noted; it has known all that there was."""
        rows: dict[str, _Row] = {}
        for name, age, anywhere in written:
            row = rows.setdefault(name, _Row())
            row.times = [*row.times[1 - MOST :], self._clock() - max(age, 0.0)]
            row.anywhere = anywhere
        for name, row in rows.items():
            if len(row.times) >= len(self._recent(name)):
                self._rows[name] = row
