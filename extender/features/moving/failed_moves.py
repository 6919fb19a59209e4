"""Whether moves still make sense: none does where what is evicted does not come back.

The cause may be one tenant's, such as a limit that is used up. So a namespace stops by itself for
an hour after MOST of its moves in a row have failed.

Or it is one for all, such as a webhook that is down. So once as many namespaces have one that
failed, and none has gone well anywhere since, pods go one at a time, each as a trial. Between two
of them is a rest, which doubles with each further namespace; one trial that goes well ends it.
Tenants whose moves always fail cannot put that off: namespaces without a failure come first, in an
order that is drawn anew for each trial whatever they have to move, and a namespace counts no more
than once an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from math import inf
from typing import Final

from extender.core.controllers.history import HOUR

MOST: Final = 3
"""One may be bad luck, and two the same. With more, more pods are lost until it is noticed."""
SOON_SECONDS: Final = 5.0
"""Until it is looked again whether a successor that is late is ready."""
REST_SECONDS: Final = 60.0
"""Before the first trial, and by how much longer the rest is after each. The nine trials of the
first hour are as many pods as go in the minute until the first is known to have failed."""
MOST_TRIALS: Final = 24
"""That are counted. The longest rest, and a trial until it is known to have failed, take less than
an hour together."""


@dataclass(slots=True, eq=False)
class _Row:
    times: list[float] = field(default_factory=list)
    """When the last moves of a namespace failed, since one went well."""
    anywhere: bool = False
    """One has failed since a move went well in any namespace, an hour or more after the last."""


class FailedMoves:
    """The moves that failed in a row, by namespace."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._tried = -inf
        """When the last pod went."""
        self._trials = 0
        """How many went as trials since a move went well."""
        self._cleared: dict[str, float] = {}
        """Namespaces that counted everywhere, and when a move went well after that."""

    def tried(self, late: Mapping[str, int]) -> None:
        """Note that a pod goes; `late` as in `stops`."""
        self._tried = self._clock()
        self._trials += len(self._everywhere(late)) >= MOST

    def succeeded(self, namespace: str, late: Mapping[str, int]) -> None:
        """Note that a move was replaced, and its successor is ready; `late` as in `stops`."""
        now = self._clock()
        cleared = {name: at for name, at in self._cleared.items() if at > now - HOUR}
        self._cleared = {**cleared, **dict.fromkeys(self._everywhere(late), now)}
        self._trials = 0
        self._rows.pop(namespace, None)
        for each in self._rows.values():
            each.anywhere = False

    def failed(self, namespace: str) -> None:
        """Note that a move was not replaced, or its successor is not ready."""
        rows = self._rows.items()
        self._rows = {name: row for name, row in rows if row.anywhere or self._recent(name)}
        row = self._rows.setdefault(namespace, _Row())
        row.anywhere |= self._tells(namespace)
        row.times = [*row.times[1 - MOST :], self._clock()]

    def stops(self, namespace: str, late: Mapping[str, int]) -> float | None:
        """Return for how many seconds nothing moves in a namespace, None: it may.

        Moves that are `late`, by namespace, may turn out to fail, and count until that is known.
        """
        now, own = self._clock(), self._recent(namespace)
        failed = len(own) + late.get(namespace, 0)
        if failed >= MOST:
            return SOON_SECONDS if namespace in late else own[0] + HOUR - now
        if len(self._everywhere(late)) < MOST:
            return None
        rest = REST_SECONDS * min(1 + self._trials, MOST_TRIALS)
        last = max(self._tried, self._last)
        wait = last + rest * (1 + failed + _drawn(namespace, last)) - now
        return wait if wait > 0 else None

    @property
    def stopped(self) -> tuple[bool, frozenset[str]]:
        """Return whether pods go one at a time, and which namespaces stand still by themselves."""
        alone = frozenset(name for name in self._rows if len(self._recent(name)) >= MOST)
        lately = self._last > self._clock() - HOUR
        return lately and len(self._everywhere({})) >= MOST, alone

    def _recent(self, namespace: str) -> list[float]:
        row = self._rows.get(namespace)
        now = self._clock()
        return [] if row is None else [at for at in row.times if at > now - HOUR]

    def _everywhere(self, late: Mapping[str, int]) -> set[str]:
        failed = {name for name, row in self._rows.items() if row.anywhere}
        return failed | {name for name in late if self._tells(name)}

    def _tells(self, namespace: str) -> bool:
        """Return whether a failure there would tell something of all namespaces, once an hour."""
        is_cleared = self._cleared.get(namespace, -inf) > self._clock() - HOUR
        return not (is_cleared or self._recent(namespace))

    @property
    def _last(self) -> float:
        """When the last of those failed that count everywhere."""
        return max((row.times[-1] for row in self._rows.values() if row.anywhere), default=-inf)

    def written(self) -> Iterator[tuple[str, float, bool]]:
        """Yield what the next leader has to know: namespace, age, and `anywhere`, for each."""
        now = self._clock()
        for name, row in self._rows.items():
            yield from ((name, now - at, row.anywhere) for at in row.times)

    @property
    def trials(self) -> tuple[float, int]:
        """Return how many seconds ago the last pod went, an hour at most, and how many on trial."""
        return min(self._clock() - self._tried, HOUR), self._trials

    def inherit(
        self, written: Iterable[tuple[str, float, bool]], trials: tuple[float, int]
    ) -> None:
        """Take over what another leader has noted; it has known all that there was."""
        age, number = trials
        self._tried = max(self._tried, self._clock() - max(age, 0.0))
        self._trials = max(self._trials, min(number, MOST_TRIALS))
        rows: dict[str, _Row] = {}
        for name, age, anywhere in written:
            row = rows.setdefault(name, _Row())
            row.times = [*row.times[1 - MOST :], self._clock() - max(age, 0.0)]
            row.anywhere = anywhere
        for name, row in rows.items():
            if len(row.times) >= len(self._recent(name)):
                self._rows[name] = row


def _drawn(namespace: str, at: float) -> float:
    """Return a number in [0, 1) that the owner of a namespace cannot choose by its name."""
    digest = blake2b(f"{namespace} {at!r}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) / (1 << 32)
