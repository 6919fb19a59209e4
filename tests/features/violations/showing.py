"""The feature over a state that a test has put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from extender.core.cluster.state import ClusterState
from extender.core.web.offered import Asked, Findings, Tile, View
from extender.core.wire.documents import Fields
from extender.diagnosis.verbs.violations import Violation, patrol
from extender.features.violations.part import Patrol
from tests.features.every import findings_over
from tests.web.showing import Seen
from tests.wired import context_over


def part_over(
    state: ClusterState,
    unready: str | None = None,
    found: Iterable[Violation] | None = None,
    **changed: Any,
) -> Patrol:
    """Return the part once it has looked at all pods, or found this."""
    part = Patrol(context_over(state, unready, **changed))
    for step in patrol(state, 100_000) if found is None else [found]:
        list(part.found.watch.take(step))
    return part


def shown(seen: Seen) -> Patrol:
    """Return the part with all that its page may show."""
    return part_over(seen.state, turns=seen.turns, findings=findings_over(seen.state))


class Found(Findings):
    """What another feature knows."""

    def __init__(self, name: str = "found") -> None:
        self._name = name

    def fields(self, limit: int) -> Fields:
        """Tell the limit."""
        yield self._name, limit

    def above(self, asked: Asked) -> Iterator[View]:
        """Say where it stands, and what is asked for."""
        yield View("above.html", {"q": asked.get("q")})

    def below(self, asked: Asked) -> Iterator[View]:
        """Say where it stands."""
        del asked
        yield View("below.html", {})

    def tiles(self, page: str) -> Iterator[Tile]:
        """Show one number."""
        yield Tile(60, page, 7, "found by another")
