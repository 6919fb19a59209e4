"""Bugs to plant where refused pods are helped, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "evicts for pods that are gone or bound",
        "features.refused_pods.victim_sets",
        "lambda: self._is_wanted(preemption)",
        "lambda: True",
        "features/refused_pods/test_preemption_woken.py"
        "::test_no_further_victim_goes_for_a_preemptor_that_needs_none",
    ),
    Bug(
        "evicts before the watch shows the nomination",
        "features.refused_pods.victim_sets",
        "if not preemption.is_ours(seen):",
        "if seen.nominated is preemption:",
        "features/refused_pods/test_preemption_replicas.py"
        "::test_nobody_is_marked_before_the_watch_shows_the_nomination",
    ),
    Bug(
        "evicts before the watch shows the mark",
        "features.refused_pods.evictions",
        "return await self._events.until(shows, [victim.uid], SHOWN_SECONDS)",
        "return True",
        "features/refused_pods/test_preemption_replicas.py"
        "::test_nothing_is_deleted_before_the_watch_shows_the_mark",
    ),
    Bug(
        "withdraws no nomination of a preemptor",
        "features.refused_pods.victim_sets",
        "await self._patches.change(preemption.pod, preemption.node, None)",
        "del preemption",
        "features/refused_pods/test_preemption.py::test_a_place_that_is_not_taken_after_all_is_given_up",
    ),
    Bug(
        "sets of victims of which nobody went are counted",
        "features.refused_pods.victim_sets",
        "if result not in _LAST and self._cost_pods(preemption):",
        "if result not in _LAST:",
        "features/refused_pods/test_preemption_successors.py::test_sets_of_which_nobody_went_are_not_counted",
    ),
    Bug(
        "no end of sets of victims",
        "features.refused_pods.victim_sets",
        "(self._spent.get(uid) or 0) >= MOST_SETS",
        "(self._spent.get(uid) or 0) > MOST_SETS",
        "features/refused_pods/test_preemption_successors.py::test_no_more_than_so_many_sets_go_for_one_pod",
    ),
    Bug(
        "a preemptor is woken again and again while its victims are there",
        "features.refused_pods.victim_sets",
        "preemption.renewed = await self._renew(preemption, seen)",
        "await self._renew(preemption, seen)",
        "features/refused_pods/test_preemption.py::test_a_nomination_that_is_wiped_out_is_set_again_once_while_victims_go",
    ),
)
