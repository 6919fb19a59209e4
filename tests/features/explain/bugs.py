"""Bugs to plant in what explains over HTTP, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "one pod with long rules takes the page from all that wait",
        "features.explain.waiting",
        "if error.status is not HTTPStatus.UNPROCESSABLE_ENTITY:",
        "if error.status:",
        "features/explain/test_waiting.py::test_a_tenant_s_long_rules_hide_no_pod_of_another",
    ),
    Bug(
        "a manifest of a pod that is there is its own neighbour",
        "features.explain.answer",
        "return replace(found, pod=structs.replace(found.pod, uid=known.uid))",
        "return found",
        "features/explain/test_beyond_rules.py::"
        "test_a_placed_pods_own_room_does_not_count_against_it",
    ),
    Bug(
        "explanations do not rest",
        "features.explain.answer",
        "self._until = now + RESTS * (now - since)",
        "pass",
        "features/explain/test_answer.py::"
        "test_one_is_made_at_a_time_and_then_none_for_nine_times_as_long",
    ),
)
