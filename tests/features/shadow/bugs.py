"""Bugs to plant in mode shadow, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a disagreement is a series only from the first one on",
        "features.shadow.differences",
        "if reason.plugin in enabled and",
        "if False and",
        "features/shadow/test_differences.py::test_agreement_leaves_no_trace",
    ),
)
