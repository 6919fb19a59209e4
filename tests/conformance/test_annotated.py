"""The same rules in an annotation or in a pod's spec: the same answers, to the last digit.

Every question of the conformance cases, its rules and those of the placed pods moved into
annotations: as a whole; and in part, added to what stays in the spec.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.annotating import moved, sound, split
from tests.conformance.cases import Case, load_cases, named
from tests.conformance.ours import Ours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]

IN_SLICES = "public-large-2"
"""Its rules are prepared in slices, which needs an event loop."""


def whole(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return sound(raw, moved(raw))


def in_part(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return sound(raw, split(raw, random.Random(raw["metadata"]["name"])))


CASES = [case for case in load_cases() if case.id != IN_SLICES]


def test_nearly_all_questions_are_asked() -> None:
    assert sum(len(case.questions) for case in CASES) >= 660


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
@pytest.mark.parametrize(
    "change", [pytest.param(whole, id="whole"), pytest.param(in_part, id="in part")]
)
def test_as_in_the_spec(
    case: Case, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> None:
    pods = [change(raw) for raw in case.cluster["pods"]]
    args = {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False, **case.args}
    ours = Ours({"cluster": {**case.cluster, "pods": pods}, "args": args, "order": 1})
    names = case.node_names
    for question in case.questions:
        answer = ours.answer(change(question.pod), names)
        expected = {
            plugin: {"refused": told["refused"], "score": named(told["score"], names)}
            for plugin, told in question.expected.items()
        }
        actual = {
            plugin: {what: told[what] for what in ("refused", "score")}
            for plugin, told in answer.items()
        }
        assert actual == expected, question.id


def test_most_cases_are_moved() -> None:
    raws = [
        raw
        for case in load_cases()
        for raw in (*case.cluster["pods"], *(each.pod for each in case.questions))
        if raw["spec"].get("affinity")
    ]
    broken = sum(whole(raw) is raw for raw in raws)
    assert broken <= len(raws) // 20
