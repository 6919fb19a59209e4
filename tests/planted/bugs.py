"""Bugs in places that random generators do not reach, each with the test that finds it for sure.

A bug is another way to write some lines of the program. `test_bugs.py` plants them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Bug:
    """Lines of a module of the program as they are, and as somebody might have written them."""

    name: str
    module: str
    """Below its package."""
    right: str
    """In the module once."""
    wrong: str
    found_by: str
    """A test, as pytest names it, below `tests`."""
    package: str = "extender"

    @property
    def full_name(self) -> str:
        return f"{self.package}.{self.module}"

    @property
    def path(self) -> Path:
        return ROOT.joinpath(*self.full_name.split(".")).with_suffix(".py")


def with_bug(bug: Bug) -> str:
    """Return the source of the module with the bug; ValueError where its place is gone."""
    source = bug.path.read_text(encoding="utf-8")
    if source.count(bug.right) != 1:
        raise ValueError(
            f"{bug.name}: {source.count(bug.right)} places in {bug.module} say {bug.right!r}; "
            "plant it where the code is now"
        )
    return source.replace(bug.right, bug.wrong)


BUGS = (
    Bug(
        "a restored etcd takes no deletion back",
        "core.resources",
        "        or (known.status.deleting and not pod.status.deleting)\n",
        "",
        "kube/test_resources.py::test_a_restored_etcd_takes_deletions_and_marks_of_victims_back",
    ),
    Bug(
        "a reserved pod keeps the labels that it was reserved with",
        "core.cluster.state",
        "        self._relabel_reserved(pod)\n",
        "",
        "cluster/test_reservations.py::test_a_pod_that_is_relabelled_counts_so_where_it_is_reserved",
    ),
    Bug(
        "the first pod of a group is judged term by term",
        "core.verbs.pod_rules",
        "if first else table.counts",
        "if first or (prefilter.starts_group and not table.counts) else table.counts",
        "verbs/test_filtering.py::test_the_first_of_a_group_by_two_keys",
    ),
    Bug(
        "a hostname is always the name of the node",
        "core.cluster.counts.topology",
        "return not self._strangers",
        'return self.key == "kubernetes.io/hostname" or not self._strangers',
        "verbs/test_filtering.py::test_a_hostname_is_another_than_the_name_of_the_node",
    ),
    Bug(
        "a hostname that comes to be another one is not noticed",
        "core.cluster.counts.topology",
        "        if value is None or value == name:\n",
        "        if value is None or value == name or domain_of[node] != NO_DOMAIN:\n",
        "verbs/test_filtering.py::test_a_hostname_comes_to_be_another_one_and_the_name_again",
    ),
    Bug(
        "an entry that comes to zero stays",
        "core.cluster.counts.topology",
        "before + amount\n        if total:",
        "before + amount\n        if total >= 0:",
        "cluster/test_topology.py::test_entries_that_come_to_zero_are_removed",
    ),
    Bug(
        "a node that is gone keeps its labels",
        "core.cluster.counts.nodes",
        "        self._relabel(number, NO_LABELS)\n",
        "",
        "cluster/test_state.py::test_matching_pods_are_counted",
    ),
    Bug(
        "a label that a node loses is kept",
        "core.cluster.counts.nodes",
        "        for key in {*old, *labels}:",
        "        for key in labels:",
        "cluster/test_state.py::test_matching_pods_are_counted",
    ),
    Bug(
        "nobody hears that a node is the first to have a key",
        "core.cluster.counts.nodes",
        "        self.located += 1\n",
        "",
        "verbs/test_filtering.py::test_nodes_come_to_have_a_key_that_none_had",
    ),
    Bug(
        "a namespace that is gone keeps its labels",
        "core.cluster.state",
        "known = self._namespaces.pop(name, None)",
        "known = self._namespaces.get(name)",
        "cluster/test_state.py::test_a_relabelled_namespace_moves_its_pods_in_and_out_of_terms",
    ),
    Bug(
        "a namespace that nobody knows is in no namespaceSelector",
        "core.model.pod_affinity",
        "return chosen is not None and chosen.matches(namespace_labels)",
        "return chosen is not None and len(namespace_labels) > 2 "
        "and chosen.matches(namespace_labels)",
        "verbs/test_filtering.py::test_a_namespace_that_nobody_knows_has_no_labels",
    ),
    Bug(
        "the first labels of a namespace make no difference",
        "core.model.pod_affinity",
        "chosen = self.namespace_selector is not None\n",
        "chosen = self.namespace_selector is not None and len(before) > 2\n",
        "cluster/test_state.py::test_a_relabelled_namespace_moves_its_pods_in_and_out_of_terms",
    ),
    Bug(
        "an empty namespaceSelector is null",
        "core.wire.affinity",
        "        None if chosen is None else read_selector(",
        "        None if chosen == manifests.LabelSelector() else read_selector(",
        "wire/test_objects.py::test_which_pods_a_term_speaks_of",
    ),
    Bug(
        "a null labelSelector selects everything",
        "core.wire.affinity",
        "        return NOTHING",
        "        return Selector()",
        "wire/test_objects.py::test_which_pods_a_term_speaks_of",
    ),
    Bug(
        "pods that have failed count",
        "core.wire.objects",
        'TERMINAL_PHASES = frozenset(("Succeeded", "Failed"))',
        'TERMINAL_PHASES = frozenset(("Succeeded",))',
        "verbs/test_filtering.py::test_a_pod_counts_until_it_has_ended",
    ),
    Bug(
        "pods that are being deleted do not count",
        "core.wire.objects",
        "or self._name(node)) if node else None",
        "or self._name(node)) if node and not deleting else None",
        "verbs/test_filtering.py::test_a_pod_counts_until_it_has_ended",
    ),
    Bug(
        "a NoExecute taint keeps nobody away",
        "core.wire.objects",
        'KEEPING_AWAY = frozenset(("NoSchedule", "NoExecute"))',
        'KEEPING_AWAY = frozenset(("NoSchedule",))',
        "verbs/test_nominating.py::test_only_nodes_that_suit_the_pod_otherwise",
    ),
    Bug(
        "the end of a namesake is the end of a pod",
        "core.cluster.view",
        "return pod if pod is not None and pod.uid == uid else None",
        "return pod",
        "cluster/test_state.py::test_matching_pods_are_counted",
    ),
    Bug(
        "a namesake leaves the place of the pod before it reserved",
        "core.cluster.state",
        "            if old.uid != pod.uid:\n                self._settle(old.key, old.uid)\n",
        "",
        "cluster/test_reservations.py::test_what_settles_a_reservation",
    ),
    Bug(
        "2**63 is a number for Gt and Lt",
        "core.model.node_selection",
        "_INT64 = range(-(1 << 63), 1 << 63)",
        "_INT64 = range(-(1 << 63), (1 << 63) + 1)",
        "wire/test_node_selection.py::test_which_nodes_a_pod_asks_for",
    ),
    Bug(
        "-2**63 is none",
        "core.model.node_selection",
        "_INT64 = range(-(1 << 63), 1 << 63)",
        "_INT64 = range(1 - (1 << 63), 1 << 63)",
        "cluster/test_node_index.py::test_numbers_at_both_ends",
    ),
    Bug(
        "Gt takes its bound as well",
        "core.cluster.counts.node_index",
        "bisect_right(self._values, comparison.bound)",
        "bisect_left(self._values, comparison.bound)",
        "cluster/test_node_index.py::test_numbers_at_both_ends",
    ),
    Bug(
        "Lt takes its bound as well",
        "core.cluster.counts.node_index",
        "self._since(bisect_left(self._values, comparison.bound))",
        "self._since(bisect_right(self._values, comparison.bound))",
        "cluster/test_node_index.py::test_numbers_at_both_ends",
    ),
    Bug(
        "a term that names nodes excludes none of them",
        "core.model.node_selection",
        "            and name not in self.other_than",
        "            and (self.names is not None or name not in self.other_than)",
        "wire/test_node_selection.py::test_which_nodes_a_pod_asks_for",
    ),
    Bug(
        "a node selector beside names of nodes does not count",
        "core.cluster.counts.node_rules",
        "            if all(condition.matches(nodes.labels(name)) for condition in rule.common)\n",
        "",
        "verbs/test_node_selection.py::test_refusals",
    ),
    Bug(
        "an empty term of node affinity matches every node",
        "core.wire.node_terms",
        "        if not term.is_empty:",
        "        if term is not None:",
        "wire/test_node_selection.py::test_which_nodes_a_pod_asks_for",
    ),
    Bug(
        "a pod takes the place of one as important that is nominated",
        "core.verbs.filtering",
        "other.spec.priority >= pod.spec.priority",
        "other.spec.priority > pod.spec.priority",
        "verbs/test_nominated_pods.py::test_a_nominated_pod_holds_its_place",
    ),
    Bug(
        "a pod as important is evicted",
        "core.verbs.preempting",
        "return other.spec.priority < pod.spec.priority and",
        "return other.spec.priority <= pod.spec.priority and",
        "verbs/test_preempting.py::test_victims_on_a_node",
    ),
    Bug(
        "a victim that is not known comes last",
        "core.verbs.preempting",
        "(uid in priorities, -priorities.get(uid, 0))",
        "(uid not in priorities, -priorities.get(uid, 0))",
        "verbs/test_preempting.py::test_victims_on_a_node",
    ),
    Bug(
        "a budget allows one pod more than it says",
        "core.cluster.ledgers.budgets",
        "if left[budget.key] < 0:",
        "if left[budget.key] < -1:",
        "cluster/test_budgets.py::test_budgets_of_other_applications_are_not_looked_at",
    ),
    Bug(
        "who goes already is charged once more",
        "core.model.disruption",
        " and name_of(pod.key) not in self.disrupted",
        "",
        "model/test_disruption.py::test_which_pods_are_charged",
    ),
    Bug(
        "a port on all addresses leaves each of them free",
        "core.model.node_resources",
        " or port.address in addresses or EVERY_ADDRESS in addresses",
        " or port.address in addresses",
        "model/test_host_ports.py::test_a_port_of_an_address_is_had_once",
    ),
    Bug(
        "a node that would be full has no room",
        "core.cluster.ledgers.node_resources",
        "used.get(resource, 0) + amount <= allocatable.get(resource, 0)",
        "used.get(resource, 0) + amount < allocatable.get(resource, 0)",
        "verbs/test_nominating.py::test_only_nodes_that_suit_the_pod_otherwise",
    ),
    Bug(
        "a score is divided as a whole number",
        "core.verbs.inter_pod_affinity",
        "int(MAX_NODE_SCORE * ((score - low) / span))",
        "MAX_NODE_SCORE * (score - low) // span",
        "verbs/test_prioritizing.py::test_scale",
    ),
    Bug(
        "a term that a pod prefers twice counts once",
        "core.cluster.counts.existing_terms",
        "tables[owners] = tables.get(owners, 0) + weight",
        "tables[owners] = weight",
        "verbs/test_prioritizing.py::test_scores",
    ),
    Bug(
        "what two labels of a pod have refused is taken off twice",
        "core.cluster.counts.term_index",
        "if not any(existing in members for members in seen)",
        "if existing is not None",
        "cluster/test_term_index.py::test_what_is_about_a_pod_is_the_sum_less_what_refuses_it",
    ),
    Bug(
        "the first of two terms that are counted together is left out",
        "core.cluster.counts.term_index",
        "            for each in self.members.values():\n                each.join(self._total)",
        "            owners.join(self._total)",
        "cluster/test_term_index.py::test_what_is_about_a_pod_is_the_sum_less_what_refuses_it",
    ),
    Bug(
        "a list whose pages expire ends with those that came",
        "core.kube.watching",
        "return await self._whole()",
        "return snapshot",
        "kube/test_listing.py::test_expired_continue_falls_back_to_one_whole_list",
    ),
    Bug(
        "a list at the very version of a promise proves nothing",
        "core.kube.reflector",
        "one >= other",
        "one > other",
        "kube/test_promises.py::test_list_and_a_place_reserved_after_it_was_asked_for_of_a_pod",
    ),
    Bug(
        "a list is as new as its last page",
        "core.kube.watching",
        "            before = len(snapshot)\n            await",
        "            before = len(snapshot)\n"
        "            snapshot.version = page.metadata.resource_version\n            await",
        "kube/test_listing.py::test_a_watch_goes_on_from_the_first_page_if_the_next_is_newer",
    ),
    Bug(
        "an error that says Expired and no code is none of that kind",
        "core.kube.failures",
        'self.status == HTTPStatus.GONE or self.reason in {"Expired", "Gone"}',
        "self.status == HTTPStatus.GONE",
        "kube/test_failures.py::test_expired",
    ),
    Bug(
        "evicts where it does not help",
        "core.verbs.victims",
        "if not fit.fits or not self._obeys_rules_without(lesser, node):",
        "if not fit.fits:",
        "verbs/test_victims.py::test_victims_of_each_node",
    ),
    Bug(
        "of the pods that join the victims, the least important is charged first",
        "core.verbs.preempting",
        "added.sort(key=lambda pod: (-pod.spec.priority, pod.key))",
        "added.sort(key=lambda pod: (pod.spec.priority, pod.key))",
        "verbs/test_preempting.py::test_the_most_important_of_the_pods_that_join_is_charged_first",
    ),
    Bug(
        "pods go for room where none may",
        "core.verbs.victims",
        "if evicting and for_room else None",
        "if evicting or for_room else None",
        "verbs/test_victims.py::test_for_what_pods_may_go",
    ),
    Bug(
        "a group by the labels of namespaces has no first pod",
        "core.cluster.counts.prefilter_state",
        "term.pods.matches(namespace, namespace_labels, labels) for term in rules.required",
        "term.pods.matches(namespace, {}, labels) for term in rules.required",
        "verbs/test_filtering.py::test_terms_are_about_namespaces_by_their_labels",
    ),
    Bug(
        "term by term, existing rules by the labels of namespaces are about nobody",
        "core.verbs.pod_rules",
        "labels = state.namespace_labels(pod_class.namespace)\n    reason",
        "labels: dict[str, str] = {}\n    reason",
        "verbs/test_filtering.py::test_terms_are_about_namespaces_by_their_labels",
    ),
    Bug(
        "revisions are not told apart by a rule about all namespaces",
        "core.model.pod_affinity",
        "near = namespace in self.namespaces or self.namespace_selector is not None",
        "near = namespace in self.namespaces",
        "cluster/test_revisions.py::test_pods_of_one_workload_do_not_keep_other_revisions_away",
    ),
    Bug(
        "revisions are told apart for the pod with the annotation alone",
        "core.model.workload",
        "(self.own or REVISIONS in labels)",
        "self.own",
        "cluster/test_revisions.py::test_pods_of_one_workload_do_not_keep_other_revisions_away",
    ),
    Bug(
        "a pod of a new revision keeps sparing what its old labels let it spare",
        "core.model.pod_affinity",
        "spared = others if near and self.selector.matches(labels) else None",
        "spared = others if near and self.selector.matches(labels) else self.spared",
        "cluster/test_revisions.py::test_streams_of_edits_are_answered_as_if_they_had_always_been_so",
    ),
    Bug(
        "sets do not follow the annotation of a namespace",
        "core.model.pod_affinity",
        "if self.spared is not None and before.get(REVISIONS) != now.get(REVISIONS):",
        "if self.spared is not None and False:",
        "cluster/test_revisions.py::test_edits_count_at_once_whoever_makes_them",
    ),
    Bug(
        "rules of specs leave other revisions out where the scheduler enforces them",
        "core.model.workload",
        "if self.of_spec and OF_SPECS not in namespace_labels:",
        "if False:",
        "cluster/test_revisions.py::test_where_the_scheduler_enforces_specs_their_rules_are_as_it_knows_them",
    ),
    Bug(
        "an empty template hash is a revision",
        "core.model.workload",
        "if labels.get(key)), None)",
        "if key in labels), None)",
        "cluster/test_revisions.py::test_pods_of_one_workload_do_not_keep_other_revisions_away",
    ),
    Bug(
        "a placed pod on its way out is taken off twice for its own constraint",
        "diagnosis.verbs.topology_spread",
        " == namespace and each.uid != pod.uid",
        " == namespace",
        "diagnosis/test_topology_spread.py"
        "::test_a_placed_pod_on_its_way_out_is_not_taken_off_twice_for_its_own_constraint",
    ),
    Bug(
        "an unclear end shortens the place of a pod that was bound",
        "core.cluster.ledgers.reservations",
        "claims[:] = [each for each in claims if each.deadline > deadline or not each.ended]",
        "claims[:] = [each for each in claims if not each.ended]",
        "cluster/test_reservations.py::test_an_unclear_end_shortens_no_place_that_is_held_for_longer",
    ),
    Bug(
        "a place that is given up takes the others of its node along",
        "core.cluster.ledgers.reservations",
        "        self._by_node[node].remove(reservation)\n",
        "        self._by_node[node].clear()\n",
        "cluster/test_reservations.py::test_a_place_that_is_given_up_leaves_those_of_other_pods_and_nodes",
    ),
    Bug(
        "reserved pods of one name are one pod",
        "core.cluster.ledgers.reservations",
        "return {Identity(each.pod.key, each.pod.uid): each.seen_at for each in self}",
        'return {Identity(each.pod.key, ""): each.seen_at for each in self}',
        "cluster/test_reservations.py::test_reserved_pods_are_told_apart_by_key_and_uid",
    ),
    Bug(
        "a node without the key is alone",
        "core.cluster.counts.topology",
        "return domain != NO_DOMAIN and self._nodes_in[domain] == 1",
        "return self._nodes_in[domain] == 1",
        "cluster/test_topology.py::test_which_nodes_are_alone_in_their_domain",
    ),
    Bug(
        "a class of which nobody is nominated is an error",
        "core.cluster.ledgers.nominated_pods",
        "return self._of_class.get(pod_class, _NOBODY).values()",
        "return self._of_class[pod_class].values()",
        "cluster/test_nominated_pods.py::test_of_a_class_or_node_that_nobody_has_there_are_none",
    ),
    Bug(
        "a question may take any time",
        "core.warm_up",
        "if spent > self._budget or self._clock() > deadline:",
        "if spent > self._budget:",
        "test_warm_up.py::test_who_takes_too_long_gets_an_error",
    ),
    Bug(
        "steps may take any time",
        "core.warm_up",
        "            if began >= until:\n                return\n",
        "",
        "test_warm_up.py::test_steps_end_with_their_time_and_the_first_is_always_done",
    ),
    Bug(
        "turns go to who came first",
        "core.warm_up",
        "heappush(self._queue, (spent, self._number, turn))",
        "heappush(self._queue, (0, self._number, turn))",
        "test_warm_up.py::test_turns_go_to_who_has_had_least_and_of_equals_to_who_came_first",
    ),
    Bug(
        "a pod that is never bound switches off the waits for others",
        "core.callbacks.wait_budget",
        "return self._resting.get(pod.uid, now) <= now",
        "return max(self._resting.values(), default=now) <= now",
        "callbacks/test_never_bound.py::test_pods_that_are_never_bound_switch_no_rule_of_others_off",
    ),
    Bug(
        "each namespace is forgiven as if it were the only one",
        "core.callbacks.wait_budget",
        "((REST + 1) * max(len(self._debts), 1))",
        "(REST + 1)",
        "callbacks/test_never_bound.py::test_what_they_cost_is_bounded_however_many_there_are",
    ),
    Bug(
        "a pod that is deleted before it is bound costs nothing",
        "core.callbacks.in_flight",
        "if known is not None and known.node is not None:",
        "if known is None or known.node is not None:",
        "callbacks/test_never_bound.py::test_a_pod_that_is_deleted_before_it_is_bound_costs_what_was_waited_for_it",
    ),
    Bug(
        "a pod whose bind ended unclearly is known to be on its node",
        "core.cluster.ledgers.reservations",
        "return [each.pod for each in self._by_node.get(node, ()) if each.confirmed]",
        "return [each.pod for each in self._by_node.get(node, ())]",
        "cluster/test_reservations.py::test_only_of_a_pod_that_was_bound_it_is_known_to_be_there",
    ),
    Bug(
        "that an older nomination is cleared ends a newer one",
        "core.cluster.ledgers.nominated_pods",
        "pod.status.nominated not in {None, expected.before}",
        "pod.status.nominated != expected.before",
        "cluster/test_nominated_pods.py::test_that_an_older_nomination_is_cleared_ends_no_newer_one",
    ),
    Bug(
        "a nomination is held on another node than was wanted",
        "core.cluster.ledgers.nominated_pods",
        "if expected.held and pod.status.nominated == expected.pod.status.nominated:",
        "if expected.held:",
        "cluster/test_nominated_pods.py::test_one_that_is_held_ends_when_another_node_is_shown",
    ),
    Bug(
        "a nomination that the watch shows cleared ends one that was just made",
        "core.cluster.ledgers.nominated_pods",
        "not in {None, expected.before}:",
        "!= expected.before:",
        "cluster/test_nominated_pods.py::test_an_older_nomination_that_is_cleared_ends_none_that_was_just_made",
    ),
    Bug(
        "a nomination that moves keeps what was judged for the node before",
        "core.cluster.ledgers.carried_rules",
        "held = old is not None and old.status.nominated == pod.status.nominated",
        "held = old is not None and old.status.nominated is not None",
        "cluster/test_annotation_scope.py::test_a_node_is_held_anew_by_what_was_asked_about_when_the_nomination_moves",
    ),
    Bug(
        "an edit of an annotation counts while a node is held",
        "core.cluster.state",
        "self._nominated.learn(pod.judged_by(pod.status.judged))",
        "self._nominated.learn(pod)",
        "cluster/test_annotation_scope.py::test_a_node_is_held_anew_by_what_was_asked_about_when_the_nomination_moves",
    ),
    Bug(
        "rules count as on record that a condition says are not",
        "core.wire.placement",
        'return each.message or "" if each.status == "True" else ""',
        'return each.message or ""',
        "wire/test_objects.py::test_a_condition_counts_that_is_true",
    ),
    Bug(
        "a pod is a victim though its mark was taken back",
        "core.wire.placement",
        'marked = each.status == "True" and each.reason == PREEMPTION_BY_SCHEDULER',
        'marked = each.status != "False" and each.reason == PREEMPTION_BY_SCHEDULER',
        "wire/test_objects.py::test_a_condition_counts_that_is_true",
    ),
    Bug(
        "a preemptor holds its node alone",
        "core.verbs.filtering",
        "    if not held:\n        return []",
        "    if held is not None:\n        return []",
        "features/refused_pods/test_preemption_successors.py::test_a_successor_does_not_take_another_node_of_the_domain",
    ),
    Bug(
        "a preemptor holds its domain against its equals",
        "core.verbs.filtering",
        "if other.spec.priority > pod.spec.priority and _yields_to(state, pod, other)",
        "if _yields_to(state, pod, other)",
        "verbs/test_held_domains.py::test_the_domain_is_held_against_less_important_pods",
    ),
    Bug(
        "a mark that the list shows before the preemptor holds nothing",
        "core.cluster.state",
        "            for victim in self.victims_of(pod.uid):\n"
        "                self._note_victim(victim)\n",
        "",
        "verbs/test_held_domains.py::test_marks_begin_it_in_every_replica_and_after_a_restart",
    ),
    Bug(
        "a preemptor's time to hold domains begins anew on another node",
        "core.cluster.ledgers.nominated_pods",
        "            hold.since = now if uid in self._preempting else None\n",
        "            hold.seconds = 0.0 if hold.node is None else hold.seconds\n"
        "            hold.since = now if uid in self._preempting else None\n",
        "verbs/test_held_domains.py::test_one_pod_holds_domains_for_so_long_in_all",
    ),
    Bug(
        "a preemption that is given up holds its domain on",
        "core.cluster.ledgers.nominated_pods",
        "            self._holds[uid].over = True\n",
        "            self._holds[uid].over = False\n",
        "verbs/test_held_domains.py::test_it_ends",
    ),
    Bug(
        "a victim goes though the preemptor's company is less important too",
        "core.verbs.preempting",
        "self._is_attracted = bool(state.class_of(pod).affinity.required)",
        "self._is_attracted = False",
        "verbs/test_preempting.py::test_victims_on_a_node",
    ),
    Bug(
        "a step is observed under the first plugin, whatever takes the time",
        "core.verbs.plugins",
        "    names += [plugin.name for plugin in plugins]\n",
        "    names = [plugin.name for plugin in plugins]\n",
        "verbs/test_score_plugins.py::test_the_name_of_a_step_that_plugins_take_together",
    ),
    Bug(
        "of two pods with a priority, one that goes takes both away",
        "core.cluster.ledgers.pods_by_node",
        "shift(self._priorities, pod.spec.priority, -1)",
        "shift(self._priorities, pod.spec.priority, -2)",
        "cluster/test_state.py::test_whether_any_pod_is_less_important_is_known_as_pods_come_and_go",
    ),
    Bug(
        "labels that come back make other rules than they were",
        "core.model.carried_rules",
        'first = merged.rpartition("/")[2]',
        'first = merged.partition("/")[2]',
        "model/test_carried_rules.py::test_rules_are_known_by_the_labels_they_were_merged_by_and_those_of_now",
    ),
    Bug(
        "a byte is enough for the weights of a node",
        "core.cluster.counts.node_rules",
        "[0] * capacity if rule.adds_up else bytearray(capacity)",
        "bytearray(capacity)",
        "cluster/test_node_rules.py::test_weights_add_up_to_more_than_a_byte_has",
    ),
    Bug(
        "when a pod has started does not matter for its importance",
        "core.verbs.preempting",
        "inf if pod.started is None else pod.started, pod.key",
        "inf, pod.key",
        "verbs/test_ranking.py::test_of_pods_with_one_priority_those_that_started_first_are_the_most_important",
    ),
    Bug(
        "a pod as important that ends on a node is a victim there",
        "core.verbs.nominating",
        "each.status.deleting and each.spec.priority < pod.spec.priority",
        "each.status.deleting and each.spec.priority <= pod.spec.priority",
        "verbs/test_nominating.py::test_whether_victims_are_on_their_way_out_of_a_node",
    ),
    Bug(
        "a term that refuses a value of a label is about pods that have it",
        "core.cluster.counts.pod_sets",
        "return Sought((PodSet.all_of((whole,)), key), (PodSet.all_of((without,)), key))",
        "return Sought((PodSet.all_of((without,)), key))",
        "verbs/test_filtering.py::test_own_anti_affinity_by_what_labels_are_not",
    ),
    Bug(
        "a label that has to be there does not narrow the pods that are refused",
        "core.cluster.counts.pod_sets",
        "if r.key != refused.key or r.operator",
        "if r.key != refused.key and r.operator",
        "verbs/test_filtering.py::test_a_pod_that_lacks_another_label_makes_up_for_none_that_a_term_is_about",
    ),
    Bug(
        "a feature that nodes have to declare is not thought of",
        "core.wire.placement",
        "_RESTARTS_ALL in bytes(each.restartPolicyRules)",
        "not _RESTARTS_ALL",
        "wire/test_preemptor.py::test_what_only_the_scheduler_looks_at",
    ),
    Bug(
        "a certificate that could not be read for a moment is not read again",
        "core.web.tls",
        "if seen == self._seen and self._unusable is None:",
        "if seen == self._seen:",
        "web/test_tls.py::test_a_pair_that_could_not_be_read_for_a_moment_is_taken_over_later",
    ),
    Bug(
        "a process that wakes up goes by the picture of before",
        "core.controllers.staleness",
        "self._looked, self._resumes = now, now + rest",
        "self._looked = now",
        "controllers/test_staleness.py::test_a_process_that_stood_still_gives_no_verdict_for_a_while",
    ),
    Bug(
        "a replica that ends keeps the scheduler's connection",
        "core.web.app",
        "if port.stopping():",
        "if port.stopping() and not response.body:",
        "test_runtime.py::test_each_last_answer_sends_the_scheduler_to_another_replica",
    ),
    Bug(
        "a pod keeps its column of node affinity as the last of its kind goes",
        "core.cluster.counts.node_rules",
        "        for rule in asked.rules:\n            shift(self._pods",
        "        for rule in asked.required_rules:\n            shift(self._pods",
        "cluster/test_node_rules.py"
        "::test_a_column_of_preferences_goes_with_the_last_pod_that_has_them",
    ),
    Bug(
        "a column that outgrew its room is kept by the keys of labels",
        "core.cluster.counts.node_rules",
        "        for _ in range(len(self._columns)):\n"
        "            self._drop(self._columns.pop_oldest())",
        "        for _ in range(len(self._columns)):\n            self._columns.pop_oldest()",
        "cluster/test_node_rules.py::test_nodes_that_outgrow_a_column_are_none_of_its",
    ),
    Bug(
        "a pod whose time is not over rests",
        "core.callbacks.in_flight",
        "            if self._is_over(each, now):\n"
        "                self._budget.rest(each.pod, until - since)\n",
        "            self._budget.rest(each.pod, until - since)\n",
        "callbacks/test_never_bound.py::test_a_pod_that_may_be_bound_yet_does_not_rest",
    ),
    Bug(
        "what a list can read again is still unreadable",
        "core.kube.mirroring",
        "        self._unreadable = {key: shortened(why) for key, (_, why) in found}\n",
        "        self._unreadable.update({key: shortened(why) for key, (_, why) in found})\n",
        "kube/test_unreadable.py::test_what_a_list_can_read_is_named_no_more",
    ),
    Bug(
        "a new node is judged by rules about the labels that it has",
        "core.cluster.counts.node_rules",
        "known = list(self) if before is None else self._about(before, labels)",
        "known = self._about(before or {}, labels)",
        "cluster/test_node_rules.py::test_each_event_of_a_node_reaches_each_kind_of_rule",
    ),
    Bug(
        "a node that two preferences name gets the weight of one",
        "core.cluster.counts.node_rules",
        "if name in nodes and (rule.adds_up or name not in found):",
        "if name in nodes and name not in found:",
        "cluster/test_node_rules.py::test_weights_of_a_node_that_is_named_twice_add_up",
    ),
    Bug(
        "which nodes a pod asks for is judged by a stale state",
        "core.verbs.node_selection",
        "return state.stale if state.stale is not None and self.concerns(state, pod) else None",
        "return None",
        "verbs/test_node_selection.py::test_nodes_that_a_pod_asks_for_are_judged_by_no_stale_state",
    ),
    Bug(
        "of pods that are expected on a node one is looked at",
        "core.verbs.nominating",
        "expected.setdefault(each.node, []).append(each.pod)",
        "expected[each.node] = [each.pod]",
        "verbs/test_nominating.py::test_a_node_has_to_have_room_for_all_who_are_expected_there",
    ),
    Bug(
        "ports of pods that are expected on a node are free",
        "core.verbs.nominating",
        "            ports.use(each.spec.ports, 1)\n",
        "",
        "verbs/test_nominating.py::test_a_node_has_to_have_room_for_all_who_are_expected_there",
    ),
    Bug(
        "one of several helpers hears of a refusal",
        "core.callbacks.filtering",
        "            for helper in listeners.helpers:\n"
        "                helper.refused(pod, verdicts.refused)",
        "            for helper in listeners.helpers[:1]:\n"
        "                helper.refused(pod, verdicts.refused)",
        "callbacks/test_refused_pods.py::test_each_of_several_helpers_hears_what_becomes_of_a_pod",
    ),
    Bug(
        "one of several helpers hears that a pod is admitted",
        "core.callbacks.filtering",
        "            for helper in listeners.helpers:\n                helper.admitted(pod)",
        "            for helper in listeners.helpers[:1]:\n                helper.admitted(pod)",
        "callbacks/test_refused_pods.py::test_each_of_several_helpers_hears_what_becomes_of_a_pod",
    ),
    Bug(
        "preempt hands over by what helped before the last look",
        "core.callbacks.preempting",
        "        self._hand_over(args, left.keys())\n",
        "        self._hand_over(args, found.keys())\n",
        "callbacks/test_preempting.py::test_who_evicts_by_itself_hears_what_was_answered",
    ),
    Bug(
        "one of several ledgers hears that a node is relabelled",
        "core.cluster.state",
        "        self.version += 1\n"
        "        for ledger in self.ledgers:\n"
        "            ledger.relabelled(name, before)",
        "        self.version += 1\n"
        "        for ledger in self.ledgers[:1]:\n"
        "            ledger.relabelled(name, before)",
        "cluster/test_ledger.py::test_each_of_several_ledgers_hears_of_each_event",
    ),
    Bug(
        "the same objects again are progress of a list",
        "core.kube.watching",
        "                if len(snapshot) > before:\n                    patience.renew()\n",
        "                patience.renew()\n",
        "kube/test_misbehaving.py::test_only_an_object_that_is_new_is_progress_of_a_stream",
    ),
    Bug(
        "an event about a pod wakes one of those who wait for it",
        "core.controllers.pod_events",
        "        for each in self._waiting.get(uid, ()):\n",
        "        for each in self._waiting.get(uid, ())[:1]:\n",
        "controllers/test_pod_events.py::test_several_wait_for_the_end_of_a_pod",
    ),
    Bug(
        "the time to hold domains runs while none is held",
        "core.cluster.ledgers.nominated_pods",
        "hold.since = now if uid in self._preempting else None",
        "hold.since = now",
        "verbs/test_held_domains.py::test_its_time_runs_only_while_it_holds_any",
    ),
    Bug(
        "where a hook finds no difference, the plugins score",
        "core.callbacks.prioritizing",
        "            if instead is not None:\n",
        "            if instead is not None and instead.names:\n",
        "callbacks/test_prioritizing.py"
        "::test_a_hook_that_finds_no_difference_leaves_none_to_the_plugins",
    ),
    Bug(
        "what is known is certain though the connection broke",
        "core.kube.reflector",
        "            if end.reason in _LOST:\n                self.certain.clear()\n",
        "",
        "kube/test_silence.py::test_what_is_known_is_uncertain_for_a_moment_after_a_watch",
    ),
    Bug(
        "what is known is certain before the watch goes on",
        "core.kube.reflector",
        "                    await self._check_history()\n",
        "                    await self._check_history()\n                    self.certain.set()\n",
        "kube/test_silence.py"
        "::test_from_versions_that_a_restore_has_bumped_no_watch_goes_on_and_nothing_is_certain",
    ),
    Bug(
        "what is known is certain though a proxy answers for the server",
        "core.kube.reflector",
        "                if reason not in _STANDS:\n                    self.certain.clear()\n",
        "",
        "kube/test_silence.py"
        "::test_a_restore_is_seen_where_the_end_of_the_watch_did_not_tell_of_it",
    ),
    Bug(
        "what is known is certain while no watch is opened",
        "core.kube.reflector",
        "            self._doubt = loop.call_later(self._settings.outage, self.certain.clear)\n",
        "",
        "kube/test_silence.py"
        "::test_no_watch_for_the_time_of_a_restore_makes_what_is_known_uncertain",
    ),
    Bug(
        "what is known is certain before the history was checked",
        "core.kube.reflector",
        "                if not self.certain.is_set():\n",
        "                if not self.certain.is_set():\n                    self.certain.set()\n",
        "kube/test_silence.py::test_a_restore_is_seen_as_soon_as_the_server_is_back",
    ),
    Bug(
        "a class with very many labels is not found by them",
        "core.cluster.counts.class_index",
        "_each_in(chain(bags, (self._wide,)))",
        "_each_in(bags)",
        "cluster/test_steps.py::test_a_pod_is_found_by_each_of_its_labels_however_many_it_has",
    ),
    Bug(
        "each label that a selector asks for is compared with each of a namespace",
        "core.model.selector_index",
        "return found[:_MOST_CHOICES]",
        "return found",
        "cluster/test_steps.py::test_a_pod_whose_terms_choose_by_many_labels_is_soon_placed",
    ),
    Bug(
        "a weight that changes with the labels of a namespace stays",
        "core.cluster.counts.counters",
        "if placed.counted.get(each[0]) != each[1]]",
        "if each[0] not in placed.counted]",
        "cluster/test_state.py::test_a_relabelled_namespace_counts_by_those_of_many_terms_that_are_about_it",
    ),
    Bug(
        "the rest after a long list has no bound",
        "core.kube.reflector",
        "now + min(rest, self._settings.longest_rest)",
        "now + rest",
        "kube/test_recovery.py::test_how_long_the_pause_after_a_list_is",
    ),
    Bug(
        "barren pages count though others came between",
        "core.kube.watching",
        "barren = barren + 1 if len(snapshot) == before else 0",
        "barren += len(snapshot) == before",
        "kube/test_misbehaving.py::test_pages_that_bring_something_now_and_then_are_a_list",
    ),
    Bug(
        "a wait costs each pod all of it",
        "core.callbacks.in_flight",
        "since, until = max(start, each.since), min(now, each.since + self._hold)",
        "since, until = start, now",
        "callbacks/test_never_bound.py::test_a_pod_costs_as_much_of_a_wait_as_it_was_in_flight",
    ),
    Bug(
        "a new debt is forgiven for the time before it",
        "core.callbacks.wait_budget",
        "        self._forgive(self._clock())\n        for namespace",
        "        for namespace",
        "callbacks/test_never_bound.py::test_what_is_forgiven_is_of_debts_that_there_were",
    ),
    Bug(
        "the lead counts from the answer",
        "core.kube.lease",
        "self._valid_until = began + LEASE.valid",
        "self._valid_until = self._clock() + LEASE.valid",
        "kube/test_lease.py::test_the_lead_counts_from_when_it_was_asked_for_however_long_the_answer_takes",
    ),
    Bug(
        "after a rest twice the burst goes at once",
        "core.kube.flowcontrol",
        "self._spare = min(self._spare + left, self._burst - held)",
        "self._spare = min(self._spare + left, self._burst)",
        "kube/test_overload.py::test_however_long_nothing_was_sent_no_more_goes_at_once_than_the_burst",
    ),
    Bug(
        "of very many pods in the way those of others are named",
        "diagnosis.verbs.blockers",
        "        ordered.sort(key=lambda each: each.pod_class.namespace != own)\n",
        "",
        "diagnosis/test_explaining.py::test_of_very_many_pods_in_the_way_those_of_the_own_namespace_are_named",
    ),
)
