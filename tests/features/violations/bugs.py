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
)
