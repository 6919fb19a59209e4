"""Bugs to plant where pods are moved, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "an answer of violations has no end",
        "features.moving.known",
        "islice(findings(self._state, records), limit)",
        "findings(self._state, records)",
        "features/moving/test_known.py::test_an_answer_has_an_end",
    ),
    Bug(
        "the oldest eviction that is known makes room for the next",
        "core.controllers.rates",
        "self._times[-self._most] + WINDOW_SECONDS",
        "self._times[0] + WINDOW_SECONDS",
        "controllers/test_rates.py::test_a_window_that_was_filled_beyond_its_size_opens_with_the_latest",
    ),
    Bug(
        "everybody goes who is above a limit",
        "features.moving.rules.breaches",
        "return max(1, most + 1 - _itself(watch.state, pod, watched.pods[0]))",
        "return 1",
        "features/moving/test_eviction.py::test_of_too_many_for_a_limit_as_many_go_as_are_above_it",
    ),
    Bug(
        "a pod that becomes ready is not counted",
        "features.moving.rules.rule_watch",
        "        if before is not None and pod.is_but_for_running(before):\n"
        "            self.owned.count(pod, 1)\n",
        "        if before is not None and pod.is_but_for_running(before):\n"
        "            self.owned.count(before, 1)\n",
        "features/moving/test_readiness.py::test_a_pod_that_is_ready_now_changes_no_answer",
    ),
    Bug(
        "the successors of moved pods are scored as all others",
        "features.moving.steering",
        "if not self._successors or not self._successors.expects(pod):",
        "if self._successors is not None:",
        "features/moving/test_steering.py::test_only_the_nodes_that_suit_a_successor_best_get_points",
    ),
    Bug(
        "a successor is kept from one node after the other",
        "features.moving.steering",
        "        succession.turned_away = True\n",
        "        pass\n",
        "features/moving/test_steering.py::test_a_successor_is_led_to_a_better_node",
    ),
    Bug(
        "a hook that scores nothing leaves nodes without the plugins' scores",
        "core.callbacks.prioritizing",
        "if instead is not None:",
        "if instead is None:",
        "callbacks/test_prioritizing.py::test_a_hook_may_score_in_place_of_the_plugins",
    ),
    Bug(
        "of two evictions at a time, the end of one is that of the one that began last",
        "core.controllers.rates",
        "            self._times.remove(taken)\n",
        "            self._times.pop()\n",
        "controllers/test_rates.py"
        "::test_of_several_at_a_time_each_counts_for_a_minute_from_its_own_end",
    ),
    Bug(
        "a move that came to nothing is given back in the name of another leader's",
        "features.moving.limits",
        "            self._moves.remove(taken)\n",
        "            self._moves.pop()\n",
        "features/moving/test_moves.py"
        "::test_a_move_that_came_to_nothing_is_given_back_whatever_was_heard_of_meanwhile",
    ),
)
