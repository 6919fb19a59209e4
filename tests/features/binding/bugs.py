"""Bugs to plant where pods are bound, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
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
        "if not any(each.under_way for each in support) or not await self._one_ends(deadline):",
        "if not await self._one_ends(deadline):",
        "features/binding/test_binds.py::test_for_company_that_no_bind_can_bring_any_more_nobody_waits",
    ),
)
