"""Bugs to plant where pods are moved, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "pods that wait raise how many may go",
        "features.moving.rules.books",
        "len(self.state.pods) - len(self.state.waiting_pods)",
        "len(self.state.pods)",
        "features/moving/test_eviction_tenants.py::test_pods_that_wait_do_not_raise_how_many_may_go",
    ),
    Bug(
        "the turns of a minute go to those who came first, whoever they are",
        "features.moving.mover",
        "            if self._fair.has(owner.namespace):",
        "            if self._fair:",
        "features/moving/test_eviction_tenants.py::test_who_has_many_pods_to_move_does_not_take_the_turns_of_others",
    ),
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
        "self._turns[-self._most].at + WINDOW_SECONDS",
        "self._turns[0].at + WINDOW_SECONDS",
        "controllers/test_rates.py::test_a_window_that_was_filled_beyond_its_size_opens_with_the_latest",
    ),
    Bug(
        "the end of one eviction is noted for another that is under way",
        "core.controllers.rates",
        "        self.give_back(turn)  # It may have begun more than a minute ago.",
        "        turn = self._turns.pop()",
        "controllers/test_rates.py::test_a_window_tells_those_who_act_at_once_apart",
    ),
    Bug(
        "an eviction without an answer is over after ten seconds",
        "features.moving.moves",
        "patience = READY_SECONDS if move.carried_out else LATE_SECONDS",
        "patience = READY_SECONDS if move.carried_out else 10.0",
        "features/moving/test_moves.py::test_while_an_eviction_may_still_be_carried_out_no_other_pod_of_a_controller_goes",
    ),
    Bug(
        "who is refused again and again is tried all the time",
        "features.moving.limits",
        "REST * (now - began)",
        "0.0 * (now - began)",
        "features/moving/test_moves.py::test_who_is_refused_again_and_again_takes_little_of_the_time",
    ),
    Bug(
        "of too many controllers those are kept that came first",
        "features.moving.repair",
        "key=lambda owner: places[owner])[:MOST_CONTROLLERS]",
        "key=lambda _: 0)[:MOST_CONTROLLERS]",
        "features/moving/test_moves.py"
        "::test_a_namespace_with_very_many_controllers_leaves_room_for_those_of_others",
    ),
    Bug(
        "what a proxy has sent twice counts as not done",
        "features.moving.mover",
        "return answer.became is Evicted.GONE",
        "return False",
        "features/moving/test_moves.py::test_an_eviction_that_a_proxy_sends_twice_is_made_once",
    ),
    Bug(
        "a pod that takes long to end is a move that came to nothing",
        "features.moving.moves",
        "if pod is not None and not pod.status.deleting:",
        "if pod is not None:",
        "features/moving/test_moves.py::test_a_pod_that_does_not_end_and_is_not_replaced_is_a_miss",
    ),
    Bug(
        "successors that are late hold up the moves of others again and again",
        "features.moving.failed_moves",
        "return not (is_cleared or self._recent(namespace))",
        "return not self._recent(namespace)",
        "features/moving/test_moves.py::test_namespaces_whose_successors_are_late_count_for_others_once_an_hour",
    ),
    Bug(
        "the labels of namespaces that a rule chooses by are not read before an eviction",
        "features.moving.last_look",
        "if any(each.namespace_selector is not None for each in breach.rule.counted):",
        "if False:",
        "features/moving/test_eviction_last_look.py::test_a_pod_stays_whose_partner_is_in_a_namespace_that_was_relabelled",
    ),
    Bug(
        "the uid of a controller may be of any length",
        "core.wire.placement",
        "if len(uid) <= LONGEST_UID:",
        "if True:",
        "features/moving/test_moves.py::test_the_uid_in_an_owner_reference_pushes_nobody_out_of_the_notes",
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
        "a move that came to nothing is given back in the name of another leader's",
        "features.moving.limits",
        "            self._moves.remove(taken)\n",
        "            self._moves.pop()\n",
        "features/moving/test_moves.py"
        "::test_a_move_that_came_to_nothing_is_given_back_whatever_was_heard_of_meanwhile",
    ),
    Bug(
        "the budget's Retry-After is lost",
        "features.moving.evictor",
        "str(error), error.retry_after)",
        "str(error))",
        "features/moving/test_evictor.py::test_a_budget_may_say_when_to_ask_again",
    ),
    Bug(
        "the next leader hears of dry runs",
        "features.moving.part",
        "Notes(live, askers)",
        "Notes(dry, askers)",
        "features/moving/test_part.py::test_a_dry_run_of_one_half_is_none_of_the_other",
    ),
    Bug(
        "moves for preferred rules are dry as those for required ones",
        "features.moving.part",
        "dry if preferred.dry_run else live",
        "dry if required.dry_run else live",
        "features/moving/test_part.py::test_a_dry_run_of_one_half_is_none_of_the_other",
    ),
    Bug(
        "a pod goes for a required rule to room that another is expected to take",
        "features.moving.mover",
        "            placements=self._moves.placements(),\n",
        "",
        "features/moving/test_moves.py::test_no_pod_goes_for_room_that_another_is_expected_to_take",
    ),
    Bug(
        "a pod goes for a preferred rule to room that another is expected to take",
        "features.moving.repair_mover",
        "pod, self._min_gain, placements=placements)",
        "pod, self._min_gain)",
        "features/moving/test_moves.py::test_no_pod_goes_for_room_that_another_is_expected_to_take",
    ),
    Bug(
        "the moves of an hour are not in the order of their times",
        "features.moving.limits",
        "        self._moves = deque(sorted(self._moves))\n",
        "",
        "features/moving/test_moves.py"
        "::test_each_move_counts_for_its_own_hour_whenever_it_was_heard_of",
    ),
    Bug(
        "how long a controller owes a pod is what was written last",
        "features.moving.moves",
        "past.forgiven_at = max(past.forgiven_at, now + min(each.forgiven, DAY))",
        "past.forgiven_at = now + min(each.forgiven, DAY)",
        "features/moving/test_moves.py::test_of_what_two_leaders_have_written_the_longer_counts",
    ),
    Bug(
        "a successor that is ready again is proven from when it was first",
        "features.moving.moves",
        "            move.ready_at = None\n            if now - started",
        "            if now - started",
        "features/moving/test_moves.py::test_a_successor_is_proven_from_when_it_was_ready_last",
    ),
    Bug(
        "a successor that is being deleted has landed",
        "features.moving.moves",
        "if known is not None and known.status.ready and not known.status.deleting:",
        "if known is not None and known.status.ready:",
        "features/moving/test_moves.py"
        "::test_a_successor_that_is_being_deleted_is_not_there_for_long",
    ),
    Bug(
        "a move that came to nothing counts in its hour",
        "features.moving.repair",
        "                self._moves.hour.give_back(move_of_hour)\n",
        "",
        "features/moving/test_repair.py::test_what_evicts_nobody_counts_in_no_minute_and_no_hour",
    ),
    Bug(
        "a pod with too long rules is tried in each round",
        "features.moving.repair",
        "            known.rests_until = self._clock() + self._limits.rest_seconds\n"
        "            return\n",
        "            return\n",
        "features/moving/test_repair.py::test_after_an_attempt_that_evicts_nobody_a_controller_rests",
    ),
    Bug(
        "a better place that was gone meanwhile has been there all the time",
        "features.moving.repair",
        "                known.since = now\n",
        "",
        "features/moving/test_repair.py::test_a_place_that_comes_back_during_a_rest_has_to_last_anew",
    ),
    Bug(
        "the only replica that is left goes, as it had others before",
        "features.moving.repair_mover",
        "        if is_only_replica(self._watch, known):\n            return False\n",
        "",
        "features/moving/test_repair.py::test_what_passes_while_an_eviction_is_prepared_counts",
    ),
    Bug(
        "what a move owes hangs on whether the pod that went was ready",
        "features.moving.moves",
        "others = owned.ready(owner) - pod.status.ready",
        "others = owned.ready(owner) - 1",
        "features/moving/test_begun.py::test_a_move_has_landed_once_one_more_is_ready_than_without_the_pod_that_went",
    ),
    Bug(
        "who stays because of pods of others is not looked at again",
        "features.moving.eviction",
        "if record.outcome not in {Outcome.OTHERS_GO, Outcome.BROKEN_BY_OTHERS}:",
        "if record.outcome is not Outcome.OTHERS_GO:",
        "features/moving/test_eviction_tenants.py::test_who_stays_because_of_others_is_looked_at_again_though_nothing_is_said_of_it",
    ),
    Bug(
        "successors are kept from nodes for less than minGain",
        "features.moving.part",
        "hooks.append(Steering(context.state, successors, plugins, preferred.min_gain))",
        "hooks.append(Steering(context.state, successors, plugins, 1))",
        "features/test_wiring.py::test_each_number_of_a_block_is_what_is_built_with",
    ),
)
