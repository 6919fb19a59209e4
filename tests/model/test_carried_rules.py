"""What tells rules from others that pods carry."""

from __future__ import annotations

import pytest

from extender.core.model.carried_rules import digest_after


@pytest.mark.parametrize(
    ("merged", "now", "expected"),
    [
        pytest.param("a", "a", "a", id="the labels are as they were"),
        pytest.param("a", "b", "b/a", id="they were edited"),
        pytest.param("b/a", "c", "c/a", id="edited again"),
        pytest.param("b/a", "a", "a", id="the edit was undone"),
    ],
)
def test_rules_are_known_by_the_labels_they_were_merged_by_and_those_of_now(
    merged: str, now: str, expected: str
) -> None:
    assert digest_after(merged, now) == expected
