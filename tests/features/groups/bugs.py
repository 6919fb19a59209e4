"""Bugs to plant where profiles have a mode of their own, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "of two profiles of one name, the later counts for nothing",
        "features.groups.section",
        "elif name in names[:index]:",
        "elif False:",
        "features/groups/test_section.py::test_a_profile_that_cannot_be_used_is_named",
    ),
)
