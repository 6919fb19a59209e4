"""What lint says of node affinity that the scheduler adds."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.commands.lint.asking import found, linted, ours, shipped
from tests.features.node_affinity.example import GPU, ON_GPUS, PREFERRED

PREFERS = ON_GPUS | {PREFERRED: [{"weight": 1, "preference": GPU}]}


def adding(mode: str, added: Any, *off: str) -> dict[str, Any]:
    """Return a scheduler's file that adds this, with plugins off that are the extender's."""
    file = copy.deepcopy(shipped(mode))
    for each in file["profiles"]:
        each["pluginConfig"] = [{"name": "NodeAffinity", "args": {"addedAffinity": added}}]
    profile = file["profiles"][0]
    for point in off:
        profile["plugins"].setdefault(point, {}).setdefault("disabled", []).append(
            {"name": "NodeAffinity"}
        )
    return file


@pytest.mark.parametrize(
    ("mode", "added", "ours_adds"),
    [
        pytest.param("replace", ON_GPUS, ON_GPUS, id="the same"),
        pytest.param("assist", ON_GPUS, {}, id="no node is chosen here"),
        pytest.param("replace", PREFERS, ON_GPUS, id="the scheduler scores"),
    ],
)
def test_arguments_that_nobody_here_goes_by_are_no_fault(
    mode: str, added: Any, ours_adds: Any
) -> None:
    config = ours(mode, nodeAffinity={"addedAffinity": ours_adds})
    assert found(linted(adding(mode, added), config)) == []


@pytest.mark.parametrize(
    ("ours_adds", "rules"), [(PREFERS, []), (ON_GPUS, ["added-affinity-differs"])]
)
def test_what_is_preferred_has_to_be_the_same_where_the_extender_scores(
    ours_adds: Any, rules: list[str]
) -> None:
    file = adding("assist", PREFERS, "preScore", "score")
    plugins = ["InterPodAffinity", "NodeAffinity"]
    config = ours("assist", plugins=plugins, nodeAffinity={"addedAffinity": ours_adds})
    assert found(linted(file, config)) == rules


def test_the_schedulers_own_file_is_compared_with_nothing() -> None:
    config = ours("replace", nodeAffinity={"schedulerConfigFile": "scheduler.yaml"})
    assert found(linted(adding("replace", ON_GPUS), config)) == []
