"""Bugs to plant in what tells of broken rules, each with the test that finds it."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs import Bug

BUGS: Final = (
    Bug(
        "a rule that stays broken is shown by pods that are gone",
        "diagnosis.verbs.violations",
        "(before is not None and self._are_there(violation, before))",
        "before is not None",
        "diagnosis/test_violations.py"
        "::test_while_a_rule_stays_broken_it_is_shown_by_pods_that_are_there",
    ),
    Bug(
        "the node where a rule was seen broken is looked at like any other",
        "diagnosis.verbs.violations",
        "    yield from there(near)\n    for name in [each for each in nodes if each != near and",
        "    for name in [each for each in nodes if",
        "diagnosis/test_violations.py"
        "::test_a_pod_that_lacks_a_match_is_looked_for_where_it_was_seen",
    ),
    Bug(
        "a cluster that is not known yet is judged",
        "features.violations.patrol",
        "if unready() is None else ():",
        "if True else ():",
        "features/violations/test_patrol.py::test_a_cluster_that_is_not_known_yet_is_not_judged",
    ),
    Bug(
        "what breaks is forgotten while the cluster is not known",
        "features.violations.patrol",
        "        if unready() is None:\n            await _take(ended",
        "        if unready() is None or not found:\n            await _take(ended",
        "features/violations/test_patrol.py::test_what_is_known_stays_so_while_the_cluster_is_not",
    ),
    Bug(
        "the metric of broken rules is not told what has ended",
        "features.violations.patrol",
        "        _say(logging.INFO, _ended, ended)\n        _publish(watch, gauge, plugin)\n",
        "        _say(logging.INFO, _ended, ended)\n",
        "features/violations/test_patrol.py::test_a_cluster_that_is_not_known_yet_is_not_judged",
    ),
    Bug(
        "what is searched for is written as it is shown",
        "features.violations.page",
        "any(wanted in text.lower() for text",
        "any(wanted in text for text",
        "features/violations/test_page.py"
        "::test_what_is_searched_for_may_be_written_in_small_or_large_letters",
    ),
    Bug(
        "only as many broken rules are counted as are shown",
        "features.violations.answer",
        '        yield "rulesCount", len(known)\n',
        '        yield "rulesCount", len(shown)\n',
        "features/violations/test_answer.py"
        "::test_of_more_rules_than_are_asked_for_the_number_is_told",
    ),
    Bug(
        "a rule that was not found in a round is over whoever breaks it",
        "diagnosis.verbs.violations",
        "ended = (yield from _seeking(self._state, violation)) is None\n",
        "ended = True\n",
        "diagnosis/test_violations.py::test_a_violation_is_news_once_and_again_after_its_end",
    ),
    Bug(
        "pods of one class do not exclude each other",
        "diagnosis.verbs.violations",
        "if counts[domain] > own]\n\n\ndef _lonely(",
        "if counts[domain] > own and not placed.owned]\n\n\ndef _lonely(",
        "diagnosis/test_violations.py::test_a_placement_is_judged",
    ),
    Bug(
        "a broken rule is shown by a pod in another domain",
        "diagnosis.verbs.violations",
        "node is not None and node in nodes and nodes.labels(node).get(key) == violation.domain",
        "node is not None and node in nodes",
        "diagnosis/test_violations.py"
        "::test_while_a_rule_stays_broken_it_is_shown_by_pods_that_are_there",
    ),
    Bug(
        "one namespace takes all room for what is known",
        "diagnosis.verbs.violations",
        "self._of[violation.namespace] >= room",
        "room == 0",
        "diagnosis/test_violations.py::test_one_namespace_does_not_take_all_room_for_what_is_known",
    ),
    Bug(
        "what is known is not renewed where there is room for no more",
        "diagnosis.verbs.violations",
        "            full = before is None and self._of[violation.namespace] >= room\n",
        "            full = self._of[violation.namespace] >= room\n",
        "diagnosis/test_violations.py"
        "::test_while_a_rule_stays_broken_it_is_shown_by_pods_that_are_there",
    ),
    Bug(
        "anti-affinity is broken by pods where its annotation does not count",
        "diagnosis.verbs.violations",
        "if each.role is not Role.REQUIRED_ANTI or not placed.on_nodes or not holds(each.source):",
        "if each.role is not Role.REQUIRED_ANTI or not placed.on_nodes:",
        "cluster/test_annotation_scope.py::test_a_rule_is_broken_only_where_it_counts",
    ),
    Bug(
        "a limit is exceeded where its annotation does not count",
        "diagnosis.verbs.violations",
        "    if tables is None or not state.scope.holds(existing.source):\n",
        "    if tables is None:\n",
        "cluster/test_annotation_scope.py::test_a_rule_is_broken_only_where_it_counts",
    ),
    Bug(
        "a pod that a step has found shows a rule though it is gone by the next",
        "diagnosis.verbs.violations",
        "            owners, matched = (_still_placed(state, each) for each in "
        "(owners, matched))\n",
        "",
        "diagnosis/test_violations.py"
        "::test_a_pod_that_a_step_has_found_is_looked_for_again_in_the_next",
    ),
    Bug(
        "pods are looked for again before a pause, not after it",
        "diagnosis.verbs.violations",
        "            yield\n"
        "            owners, matched = (_still_placed(state, each) for each in "
        "(owners, matched))\n",
        "            owners, matched = (_still_placed(state, each) for each in "
        "(owners, matched))\n"
        "            yield\n",
        "diagnosis/test_violations.py"
        "::test_a_pod_that_a_step_has_found_is_looked_for_again_in_the_next",
    ),
    Bug(
        "a reserved pod that a step has found is gone by the next",
        "diagnosis.verbs.violations",
        "if state.pod(each.key, each.uid) is not None or any(reserved(each.key, each.uid))",
        "if state.pod(each.key, each.uid) is not None",
        "diagnosis/test_violations.py"
        "::test_a_pod_that_a_step_has_found_is_looked_for_again_in_the_next",
    ),
    Bug(
        "a step looks at any number of nodes of a class",
        "diagnosis.verbs.violations",
        "            seen += looked\n",
        "            seen += 1\n",
        "diagnosis/test_violations.py::test_a_step_looks_at_no_more_pairs_than_it_may",
    ),
    Bug(
        "the page shows what one other feature knows",
        "features.violations.page",
        "    above = list(chain.from_iterable(each.above(asked) for each in others))",
        "    above = list(chain.from_iterable(each.above(asked) for each in others[:1]))",
        "features/violations/test_page.py::test_what_other_features_know_stands_above_and_below",
    ),
    Bug(
        "the answer tells what one other feature knows",
        "features.violations.answer",
        "        for each in self._found.others:\n            yield from each.fields(limit)",
        "        for each in self._found.others[:1]:\n            yield from each.fields(limit)",
        "features/violations/test_answer.py::test_what_other_features_know_follows",
    ),
    Bug(
        "a rule is found by its owner alone",
        "features.violations.page",
        'return shown.owner, shown.other or "", pods_of(violation.term.pods), place(violation)',
        "return shown.owner, pods_of(violation.term.pods), place(violation)",
        "features/violations/test_page.py::test_a_rule_is_found_by_either_of_its_pods",
    ),
    Bug(
        "the first page has numbers of one other feature",
        "features.violations.part",
        "for each in self.found.others:\n            yield from each.tiles",
        "for each in self.found.others[:1]:\n            yield from each.tiles",
        "features/violations/test_part.py::test_the_first_page_has_numbers_that_lead_there",
    ),
)
