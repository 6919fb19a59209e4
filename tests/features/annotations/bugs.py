"""Bugs to plant in rules in annotations, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a pod does not count for its own limit",
        "core.cluster.counts.prefilter_state",
        "self._counters.matching(*named), None, int(itself))",
        "self._counters.matching(*named), None, 0)",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "of one node that is asked about alone, a limit of one pod leaves nothing",
        "core.cluster.counts.domain_limits",
        "if self.owners is None and room < 0:\n            return {each",
        "if self.owners is None and room < 1:\n            return {each",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a limit holds where no owner is",
        "core.cluster.counts.domain_limits",
        "return {domain for domain in self.owners.counts if get(domain, 0) > room}",
        "return {domain for domain in matched if get(domain, 0) > room}",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a nominated pod brings no limit",
        "features.annotations.rules",
        "if term not in known and state.is_about(term, pod.pod_class):",
        "if term in known:",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "preemption for a limit evicts all whom it counts",
        "core.verbs.preempting",
        "                added = fewer\n",
        "                pass\n",
        "features/annotations/test_limits.py::test_the_least_important_pods_are_victims_and_no_more_than_have_to_go",
    ),
    Bug(
        "pods with the same rules and another annotation beside them are taken for alike",
        "features.annotations.reading",
        "key = (namespace, found)",
        'key = (namespace, (found[0], b"", b""))',
        "features/annotations/test_reading.py::test_what_a_pod_is_read_as_does_not_hang_on_what_was_read_before",
    ),
    Bug(
        "the same annotation in another namespace is about the first one",
        "features.annotations.reading",
        "key = (namespace, found)",
        'key = ("", found)',
        "features/annotations/test_reading.py::test_what_a_pod_is_read_as_does_not_hang_on_what_was_read_before",
    ),
    Bug(
        "pods with and without rules in an annotation are of one class",
        "core.wire.objects",
        "(namespace, labels, affinity, stored, made_by, beside.key), beside",
        '(namespace, labels, affinity, stored, made_by, b""), beside',
        "features/annotations/test_reading.py::test_what_a_pod_is_read_as_does_not_hang_on_what_was_read_before",
    ),
    Bug(
        "rules about nodes in an annotation are not told from those of the spec alone",
        "core.wire.node_selection",
        "key = (affinity, node_selector, annotated)",
        "key = (affinity, node_selector)",
        "features/annotations/test_reading.py::test_node_affinity_is_added_as_one_more_requirement",
    ),
    Bug(
        "a pod's wider limit hides a placed pod's narrower one of the same term",
        "features.annotations.rules",
        "own.get(each.matched, each.room + 1) <= each.room:",
        "each.matched in own:",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "limits behind one that is the pod's own are hidden",
        "features.annotations.rules",
        "            continue\n        entries",
        "            break\n        entries",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "the first of two limits over one key is lost",
        "features.annotations.rules",
        "full.setdefault((_reason(each), each.topology), []).append(domains)",
        "full[_reason(each), each.topology] = [domains]",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a nominated pod is never the first that a limit counts",
        "features.annotations.rules",
        "limit.matched.counts.get(domain, 0) + more",
        "limit.matched.counts.get(domain, 1) + more",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "where pods are nominated, a limit holds without an owner",
        "features.annotations.rules",
        "if not (brought or limit.holds(domain)):",
        "if domain == NO_DOMAIN:",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a nominated pod brings its limit to a node without the key",
        "features.annotations.rules",
        "brought = domain != NO_DOMAIN and any(",
        "brought = any(",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a limit by the labels of namespaces does not count the pod itself",
        "core.cluster.counts.prefilter_state",
        "labels = self._counters.namespace_labels(pod_class.namespace)\n        for named",
        "labels: dict[str, str] = {}\n        for named",
        "features/annotations/test_limits.py::test_limits_are_about_namespaces_by_their_labels",
    ),
    Bug(
        "a limit is counted twice",
        "core.cluster.counts.existing_term",
        "yield (limited, Role.LIMIT, source), 1",
        "yield (limited, Role.LIMIT, source), 2",
        "features/annotations/test_limits.py::test_a_limit_is_counted_once_a_carrier",
    ),
    Bug(
        "what a pod was refused by is put on record",
        "core.cluster.ledgers.carried_rules",
        'return digest if admitted or pod.node is None else ""',
        "return digest",
        "features/annotations/test_recording.py::test_only_what_a_pod_was_placed_by_is_recorded",
    ),
    Bug(
        "what a pod was asked about before an edit is put on record",
        "core.cluster.state",
        'if is_placed and not record and pod.status.judged == pod.pod_class.digest != "":',
        "if is_placed and not record and pod.status.judged:",
        "features/annotations/test_recording.py::test_of_two_replicas_only_the_one_that_has_placed_a_pod_records_it",
    ),
    Bug(
        "a limit does not count who holds a domain",
        "features.annotations.rules",
        "            if more:\n                # By",
        "            if not limits:\n                # By",
        "verbs/test_held_domains.py::test_a_limit_counts_who_holds_a_domain",
    ),
    Bug(
        "a nominated pod's limit allows one pod less than it says",
        "features.annotations.rules",
        "DomainTable(matched.topology), 1)",
        "DomainTable(matched.topology), 2)",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a nominated pod's limit holds for pods that it does not match",
        "features.annotations.rules",
        "if term not in known and state.is_about(term, pod.pod_class):",
        "if term not in known:",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a nominated pod does not count for the limit of a placed one",
        "features.annotations.rules",
        "if not (brought or limit.holds(domain)):",
        "if not (brought or limit.owners is None):",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a nominated pod counts on a node without the key",
        "features.annotations.rules",
        "if not (brought or limit.holds(domain)):",
        "if not (brought or limit.owners is None or limit.holds(domain)):",
        "features/annotations/test_limits.py::test_nodes_are_refused",
    ),
    Bug(
        "a nominated pod's limit does not count in its own namespace",
        "features.annotations.rules",
        "state.class_for_others(other.pod_class, namespace)",
        'state.class_for_others(other.pod_class, "")',
        "features/annotations/test_limits.py::test_a_limit_that_reaches_no_other_namespace_counts_in_that_of_the_nominated_pod",
    ),
    Bug(
        "a pod whose labels are edited is in no namespace",
        "core.model.objects",
        "            new.namespace,\n            new.labels,\n            annotated.all,",
        '            "",\n            new.labels,\n            annotated.all,',
        "features/annotations/test_reading.py::test_label_keys_are_merged_by_the_labels_of_the_pod",
    ),
    Bug(
        "own preemption spares more pods than a limit allows",
        "core.verbs.victims",
        "                gone[pod.uid] = pod\n                fit.free(pod)\n",
        "                gone[pod.uid] = pod\n                continue\n",
        "features/annotations/test_limits.py::test_own_preemption_spares_the_most_important_pods_that_a_limit_allows",
    ),
    Bug(
        "a record that may have been made is taken for none",
        "features.annotations.record_first",
        "        self._recorded.put(pod.uid, digest if why is None else UNKNOWN)\n"
        "        if why is None:\n"
        "            return None\n",
        "        if why is None:\n"
        "            self._recorded.put(pod.uid, digest)\n"
        "            return None\n",
        "features/annotations/test_binding_records.py"
        "::test_what_may_have_been_put_on_record_is_written_over",
    ),
    Bug(
        "what was put on record a moment ago is not known where the watch is behind",
        "features.annotations.record_first",
        "if digest == pod.status.record and known in {None, digest}:",
        "if digest == pod.status.record:",
        "features/annotations/test_binding_records.py"
        "::test_what_is_left_of_an_attempt_is_taken_back",
    ),
    Bug(
        "a record that cannot be made is tried again as soon as the first time",
        "features.annotations.recording",
        "self._waits[identity] = min(2 * wait, LAST_RETRY_SECONDS)",
        "self._waits[identity] = min(wait, LAST_RETRY_SECONDS)",
        "features/annotations/test_recording.py::test_each_try_of_a_record_waits_twice_as_long",
    ),
    Bug(
        "that a pod was placed by no rules is recorded as rules",
        "features.annotations.records",
        '"status": "True" if digest else "False",',
        '"status": "True",',
        "features/annotations/test_binding_records.py"
        "::test_a_record_is_a_condition_of_this_very_pod",
    ),
    Bug(
        "a namespace that is relabelled keeps its rules in annotations",
        "features.annotations.scope",
        "        self._open.pop(namespace, None)\n",
        "",
        "cluster/test_annotation_scope.py"
        "::test_annotations_count_where_the_labels_of_their_namespace_say",
    ),
    Bug(
        "a policy annotation is said to be a fault of the other one",
        "features.annotations.reading",
        "raise ObjectError(POLICY_PATH, POLICY_REMOVED)",
        "raise ObjectError(AFFINITY_PATH, POLICY_REMOVED)",
        "features/annotations/test_reading.py"
        "::test_a_policy_is_refused_in_words_that_say_what_to_write",
    ),
    Bug(
        "of a field that is there twice, the last counts",
        "features.annotations.reading",
        "    json.loads(text, object_pairs_hook=_distinct)\n",
        "",
        "features/annotations/test_reading.py::test_what_is_broken_is_named",
    ),
    Bug(
        "a limit is judged by a state that is stale",
        "features.annotations.rules",
        "return state.stale if state.stale is not None and self._limits(state, pod) else None",
        "return state.stale if state.stale is not None and state.nominated.classes else None",
        "features/annotations/test_limits.py::test_a_limit_is_not_judged_by_a_state_that_is_stale",
    ),
    Bug(
        "rules are put on record in mode shadow",
        "features.annotations.part",
        "if api is None or mode is Mode.SHADOW:",
        "if api is None:",
        "features/annotations/test_recording.py::test_who_puts_rules_on_record",
    ),
    Bug(
        "terms of anti-affinity during execution are not counted",
        "features.annotations.manifests",
        "        for side in (self.podAffinity, self.podAntiAffinity):\n"
        "            if side is not None:\n"
        "                yield from side.during_execution or ()\n",
        "        if self.podAffinity is not None:\n"
        "            yield from self.podAffinity.during_execution or ()\n",
        "features/annotations/test_reading.py"
        "::test_terms_are_checked_and_counted_on_each_side_in_each_strength",
    ),
    Bug(
        "terms that are required during execution are not checked",
        "features.annotations.manifests",
        "    for name, terms in ((REQUIRED, found.required), (DURING_EXECUTION, "
        "found.during_execution)):\n",
        "    for name, terms in ((REQUIRED, found.required),):\n",
        "features/annotations/test_reading.py"
        "::test_terms_are_checked_and_counted_on_each_side_in_each_strength",
    ),
    Bug(
        "the room of a pod that a limit does not spare is not given back",
        "core.verbs.victims",
        "                gone[pod.uid] = pod\n                fit.free(pod)\n",
        "                gone[pod.uid] = pod\n",
        "features/annotations/test_limits.py::test_own_preemption_spares_as_many_as_there_is_room_for_beside_a_limit",
    ),
    Bug(
        "a record that another replica has made is written over",
        "features.annotations.recording",
        "if pod is None or not pod.status.judged or pod.status.record:",
        "if pod is None or not pod.status.judged:",
        "features/annotations/test_recording.py::test_what_happens_before_a_record_is_tried_again_ends_that",
    ),
    Bug(
        "of several limits the first says how far rules reach",
        "features.annotations.scope",
        "all(limit.reaches_out(owner) for limit in self.limits)",
        "all(limit.reaches_out(owner) for limit in self.limits[:1])",
        "features/annotations/test_limits.py::test_a_limit_that_reaches_no_other_namespace_counts_in_that_of_the_nominated_pod",
    ),
    Bug(
        "in assist, rules of specs spare other revisions",
        "features.annotations.scope",
        'marks = {REVISIONS: "", OF_SPECS: ""} if self._of_specs else {REVISIONS: ""}',
        'marks = {REVISIONS: "", OF_SPECS: ""}',
        "features/annotations/test_scope.py::test_in_a_chosen_namespace_revisions_are_spared_by_the_rules_that_are_ours",
    ),
    Bug(
        "pods that hold domains count in the first of them",
        "features.annotations.rules",
        "            more = {each for each, some in there.items() if _is_full(state, "
        "limit, each, some)}",
        "            more = {each for each, some in [*there.items()][:1] if "
        "_is_full(state, limit, each, some)}",
        "features/annotations/test_limits.py::test_pods_that_hold_domains_count_in_each_of_these_for_each_limit",
    ),
)
