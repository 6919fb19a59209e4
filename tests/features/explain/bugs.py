"""Bugs to plant in what explains over HTTP, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a manifest of a pod that is there is its own neighbour",
        "features.explain.answer",
        "return replace(found, pod=structs.replace(found.pod, uid=known.uid))",
        "return found",
        "features/explain/test_beyond_rules.py::"
        "test_a_placed_pods_own_room_does_not_count_against_it",
    ),
)
