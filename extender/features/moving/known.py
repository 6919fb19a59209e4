"""What is known of pods that break rules, or would sit better elsewhere, for those who show it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from extender.core.cluster.state import ClusterState
from extender.core.web.offered import Asked, Findings, Tile, View
from extender.core.wire.documents import Fields
from extender.features.moving.eviction import EvictionController
from extender.features.moving.findings import findings, write_finding, write_improvement
from extender.features.moving.repair import RepairController
from extender.features.moving.repair_mover import Prospect
from extender.features.moving.rules.improving import Improvement


class Known(Findings):
    """`pods` has those that break a rule which holds during execution, with what becomes of each.

    Only where requiredDuringExecution is enabled. `improvable` has one pod of each controller of
    which one would sit better elsewhere by preferred rules, and what keeps it; only where
    preferredDuringExecution is.
    """

    def __init__(
        self,
        state: ClusterState,
        eviction: EvictionController | None,
        repair: RepairController | None,
    ) -> None:
        self._state = state
        self._eviction = eviction
        self._repair = repair

    def fields(self, limit: int) -> Fields:
        """Yield what programs read."""
        if self._eviction is not None:
            broken = self._eviction.broken
            yield "evicting", {"leads": self._eviction.leads, "paused": self._eviction.paused}
            records = list(broken.records.values())
            yield "pods", map(write_finding, islice(findings(self._state, records), limit))
            yield "podsCount", len(broken)
        if self._repair is not None:
            prospects = self._repair.prospects
            yield "improvable", (_improvable(*each) for each in islice(prospects, limit))
            yield "improvableCount", len(prospects)

    def above(self, asked: Asked) -> Iterator[View]:
        """Yield the pods that break a rule."""
        if self._eviction is not None:
            from extender.features.moving.page import pods  # noqa: PLC0415

            yield pods(self._state, self._eviction, asked)

    def below(self, asked: Asked) -> Iterator[View]:
        """Yield the pods that would sit better elsewhere."""
        if self._repair is not None:
            from extender.features.moving.page import improvable  # noqa: PLC0415

            yield improvable(self._repair, asked)

    def tiles(self, page: str) -> Iterator[Tile]:
        """Yield how many pods break a rule."""
        if self._eviction is not None:
            yield Tile(60, page, len(self._eviction.broken), "pods break a rule as they run")


def _improvable(found: Improvement, known: Prospect) -> dict[str, Any]:
    return write_improvement(found, known.outcome, known.why)
