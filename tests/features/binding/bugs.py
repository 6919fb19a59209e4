"""Bugs to plant where pods are bound, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a pod's own place is forgotten for the next pod like it",
        "features.binding.rules",
        "if not each.confirmed and attracted(state, each.pod.pod_class, own)",
        "if not each.confirmed and each.pod.uid != pod.uid"
        " and attracted(state, each.pod.pod_class, own)",
        "features/binding/test_rules.py::test_a_place_reserved_for_one_pod_is_company_to_the_next_like_it",
    ),
    Bug(
        "a pod that is read may be a namesake",
        "features.binding.binds",
        "if seen is None or seen.pod.uid != args.uid:",
        "if seen is None:",
        "features/binding/test_binds.py::test_a_pod_that_is_not_to_be_bound_once_it_was_read",
    ),
    Bug(
        "a bind waits for company that cannot come any more",
        "features.binding.binds",
        "while waited_for and all(each.under_way for each in waited_for):",
        "while all(each.under_way for each in waited_for):",
        "features/binding/test_binds.py::test_for_company_that_no_bind_can_bring_any_more_nobody_waits",
    ),
    Bug(
        "each end of a bind has all that wait for one judged again",
        "features.binding.binds",
        "while waited_for and all(each.under_way for each in waited_for):",
        "if waited_for:",
        "features/binding/test_binds.py::test_only_the_end_of_a_bind_that_a_pod_waits_for_has_it_judged_again",
    ),
    Bug(
        "a pod that has gone while its bind waited is bound",
        "features.binding.binds",
        "return seen.pod if seen.version else None",
        "return seen.pod",
        "features/binding/test_binds.py::test_a_bind_that_waited_is_decided_by_what_the_pod_is_by_then",
    ),
    Bug(
        "a pod with a place that comes to be bound changes nothing for those that wait",
        "features.binding.rules",
        "        self._none.clear()\n\n    def of",
        "        pass\n\n    def of",
        "features/binding/test_rules.py::test_who_needs_no_company_is_not_found_out_again_while_nothing_changes",
    ),
)
