"""Bugs to plant where refused pods are helped, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "waits for victims on a node that is lost",
        "features.refused_pods.victim_sets",
        "if is_lost(self._state, preemption.pod, preemption.node, self._plugins):",
        "if False:",
        "features/refused_pods/test_preemption_lost.py"
        "::test_a_preemptor_whose_node_is_lost_does_not_wait_for_its_victims",
    ),
    Bug(
        "evicts others though a victim may be deleted yet on a node that is lost",
        "core.verbs.victims",
        'if not (each.status.deleting and is_lost(state, pod, each.node or "", plugins))',
        'if not is_lost(state, pod, each.node or "", plugins)',
        "features/refused_pods/test_preemption_lost.py"
        "::test_while_a_victim_may_be_deleted_yet_no_other_goes",
    ),
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
    Bug(
        "a hint is taken for the node of an earlier preemption",
        "features.refused_pods.part",
        "            is_hint=lambda uid: nomination is not None and nomination.nominates(uid),\n",
        "",
        "features/refused_pods/test_part.py"
        "::test_a_node_that_a_hint_names_is_not_one_where_victims_were_to_go",
    ),
    Bug(
        "of the lesser pods nominated there one looks elsewhere",
        "features.refused_pods.victim_sets",
        "self._patches.change(each, node, None) for each in lesser)",
        "self._patches.change(each, node, None) for each in lesser[:1])",
        "features/refused_pods/test_preemption_places.py::test_lesser_nominations_on_the_node_end",
    ),
    Bug(
        "a withdrawal that is tried again halves the window again",
        "features.refused_pods.nominations",
        "        if nomination.ending is None:\n            self._window.note(result)\n",
        "        self._window.note(result)\n",
        "features/refused_pods/test_nomination_limits.py"
        "::test_a_withdrawal_that_is_asked_for_again_does_not_halve_once_more_what_may_be_open",
    ),
    Bug(
        "a withdrawal is remembered from its beginning",
        "features.refused_pods.records",
        "            withdrawal.at = self._clock()\n",
        "",
        "features/refused_pods/test_giving_way.py::test_claims_and_withdrawals_are_forgotten",
    ),
    Bug(
        "a set of victims that is over says where to go on",
        "features.refused_pods.victim_sets",
        "        record.last_node = None\n        self._put_off(record)\n",
        "        self._put_off(record)\n",
        "features/refused_pods/test_preemption.py"
        "::test_a_place_that_was_of_no_use_is_not_gone_back_to",
    ),
    Bug(
        "who was forbidden to evict is allowed once the rest is over",
        "features.refused_pods.evictions",
        'log it once."""\n        self._allowed = False\n',
        'log it once."""\n',
        "features/refused_pods/test_preemption_refused.py"
        "::test_without_the_right_any_more_nothing_further_is_begun",
    ),
    Bug(
        "a search that left nodes out counts as one of all",
        "features.refused_pods.hints",
        "whole = not (refusal.tried or placements) and self._chooser.looks_everywhere(pod)",
        "whole = self._chooser.looks_everywhere(pod)",
        "features/refused_pods/test_nomination_ends.py"
        "::test_a_node_that_was_of_no_use_is_pointed_to_again_though_nothing_has_changed",
    ),
    Bug(
        "victims that are gone by the next look are forgotten",
        "features.refused_pods.record",
        "self.victims.update({victim.uid: victim for victim in candidate.victims})",
        "self.victims = {victim.uid: victim for victim in candidate.victims}",
        "features/refused_pods/test_preemption_successors.py"
        "::test_sets_of_which_a_part_went_are_counted",
    ),
    Bug(
        "a nomination that came after ours counts as an older one",
        "features.refused_pods.record",
        'return None if lagging and not self.shown else "overtaken"',
        'return None if lagging else "overtaken"',
        "features/refused_pods/test_record.py::test_what_becomes_of_a_preemption",
    ),
    Bug(
        "a refused pod is kept among those that are shown and those that are not",
        "features.refused_pods.records",
        "        other.pop(record.uid)\n",
        "",
        "features/refused_pods/test_nomination_limits.py"
        "::test_a_pod_is_kept_once_whether_it_is_shown_or_not",
    ),
    Bug(
        "a comparison takes the best node off the ranking",
        "features.refused_pods.search",
        "                    if look.take:\n"
        "                        ranking.takers.add(look.pod.uid)\n"
        "                    else:\n"
        "                        ranking.put_back(now)\n",
        "                    if look.take:\n"
        "                        ranking.takers.add(look.pod.uid)\n",
        "features/refused_pods/test_preemption_asked.py"
        "::test_a_comparison_takes_no_node_of_a_ranking",
    ),
    Bug(
        "victims are about to go from when their set was begun",
        "features.refused_pods.preemption",
        "self._clock() - max(preemption.began, preemption.evicted_at) < LAG_SECONDS",
        "self._clock() - preemption.began < LAG_SECONDS",
        "features/refused_pods/test_preemption_refused.py"
        "::test_the_watch_may_be_behind_from_the_deletion_of_victims_on",
    ),
    Bug(
        "maxOutstanding is read and not passed on",
        "features.refused_pods.part",
        "settings.per_second, settings.max_outstanding, settings.patience_seconds",
        "settings.per_second, Hints().max_outstanding, settings.patience_seconds",
        "features/refused_pods/test_part.py::test_limits_are_those_of_the_configuration",
    ),
    Bug(
        "the search for hints rests for all searches before",
        "features.refused_pods.hints",
        "searched, self._searched = self._searched, 0.0",
        "searched = self._searched",
        "features/refused_pods/test_nomination_limits.py"
        "::test_each_search_is_followed_by_a_rest_of_its_own",
    ),
    Bug(
        "which nodes the scheduler let through is forgotten of a pod with volumes",
        "features.refused_pods.refusals",
        "if is_whole_search(refused) or not self.pod.spec.requirements.is_plain:",
        "if is_whole_search(refused):",
        "features/refused_pods/test_refusals.py::test_which_nodes_the_scheduler_let_through",
    ),
    Bug(
        "the watch has no time to show a renewal",
        "features.refused_pods.nominations",
        "            nomination.since = self._clock()\n",
        "",
        "features/refused_pods/test_nomination_ends.py::test_before_each_renewal_the_watch_has_time_and_there_are_not_many",
    ),
    Bug(
        "what happens while hints give up theirs is not looked at",
        "features.refused_pods.victim_sets",
        "        if not seen.known or seen.node is not None or preemption.unwanted:\n"
        "            return False\n",
        "",
        "features/refused_pods/test_preemption_places.py::test_no_node_is_nominated_for_a_pod_that_needs_none_once_hints_have_given_up_theirs",
    ),
    Bug(
        "pods that were let through elsewhere share a ranking",
        "features.refused_pods.search",
        "return pod.pod_class.namespace, rules, wishes(pod), pod.status.nominated, look.passed",
        "return pod.pod_class.namespace, rules, wishes(pod), pod.status.nominated",
        "features/refused_pods/test_preemption_ranked.py::test_pods_that_may_go_elsewhere_share_no_ranking",
    ),
    Bug(
        "what happens while a pod is prepared for a hint is not looked at",
        "features.refused_pods.hints",
        "        if not waits or observe(self._state, pod) != seen:\n            return 0.0\n",
        "",
        "features/refused_pods/test_nomination_limits.py::test_what_happens_while_a_pod_is_prepared_leaves_it_without_a_hint",
    ),
    Bug(
        "any number of pods have others evicted at a time",
        "features.refused_pods.preemption",
        "busy = len(self._records.begun) >= MOST_ACTIVE or self._state.stale is not None",
        "busy = self._state.stale is not None",
        "features/refused_pods/test_preemption_places.py::test_a_bounded_number_of_pods_has_others_evicted_at_a_time",
    ),
    Bug(
        "what filter said in an earlier cycle counts for preempt",
        "features.refused_pods.preemption",
        "if refusal is None or self._clock() - refusal.heard >= CYCLE_SECONDS:",
        "if refusal is None:",
        "features/refused_pods/test_preemption_asked.py::test_what_filter_said_counts_in_the_same_cycle_alone",
    ),
)
