"""Bugs of the commands for people, as in `bugs.py`."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

_COMMANDS = "affinityctl"
_ADMITTED: Final = (
    "commands/simulate/whatif/test_disruptions.py"
    "::test_an_eviction_is_admitted_as_the_api_server_does"
)

OF_COMMANDS: Final = (
    Bug(
        "new nodes like a cordoned one have its taint",
        "commands.simulate.whatif.nodes",
        "tuple(each for each in allocatable.taints if is_lasting(each))",
        "allocatable.taints",
        "commands/simulate/whatif/test_changes.py::test_new_nodes_like_a_cordoned_one_take_pods",
        _COMMANDS,
    ),
    Bug(
        "new nodes like a cordoned one are cordoned",
        "commands.simulate.whatif.nodes",
        "Allocatable(allocatable.amounts, taints)",
        "Allocatable(allocatable.amounts, taints, allocatable.unschedulable)",
        "commands/simulate/whatif/test_changes.py::test_new_nodes_like_a_cordoned_one_take_pods",
        _COMMANDS,
    ),
    Bug(
        "a pod on its way out uses up the budget of a drain",
        "commands.simulate.whatif.disruptions",
        "if pod.node is not None and pod.status.ready and not pod.status.deleting:",
        "if pod.node is not None and pod.status.ready:",
        "commands/simulate/whatif/test_changes.py::test_what_uses_up_the_budget_of_a_drain",
        _COMMANDS,
    ),
    Bug(
        "an unready pod uses up the budget",
        "commands.simulate.whatif.disruptions",
        "if pod.node is not None and pod.status.ready and not pod.status.deleting:",
        "if pod.node is not None and not pod.status.deleting:",
        "commands/simulate/whatif/test_disruptions.py::test_an_unready_pod_does_not_use_up_a_budget",
        _COMMANDS,
    ),
    Bug(
        "a pod in two budgets goes if both allow it",
        "commands.simulate.whatif.disruptions",
        "if len(budgets) > 1:",
        "if len(budgets) > 2:",
        _ADMITTED,
        _COMMANDS,
    ),
    Bug(
        "a budget is asked about a starting pod",
        "commands.simulate.whatif.disruptions",
        "if pod.status.starting or pod.status.deleting:",
        "if pod.status.deleting:",
        _ADMITTED,
        _COMMANDS,
    ),
    Bug(
        "a budget is asked about a terminating pod",
        "commands.simulate.whatif.disruptions",
        "if pod.status.starting or pod.status.deleting:",
        "if pod.status.starting:",
        _ADMITTED,
        _COMMANDS,
    ),
    Bug(
        "AlwaysAllow lets ready pods go",
        "commands.simulate.whatif.disruptions",
        "if enough and not pod.status.ready:",
        "if enough:",
        _ADMITTED,
        _COMMANDS,
    ),
    Bug(
        "an unready pod goes where no pod is wanted",
        "commands.simulate.whatif.disruptions",
        "counted.healthy >= counted.desired > 0",
        "counted.healthy >= counted.desired",
        _ADMITTED,
        _COMMANDS,
    ),
    Bug(
        "a status that is older than the spec is believed",
        "commands.simulate.whatif.disruptions",
        "counted = budget.counted if budget.is_current else None",
        "counted = budget.counted",
        _ADMITTED,
        _COMMANDS,
    ),
    Bug(
        "a StatefulSet makes all its pods at once",
        "commands.simulate.whatif.successors",
        "if owner is None or not (is_of_stateful_set(pod) and known.in_order):",
        "if True:",
        "commands/simulate/whatif/test_disruptions.py::test_a_stateful_set_makes_its_pods_in_order",
        _COMMANDS,
    ),
    Bug(
        "a StatefulSet has made another pod before the old one is gone",
        "commands.simulate.whatif.successors",
        "    elif pod.status.deleting:",
        "    if pod.status.deleting:",
        "commands/simulate/whatif/test_disruptions.py"
        "::test_a_stateful_set_makes_a_pod_anew_once_the_one_that_is_being_deleted_is_gone",
        _COMMANDS,
    ),
    Bug(
        "old pods that wait count as available",
        "commands.simulate.whatif.turns",
        "sum(each.available for each in old) - least",
        "sum(each.pods for each in old) - least",
        "commands/simulate/whatif/test_rolling.py::test_old_pods_that_wait_go_first_and_do_not_count_as_available",
        _COMMANDS,
    ),
    Bug(
        "old pods that wait go last",
        "commands.simulate.whatif.deletion_order",
        "first = (pod.node is not None, life.phase",
        "first = (pod.node is None, life.phase",
        "commands/simulate/whatif/test_rolling.py::test_old_pods_that_wait_go_first_and_do_not_count_as_available",
        _COMMANDS,
    ),
    Bug(
        "an old pod beside a new one goes no sooner",
        "commands.simulate.whatif.deletion_order",
        "for pod in (*pods, *beside))",
        "for pod in pods)",
        "commands/simulate/whatif/test_rolling.py"
        "::test_of_old_pods_the_one_that_shares_its_node_with_a_new_one_goes_first",
        _COMMANDS,
    ),
    Bug(
        "the larger of two claims chooses first",
        "scheduler.volumes.binder",
        "key=lambda claim: claim.spec.request)",
        "key=lambda claim: -claim.spec.request)",
        "commands/test_volume_plugins.py::test_volume_binding",
        _COMMANDS,
    ),
    Bug(
        "a volume of another attributes class will do",
        "scheduler.volumes.binder",
        "        and volume.attributes_class == spec.attributes_class\n",
        "",
        "commands/test_volume_plugins.py::test_volume_binding",
        _COMMANDS,
    ),
    Bug(
        "a kind of another group selects pods by default",
        "scheduler.default_spread.selectors",
        'if owner.api_version not in {"", VERSIONS.get(owner.kind)}:',
        "if False:",
        "commands/test_default_spread.py::test_explain",
        _COMMANDS,
    ),
    Bug(
        "default constraints leave tainted nodes out unless told",
        "scheduler.default_spread.arguments",
        "written.node_taints_policy == _HONOR",
        "written.node_taints_policy in {None, _HONOR}",
        "commands/test_default_spread.py::test_explain",
        _COMMANDS,
    ),
    Bug(
        "pods on their way out count as scheduled",
        "measurements.throughput",
        "bool(pod.node) and not pod.deleting",
        "bool(pod.node)",
        "clusterload/test_measurements.py::test_pods_on_their_way_out_do_not_count_as_scheduled",
        "clusterload",
    ),
    Bug(
        "lint refuses a rolling update of daemons that OnDelete leaves unused",
        "commands.lint.together",
        "    if _rolls(each):\n        for path",
        "    if each:\n        for path",
        "commands/lint/test_refused_fields.py"
        "::test_an_update_that_the_api_server_takes_has_no_fault",
        _COMMANDS,
    ),
    Bug(
        "lint takes all nodes to have the wider topology key",
        "commands.lint.template",
        "return key == narrow.term.topology_key or not self.eligible_nodes_without(key)",
        "return bool(key) and narrow is not wide",
        "commands/lint/test_planted_workloads.py"
        "::test_on_a_node_without_the_wider_key_the_narrower_term_counts",
        _COMMANDS,
    ),
    Bug(
        "what is unknown outweighs what is not fine",
        "commands.explain.run",
        "for code in (NOT_FINE, UNKNOWN) if code in found",
        "for code in (UNKNOWN, NOT_FINE) if code in found",
        "commands/explain/test_several.py::test_what_is_not_fine_outweighs_what_is_unknown",
        _COMMANDS,
    ),
    Bug(
        "pods that waited before make an answer uncertain",
        "commands.simulate.run",
        "is_certain=not scheduler.uncertain - waited,",
        "is_certain=not scheduler.uncertain,",
        "commands/simulate/test_simulate.py::test_what_waited_before_decides_where_nothing_else_is_asked",
        _COMMANDS,
    ),
    Bug(
        "new pods that are not available are no reason to keep old ones",
        "commands.simulate.whatif.turns",
        "spare = total - least - (new.pods - new.available)",
        "spare = total - least",
        "commands/simulate/whatif/test_turns.py::test_no_turn_of_a_deployment_takes_more_than_may_be_missing",
        _COMMANDS,
    ),
)
