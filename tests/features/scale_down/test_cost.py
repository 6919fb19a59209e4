"""What is read of a pod's annotations, and written there."""

from __future__ import annotations

import json

import pytest

from extender.features.scale_down import COST_ANNOTATION, GIVEN_COST_ANNOTATION
from extender.features.scale_down.cost import COST, DeletionCost
from tests.builders import pod
from tests.features.scale_down.ranked import READER


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0", 0),
        ("-2147483648", -2147483648),
        ("2147483647", 2147483647),
        ("-007", -7),
        ("2147483648", 0),
        ("-2147483649", 0),
        ("+7", 0),
        ("007", 0),
        ("1_0", 0),
        ("seven", 0),
        ("", 0),
        ("9" * 5000, 0),
    ],
)
def test_a_cost_is_read_as_the_controller_does(written: str, value: int) -> None:
    for beside, given in ((written, True), ("other", False), (None, False)):
        made = pod("p").annotated(COST_ANNOTATION, written)
        if beside is not None:
            made = made.annotated(GIVEN_COST_ANNOTATION, beside)
        assert READER.read(json.dumps(made).encode()).facet(COST) == DeletionCost(value, given)


def test_a_pod_without_the_annotation_has_no_cost() -> None:
    for made in (pod("p"), pod("p").annotated(GIVEN_COST_ANNOTATION, "1")):
        assert READER.read(json.dumps(made).encode()).facet(COST) is None


def test_what_we_give_is_read_as_ours_and_no_other_is_written() -> None:
    cost, made = DeletionCost(-3002, given=True), pod("p")
    for name, value in COST.written(cost).items():
        made = made.annotated(name, value)
    assert READER.read(json.dumps(made).encode()).facet(COST) == cost
    assert COST.written(DeletionCost(7, given=False)) == {}
