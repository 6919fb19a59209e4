"""The first page: which pods wait, who is refused and why, is it in sync, what is slow."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any, Final

from extender.core.web.offered import Tile, View
from extender.features.page.recent import Recent
from extender.features.page.status import MODES, Shown, Status
from extender.features.page.waiting import MOST_PODS, causes
from extender.features.page.words import duration

MOST_REFUSED: Final = 10
MOST_CAUSES: Final = 10
SLOW_SECONDS: Final = 0.1
"""A callback that takes longer holds up the scheduler, which asks for one pod after the other."""

LINKS: Final = (
    ("/readyz?verbose", "Readiness"),
    ("/livez?verbose", "Liveness"),
    ("/metrics", "Metrics"),
    ("/configz", "Configuration"),
    ("/domains", "Domains as JSON"),
)


async def overview(
    shown: Shown,
    recent: Recent,
    failures: Mapping[str, str],
    tiles: Sequence[Tile],
    *,
    links: Collection[tuple[str, str]],
    explaining: str | None,
) -> View:
    """Return the page; `failures` are reasons of readiness checks that do not pass."""
    status, refused = shown.status(), None if shown.refused is None else shown.refused.latest()
    found = await causes(shown.state)
    own = _tiles(shown, recent, explaining, None if refused is None else len(refused))
    values = {
        "status": status,
        "what_it_does": MODES.get(status.mode, ""),
        "failures": failures,
        "recent": recent,
        "callbacks": list(_callbacks(status, recent)),
        "causes": nsmallest(MOST_CAUSES, found, key=lambda each: (-each.pods, each.reason)),
        "most_pods": MOST_PODS,
        "uncounted": len(shown.state.waiting_pods) - MOST_PODS,
        "more_causes": len(found) - MOST_CAUSES,
        "refused": refused,
        "most_refused": MOST_REFUSED,
        "tiles": sorted((*tiles, *own), key=lambda each: each.place),
        "links": links,
        "now": time.time(),
    }
    return View("overview.html", values)


def _tiles(
    shown: Shown, recent: Recent, explaining: str | None, refused: int | None
) -> Iterator[Tile]:
    errors = int(recent.latest.attempts.get("error", 0))
    acts = len(shown.history.latest())
    what = "hints, preemptions and evictions in the last hour"
    said = f"errors in the last {duration(recent.seconds)}"
    yield Tile(20, "/page/activity", acts, what)
    yield Tile(30, explaining, len(shown.state.waiting_pods), "waiting for a node")
    yield Tile(40, None, len(shown.state.reservations), "pods assumed on a node")
    yield Tile(50, None, errors, said, bad=errors > 0)
    if refused is not None:
        yield Tile(0, explaining, refused, "pods refused on every node", refused > 0)
    if number := len(shown.state.broken_rules):
        yield Tile(70, "/page/domains", number, "pods with a broken annotation", bad=True)


def _callbacks(status: Status, recent: Recent) -> Iterator[Mapping[str, Any]]:
    """Yield how each verb did, of the last minutes and by this process."""
    for verb, at in status.calls.items():
        fine, failed = recent.latest.of(verb, fine=True), recent.latest.of(verb, fine=False)
        slowest = fine.quantile(0.99)
        yield {
            "verb": verb,
            "count": fine.count,
            "half": fine.quantile(0.5),
            "slowest": slowest,
            "is_slow": slowest is not None and slowest > SLOW_SECONDS,
            "failed": failed.count,
            "all": recent.all.of(verb).count,
            "at": at,
        }
