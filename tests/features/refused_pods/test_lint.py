"""What lint says of a scheduler's arguments where nobody goes by them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.commands.lint.asking import found, linted, ours, shipped

IGNORED = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/foo"]}}
RULE = "scheduler-arguments-unknown"


def test_arguments_are_no_fault_where_no_node_is_chosen_by_them() -> None:
    file = copy.deepcopy(shipped("replace"))
    file["profiles"][0].setdefault("pluginConfig", []).append(IGNORED)
    off, on = {"hints": {"enabled": False}}, {"hints": {"enabled": True}}
    assert RULE in found(linted(file, ours("replace", **on, schedulerVersion="1.38")))
    assert RULE in found(linted(file, ours("replace", **off, schedulerVersion="1.37")))
    assert RULE not in found(linted(file, ours("replace", **off, schedulerVersion="1.38")))


@pytest.mark.parametrize(
    ("fields", "is_found"),
    [
        pytest.param({"schedulerVersion": "1.38"}, True, id="the scheduler preempts"),
        pytest.param({"schedulerVersion": "1.37"}, False, id="the extender does"),
        pytest.param(
            {"schedulerVersion": "1.38", "preemption": {"enabled": True}}, False, id="it is to"
        ),
        pytest.param(
            {"schedulerVersion": "1.38", "filter": {"resolvable": False}}, False, id="neither does"
        ),
    ],
)
def test_few_candidates_are_a_fault_where_the_scheduler_preempts(
    fields: dict[str, Any], *, is_found: bool
) -> None:
    report = linted(shipped("replace"), ours("replace", **fields))
    assert ("candidates-sampled" in found(report)) == is_found
