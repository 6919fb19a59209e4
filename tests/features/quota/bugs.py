"""Bugs to plant in what quotas allow, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "the page of quotas judges all waiting pods in one turn",
        "features.quota.page",
        "await in_slices(counting_use(state, limited=limited))",
        "[*counting_use(state, limited=limited)][:0]",
        "features/quota/test_page.py::test_calls_are_answered_while_waiting_pods_are_judged",
    ),
    Bug(
        "a quota of volume claims is read as one that an API server refuses",
        "features.quota.objects",
        "scope not in {model.PRIORITY_CLASS, OF_CLAIMS}:",
        "scope != model.PRIORITY_CLASS:",
        "features/quota/test_objects.py::test_whom_a_quota_is_about",
    ),
    Bug(
        "the last pod that a quota allows is refused",
        "features.quota.rules",
        "used.get(resource, 0) + amount > quota.hard[resource]",
        "used.get(resource, 0) + amount >= quota.hard[resource]",
        "features/quota/test_rules.py::test_who_may_be_placed",
    ),
    Bug(
        "scopes that are listed the older way do not count",
        "features.quota.objects",
        "enumerate(spec.scopes or ())",
        "enumerate(())",
        "features/quota/test_objects.py::test_whom_a_quota_is_about",
    ),
    Bug(
        "a deadline of no seconds is none",
        "features.quota.charges",
        "deadline is not None and deadline >= 0",
        "deadline is not None and deadline > 0",
        "features/quota/test_charges.py::test_which_scopes_a_pod_is_in",
    ),
    Bug(
        "the class of a priority is the same as any other",
        "features.quota.quotas",
        "scopes[PRIORITY_CLASS] = self.priority_class",
        'scopes[PRIORITY_CLASS] = ""',
        "features/quota/test_charges.py::test_which_scopes_a_pod_is_in",
    ),
    Bug(
        "a pod waits for victims where a quota keeps it out",
        "core.verbs.victims",
        "if judge(state, pod, asked, fixed, nominated=False).refused:\n        return False",
        "if judge(state, pod, asked, fixed, nominated=False).refused:\n        return True",
        "features/quota/test_victims.py"
        "::test_a_pod_waits_for_no_victims_where_a_quota_keeps_it_out_whoever_goes",
    ),
    Bug(
        "a nominated pod's annotation does not count in its own namespace",
        "core.verbs.inter_pod_affinity",
        "state.class_for_others(other, pod.namespace)",
        'state.class_for_others(other, "")',
        "features/quota/test_reach.py::test_without_a_quota_a_nominated_pod_keeps_away_pods_of_its_own_namespace_alone",
    ),
)
