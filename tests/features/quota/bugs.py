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
    Bug(
        "a quota that loses the scope stays",
        "features.quota.ledger",
        "        elif known is not None:\n            self.remove(quota.key, known.uid)\n",
        "",
        "features/quota/test_rules.py::test_the_last_that_was_heard_of_a_quota_counts",
    ),
    Bug(
        "the end of a quota is the end of its namesake",
        "features.quota.ledger",
        "if quota is None or quota.uid != uid:",
        "if quota is None:",
        "features/quota/test_rules.py::test_news_of_an_older_quota_changes_nothing",
    ),
    Bug(
        "a quota that is raised or gone changes no version",
        "features.quota.ledger",
        "        self._state.version += 1\n        self._settle(namespace)\n",
        "        self._settle(namespace)\n",
        "features/quota/test_rules.py::test_a_quota_comes_changes_and_goes",
    ),
    Bug(
        "a namespace whose annotations cease to count keeps its pods in scope",
        "features.quota.ledger",
        "        self.pods += pods if self._covers(namespace) else -pods\n",
        "        self.pods += pods if self._covers(namespace) else 0\n",
        "features/quota/test_reach.py::test_quotas_count_annotations_only_where_these_count",
    ),
    Bug(
        "a namespace whose last pod in scope has gone has such pods",
        "features.quota.ledger",
        "        if not charges:\n            del self._charges[namespace]\n",
        "",
        "features/quota/test_rules.py::test_a_namespace_is_in_scope_as_long_as_its_last_pod",
    ),
    Bug(
        "a bind that a quota refuses is counted as a call of filter",
        "features.quota.part",
        'self._refusals.count("Bind")',
        'self._refusals.count("Filter")',
        "features/quota/test_binding.py"
        "::test_of_two_binds_at_once_one_takes_the_last_place_in_a_quota",
    ),
    Bug(
        "a quota with other scopes that keep it from a pod does not cover the scope",
        "features.quota.rules",
        "        covered = True\n        if each.quota.applies_to(charge):\n",
        "        if each.quota.applies_to(charge):\n            covered = True\n",
        "features/quota/test_rules.py::test_where_crossing_needs_a_quota",
    ),
    Bug(
        "the file of a plugin is looked for where the program runs",
        "features.quota.admission",
        "read(path.parent / plugin.path)",
        "read(Path(plugin.path))",
        "features/quota/test_admission.py::test_what_an_admission_file_limits",
    ),
    Bug(
        "a namespace that uses all of a quota exceeds it",
        "features.quota.ledger",
        "any(amount > hard[resource]",
        "any(amount >= hard[resource]",
        "features/quota/test_reach.py::test_what_exceeds_a_quota_is_nothing_to_other_namespaces",
    ),
    Bug(
        "pods that differ in their QoS class alone are charged alike",
        "features.quota.charges",
        "by_annotation, best_effort)\n        known",
        "by_annotation, None)\n        known",
        "features/quota/test_charges.py::test_the_class_that_the_api_server_gave_a_pod_counts",
    ),
    Bug(
        "rules reach out as before when annotations come to count",
        "features.quota.ledger",
        "            each.used = self._in_use(each.quota).used\n        self._settle(namespace)\n",
        "            each.used = self._in_use(each.quota).used\n",
        "features/quota/test_reach.py::test_rules_that_come_to_count_reach_as_far_as_the_quota_allows",
    ),
    Bug(
        "preferred affinity is told as anti-affinity",
        "features.quota.rules",
        "{'anti-' * (e.weight < 0)}",
        "{'anti-' * (e.weight > 0)}",
        "features/quota/test_rules.py::test_for_which_terms_a_pod_counts_is_told",
    ),
    Bug(
        "a namespace that has a quota and no pods is not shown",
        "features.quota.survey",
        "    names.update(namespace_of(key) for key in known)\n",
        "",
        "features/quota/test_page.py::test_who_only_has_a_quota_is_shown_and_who_uses_nothing_is_not",
    ),
    Bug(
        "charges of a namespace without pods in scope are not audited",
        "features.quota.ledger",
        "for each in {*counted, *self.namespaces}",
        "for each in counted",
        "features/quota/test_recount.py::test_charges_that_no_pod_makes_are_noticed_as_those_that_are_missed",
    ),
    Bug(
        "of several quotas the first says how far rules reach",
        "features.quota.ledger",
        "return any(each.is_exceeded for each in self.of(namespace))",
        "return any(each.is_exceeded for each in [*self.of(namespace)][:1])",
        "features/quota/test_several.py::test_rules_reach_out_as_all_quotas_allow_whatever_has_happened",
    ),
    Bug(
        "of several quotas the first counts its pods",
        "features.quota.ledger",
        "            for each in self.of(namespace):\n"
        "                each.count(charge, sign)\n\n    def scope",
        "            for each in [*self.of(namespace)][:1]:\n"
        "                each.count(charge, sign)\n\n    def scope",
        "features/quota/test_several.py::test_rules_reach_out_as_all_quotas_allow_whatever_has_happened",
    ),
    Bug(
        "of several quotas the first is counted anew with the annotations",
        "features.quota.ledger",
        "        for each in self.of(namespace):\n"
        "            each.used = self._in_use(each.quota).used\n",
        "        for each in [*self.of(namespace)][:1]:\n"
        "            each.used = self._in_use(each.quota).used\n",
        "features/quota/test_several.py::test_rules_reach_out_as_all_quotas_allow_whatever_has_happened",
    ),
    Bug(
        "a refusal by a quota behind another one is not counted",
        "features.quota.part",
        "any(reason is QuotaReason.QUOTA for reason, _ in refused)",
        "any(reason is QuotaReason.QUOTA for reason, _ in refused[:1])",
        "features/quota/test_several.py::test_a_refusal_by_a_quota_is_counted_wherever_it_stands_among_others",
    ),
)
