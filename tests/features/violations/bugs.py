"""Bugs to plant in what tells of broken rules, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a rule that stays broken is shown by pods that are gone",
        "diagnosis.verbs.violations",
        "(before is not None and self._are_there(violation, before))",
        "before is not None",
        "diagnosis/test_violations.py"
        "::test_while_a_rule_stays_broken_it_is_shown_by_pods_that_are_there",
    ),
    Bug(
        "a cluster that is not known yet is judged",
        "features.violations.patrol",
        "if unready() is None else ():",
        "if True else ():",
        "features/violations/test_patrol.py::test_a_cluster_that_is_not_known_yet_is_not_judged",
    ),
)
