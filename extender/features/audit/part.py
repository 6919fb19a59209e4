"""What the program gets where its counters are audited."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Final, NoReturn

from extender.core.cluster.state import ClusterState
from extender.core.metrics.series import Collectors, CounterRow
from extender.core.parts import Context, Part, Task
from extender.features.audit.recount import audit

PAUSE_SECONDS: Final = 1.0
"""Between two tables: a round over 2,000 takes half an hour and a thousandth of a core."""

_log = logging.getLogger(__name__)


class Auditing(Part):
    """Compares the counters of the state, and what ledgers book, with a recount."""

    def __init__(self, context: Context) -> None:
        self._state = context.state
        self._row = self.metrics(context.metrics.make)

    @staticmethod
    def metrics(make: Collectors) -> CounterRow:
        return make.counters(
            "consistency_mismatches",
            "Counters that differed from a recount; anything above 0 is a bug in this program.",
        )

    def tasks(self) -> Iterator[Task]:
        yield "audit", keep_auditing(self._state, self._row)


async def keep_auditing(
    state: ClusterState, row: CounterRow, pause: float = PAUSE_SECONDS
) -> NoReturn:
    """Compare the counters with a recount, a step at a time, for as long as the program runs."""
    while True:
        for finding in audit(state):
            if finding is not None:
                row.count()
                _log.error("counters differ from a recount: %s; restart to count anew", finding)
            await asyncio.sleep(pause)


PART = Auditing
