"""Bugs to plant in the audit, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a wrong counter is logged, and not counted",
        "features.audit.part",
        "                row.count()\n",
        "                pass\n",
        "features/audit/test_part.py::test_a_wrong_counter_is_counted_and_logged",
    ),
    Bug(
        "what ledgers of features book is not audited",
        "features.audit.recount",
        "        yield from ledger.audit()\n",
        "        pass\n",
        "features/audit/test_recount.py::test_what_a_ledger_finds_is_told",
    ),
)
