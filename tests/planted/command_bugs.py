"""Bugs of the commands for people, as in `bugs.py`."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

_COMMANDS = "affinityctl"

OF_COMMANDS: Final = (
    Bug(
        "new nodes like a cordoned one have its taint",
        "whatif.nodes",
        "tuple(each for each in allocatable.taints if each != CORDONED)",
        "allocatable.taints",
        "whatif/test_changes.py::test_new_nodes_like_a_cordoned_one_take_pods",
        _COMMANDS,
    ),
    Bug(
        "new nodes like a cordoned one are cordoned",
        "whatif.nodes",
        "Allocatable(allocatable.amounts, taints)",
        "Allocatable(allocatable.amounts, taints, allocatable.unschedulable)",
        "whatif/test_changes.py::test_new_nodes_like_a_cordoned_one_take_pods",
        _COMMANDS,
    ),
    Bug(
        "a pod on its way out uses up the budget of a drain",
        "whatif.nodes",
        "elif removal.after is not After.DELETED:",
        "else:",
        "whatif/test_changes.py::test_what_uses_up_the_budget_of_a_drain",
        _COMMANDS,
    ),
    Bug(
        "old pods that wait count as available",
        "whatif.rolling",
        "len(now.new) - least - len(now.waiting))",
        "len(now.new) - least)",
        "whatif/test_rolling.py::test_a_deployment_keeps_within_its_limits_and_ends",
        _COMMANDS,
    ),
    Bug(
        "old pods that wait go last",
        "whatif.rolling",
        "            not scheduler.waits(pod.key),\n",
        "            scheduler.waits(pod.key),\n",
        "whatif/test_rolling.py::test_old_pods_that_wait_go_first_and_do_not_count_as_available",
        _COMMANDS,
    ),
    Bug(
        "an old pod beside a new one goes no sooner",
        "whatif.rolling",
        "for pod in (*pods, *beside))",
        "for pod in pods)",
        "whatif/test_rolling.py"
        "::test_of_old_pods_the_one_that_shares_its_node_with_a_new_one_goes_first",
        _COMMANDS,
    ),
    Bug(
        "the larger of two claims chooses first",
        "volumes.binder",
        "key=lambda claim: claim.spec.request)",
        "key=lambda claim: -claim.spec.request)",
        "whatif/test_volume_plugins.py::test_volume_binding",
        _COMMANDS,
    ),
    Bug(
        "a volume of another attributes class will do",
        "volumes.binder",
        "        and volume.attributes_class == spec.attributes_class\n",
        "",
        "whatif/test_volume_plugins.py::test_volume_binding",
        _COMMANDS,
    ),
    Bug(
        "a kind of another group selects pods by default",
        "default_spread.selectors",
        'if owner.api_version not in {"", VERSIONS.get(owner.kind)}:',
        "if False:",
        "cli/test_default_spread.py::test_explain",
        _COMMANDS,
    ),
    Bug(
        "default constraints leave tainted nodes out unless told",
        "default_spread.arguments",
        "written.node_taints_policy == _HONOR",
        "written.node_taints_policy in {None, _HONOR}",
        "cli/test_default_spread.py::test_explain",
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
)
