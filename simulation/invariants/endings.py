"""What is begun for a pod has an end: nominations, withdrawals, and what is expected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from extender.core.cluster.ledgers.nominated_pods import NominationLedger
from simulation.invariants.broken import BrokenError

LONGEST_NOMINATION: Final = 60.0
"""In the calm: a nomination is withdrawn after 5 s, and that may have to wait for its turn."""
LATE: Final = 5.0


def check_endings(everything: Iterable[object], now: float) -> None:
    """Raise when anything goes on that has to be over by now."""
    for each in everything:
        if isinstance(each, NominationLedger):
            _check_expected(each, now)
        elif isinstance(getattr(type(each), "open_since", None), property):
            since: float | None = each.open_since  # type: ignore[attr-defined]
            if since is not None and now - since > LONGEST_NOMINATION:
                raise BrokenError("nomination without an end", str(each), ())


def _check_expected(ledger: NominationLedger, now: float) -> None:
    for expected in ledger._expected.values():  # noqa: SLF001 - nobody else has to know
        if expected.deadline < now - LATE:
            key = expected.pod.key
            raise BrokenError("nomination without an end", f"{key} is expected", (key,))
