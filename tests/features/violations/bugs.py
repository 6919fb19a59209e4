"""Bugs to plant in what tells of broken rules, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a cluster that is not known yet is judged",
        "features.violations.patrol",
        "if unready() is None else ():",
        "if True else ():",
        "features/violations/test_patrol.py::test_a_cluster_that_is_not_known_yet_is_not_judged",
    ),
)
