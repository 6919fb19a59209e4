"""The feature over a state that a test has put together."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from extender.features.page.part import PagesForPeople
from extender.features.page.recent import RecentCalls
from extender.features.page.status import ResourceStatus, Shown, Status
from tests.wired import context_over

if TYPE_CHECKING:
    from tests.web.showing import Seen


def framing(seen: Seen) -> PagesForPeople:
    """Return the part, for an extender in mode replace that began a minute ago."""
    now = time.time()
    usual = Status(
        mode="replace",
        source="cluster.yaml",
        callbacks="http://127.0.0.1:10280",
        started=now - 61,
        resources=(ResourceStatus("pods", synced=True, objects=1234, last_event=now - 2),),
    )
    part = PagesForPeople(context_over(seen.state))
    part.shown = Shown(
        seen.state,
        RecentCalls(seen.metrics),
        seen.turns,
        seen.history,
        seen.unready,
        lambda: replace(usual, **seen.status()),
        refused=seen.refused,
    )
    return part
