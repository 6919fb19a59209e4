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
)
