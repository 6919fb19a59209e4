"""Selectors match as the API documents."""

from __future__ import annotations

import pytest

from extender.core.model.labels import EVERYTHING, NOTHING, Operator, Requirement, Selector

IN_A = Requirement("app", Operator.IN, frozenset(("a", "b")))
NOT_A = Requirement("app", Operator.NOT_IN, frozenset(("a", "b")))
HAS_APP = Requirement("app", Operator.EXISTS)
NO_APP = Requirement("app", Operator.DOES_NOT_EXIST)


@pytest.mark.parametrize(
    ("requirement", "labels", "expected"),
    [
        pytest.param(IN_A, {"app": "b"}, True, id="In matches one of its values"),
        pytest.param(IN_A, {"app": "c"}, False, id="In refuses another value"),
        pytest.param(IN_A, {}, False, id="In refuses a missing key"),
        pytest.param(NOT_A, {"app": "c"}, True, id="NotIn matches another value"),
        pytest.param(NOT_A, {"app": "a"}, False, id="NotIn refuses one of its values"),
        pytest.param(NOT_A, {}, True, id="NotIn matches a missing key"),
        pytest.param(HAS_APP, {"app": ""}, True, id="Exists matches an empty value"),
        pytest.param(HAS_APP, {}, False, id="Exists refuses a missing key"),
        pytest.param(NO_APP, {}, True, id="DoesNotExist matches a missing key"),
        pytest.param(NO_APP, {"app": ""}, False, id="DoesNotExist refuses an empty value"),
    ],
)
def test_requirement(requirement: Requirement, labels: dict[str, str], expected: bool) -> None:
    assert requirement.matches(labels) is expected


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param(EVERYTHING, {}, True, id="an empty selector matches a pod without labels"),
        pytest.param(NOTHING, {"app": "a"}, False, id="no selector matches nothing"),
        pytest.param(Selector((IN_A, HAS_APP)), {"app": "a"}, True, id="all requirements hold"),
        pytest.param(Selector((IN_A, NO_APP)), {"app": "a"}, False, id="one requirement fails"),
    ],
)
def test_selector(selector: Selector, labels: dict[str, str], expected: bool) -> None:
    assert selector.matches(labels) is expected


def test_equal_conditions_are_equal_values_in_any_order_and_number() -> None:
    assert Selector.of((NO_APP, IN_A, IN_A)) == Selector.of((IN_A, NO_APP))


def test_a_selector_that_matches_nothing_stays_so_when_narrowed() -> None:
    assert NOTHING.also((HAS_APP,)) is NOTHING
