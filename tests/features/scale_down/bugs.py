"""Bugs to plant where costs are given, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a cost that somebody has written meanwhile is written over",
        "features.scale_down.writer",
        "if known != (None if before is None else DeletionCost(before, given=True)):",
        "if known is not None and known.value not in (before, cost):",
        "features/scale_down/test_writer.py::test_a_pod_that_is_not_as_it_was_is_left_alone",
    ),
    Bug(
        "a pod on its way out keeps its rank",
        "features.scale_down.ledger",
        "or pod.status.deleting or pod.status.terminal:",
        "or pod.status.terminal:",
        "features/scale_down/test_rules.py::test_each_bind_takes_the_lowest_rank_that_is_free",
    ),
    Bug(
        "one namespace takes all patches of deletion costs",
        "features.scale_down.controller",
        "0.0 if window is None else window.rest()",
        "0.0",
        "features/scale_down/test_controller.py::test_so_many_in_a_minute_and_half_of_them_in_one_namespace",
    ),
    Bug(
        "a cost that was overtaken by a status is never written",
        "features.scale_down.controller",
        "                    again.append(REST_SECONDS)\n",
        "                    pass\n",
        "features/scale_down/test_controller.py"
        "::test_what_was_not_written_is_written_later_with_no_event_in_between",
    ),
    Bug(
        "of two pods with one rank, a bind under way is corrected",
        "features.scale_down.rules",
        "key=lambda each: (each.is_bound, each.replica.key)",
        "key=lambda each: (not each.is_bound, each.replica.key)",
        "features/scale_down/test_rules.py::test_a_pod_that_is_not_known_to_be_bound_keeps_its_rank",
    ),
    Bug(
        "a node that is relabelled has nothing ranked again",
        "features.scale_down.ledger",
        "                self.placed(pod, node, 0)\n",
        "                pass\n",
        "features/scale_down/test_rules.py"
        "::test_whatever_becomes_of_nodes_the_controllers_are_noted_whose_pods_are_out_of_order",
    ),
    Bug(
        "a namespace that is relabelled has nothing ranked again",
        "core.cluster.state",
        "ledger.rematched(namespace, before if was_known else None, scope=changed)",
        "del ledger",
        "features/scale_down/test_controller.py::test_a_relabelled_namespace_has_its_controllers_looked_at",
    ),
    Bug(
        "who takes the lead again gives no costs until pods change",
        "features.scale_down.controller",
        "            self._replicas.note_all()\n",
        "            pass\n",
        "features/scale_down/test_controller.py"
        "::test_who_takes_the_lead_again_looks_at_what_it_had_set_aside",
    ),
    Bug(
        "where two ranks disagree, the first tells the order on a host",
        "features.scale_down.rules",
        "(each.ranks[::-1], each.replica.key)",
        "(each.ranks, each.replica.key)",
        "features/scale_down/test_rules.py"
        "::test_where_first_and_second_rank_disagree_the_order_on_the_host_stays",
    ),
    Bug(
        "the 1,000th pod of a host has the next rank in the zone",
        "features.scale_down.rules",
        "min(self.second, STEP - 1)",
        "self.second",
        "features/scale_down/test_rules.py::test_the_1000th_pod_of_a_host_keeps_its_rank_in_the_zone",
    ),
    Bug(
        "costs are put in order by a state that is stale",
        "features.scale_down.controller",
        "if self._unready() is not None or self._state.stale is not None:",
        "if self._unready() is not None:",
        "features/scale_down/test_controller.py"
        "::test_nothing_is_written_by_a_picture_that_is_not_whole",
    ),
    Bug(
        "a replica that loses the lead writes the rest of its costs",
        "features.scale_down.controller",
        "            if not self._leadership.leads:\n"
        "                self._led = False\n"
        "                return None\n"
        "            if (rest",
        "            if (rest",
        "features/scale_down/test_controller.py::test_who_loses_the_lead_stops_at_once",
    ),
    Bug(
        "a patch that failed is under way for ever",
        "features.scale_down.controller",
        "            raise\n"
        "        finally:\n"
        "            for window, turn in taken:\n"
        "                window.done(turn)\n",
        "            raise\n        for window, turn in taken:\n            window.done(turn)\n",
        "features/scale_down/test_controller.py"
        "::test_no_minute_has_more_patches_whose_pods_ever_come",
    ),
    Bug(
        "the 2,001st pod of a controller is ranked with its bind",
        "features.scale_down.rules",
        "len(replicas) >= MOST_REPLICAS",
        "len(replicas) > MOST_REPLICAS",
        "features/scale_down/test_rules.py::test_pods_of_very_many_get_none",
    ),
    Bug(
        "an annotation that is edited later says in which topologies a pod is ranked",
        "features.scale_down.rules",
        "topologies(state, state.in_force(pod).pod_class)",
        "topologies(state, pod.pod_class)",
        "features/scale_down/test_rules.py"
        "::test_rules_in_an_annotation_that_do_not_count_put_no_pod_in_order",
    ),
    Bug(
        "a cost that a user writes beside our mark is taken for ours",
        "features.scale_down.cost",
        "raw == annotations.get(GIVEN_COST_ANNOTATION)",
        "GIVEN_COST_ANNOTATION in annotations",
        "features/scale_down/test_cost.py::test_a_cost_is_read_as_the_controller_does",
    ),
    Bug(
        "a cost that was not written counts as written",
        "features.scale_down.controller",
        'self._patches.count("written" if written else "changed")',
        'self._patches.count("written")',
        "features/scale_down/test_controller.py"
        "::test_what_was_not_written_is_written_later_with_no_event_in_between",
    ),
    Bug(
        "the patches of a namespace are forgotten when another begins",
        "features.scale_down.controller",
        "if each.recent}",
        "if not each.recent}",
        "features/scale_down/test_controller.py"
        "::test_no_minute_has_more_patches_whose_pods_ever_come",
    ),
    Bug(
        "patchesPerMinute is read and not passed on",
        "features.scale_down.part",
        "CostLimits(settings.settle_seconds, settings.patches_per_minute)",
        "CostLimits(settings.settle_seconds, 120)",
        "features/test_wiring.py::test_each_number_of_a_block_is_what_is_built_with",
    ),
    Bug(
        "costs are written before the cluster is known",
        "features.scale_down.part",
        "            unready=context.unsynced,\n",
        "            unready=lambda: None,\n",
        "features/test_wiring.py::test_all_that_acts_waits_until_the_cluster_is_known",
    ),
)
