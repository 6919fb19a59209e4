"""What fails beside the extender on purpose: docs/development/differences.md says why."""

from __future__ import annotations

from tests.upstream.modes import REPLACE, RULELESS

_GROUPS = (
    "The victims are a group on several nodes. The scheduler looks for all of them on the "
    "candidate node in an extender's answer, whatever that says, and then evicts nobody."
)
EXPECTED = {
    (mode, f"TestPreemption/{case}"): _GROUPS
    for mode in (REPLACE, RULELESS)
    for case in (
        "pod_group_victim_across_multiple_nodes,",
        "multiple_victim_pod_groups,",
        "CPG_victim_across_multiple_nodes,",
        "multiple_victim_CPGs,",
    )
} | {
    (REPLACE, "TestCoreResourceEnqueue/InterPodAffinity"): (
        "The test wants a refused pod to stay out of the queue until an event of its own. The "
        "scheduler's update of the pod's condition wakes what an extender has refused, at once."
    ),
    (REPLACE, "TestRequeueByBindFailure"): (
        "It counts the calls of a Bind plugin, and where an extender binds, the scheduler asks "
        "none."
    ),
}
"""The reason, by mode and by what the name of a test begins with."""


_HANGING = (
    "TestAsyncPreemption/victim_blocked_in_binding",
    "TestAsyncPreemption/While_lower_priority_Pod_is_waiting_for_preemption",
    "TestSchedulerRestartWithNominatedNode",
)
HANGING = dict.fromkeys((REPLACE, RULELESS), _HANGING)
"""By mode, what is left out."""
NEVER_ENDS = (
    "Left out, for they would never end: they wait for a Bind plugin, and where an extender binds, "
    "the scheduler asks none."
)


def reason(mode: str, test: str) -> str | None:
    """Return why a test may fail in a mode."""
    found = (why for (of, begin), why in EXPECTED.items() if of == mode and test.startswith(begin))
    return next(found, None)
