"""What kube-scheduler's file adds to the node affinity of pods, taken from there."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from extender.core import config
from extender.core.config import layers
from extender.core.errors import ConfigError
from extender.features.node_affinity.section import NodeAffinityArgs
from tests.annotating import PREFERRED, REQUIRED
from tests.builders import node_term, requirement

TERMS = {"nodeSelectorTerms": [node_term(requirement("pool", "NotIn", "system"))]}
PREFERS = [{"weight": 1, "preference": TERMS["nodeSelectorTerms"][0]}]
ADDED = {REQUIRED: TERMS, PREFERRED: PREFERS}


def profile(added: Any, name: str = "default-scheduler") -> dict[str, Any]:
    args = {"name": "NodeAffinity", "args": {"addedAffinity": added}}
    return {"schedulerName": name, "pluginConfig": [{"name": "Other", "args": {}}, args]}


def load(ours: dict[str, Any], *profiles: Any, kind: str = "KubeSchedulerConfiguration") -> Any:
    """Load a configuration beside a scheduler's file; return what is added."""
    return loaded(ours, *profiles, kind=kind).added_affinity


def loaded(
    ours: dict[str, Any], *profiles: Any, kind: str = "KubeSchedulerConfiguration"
) -> NodeAffinityArgs:
    head = {"apiVersion": config.API_VERSION, "kind": config.KIND}
    files = {
        "ours.yaml": json.dumps(head | ours),
        "scheduler.yaml": json.dumps({"kind": kind, "profiles": profiles}),
    }

    def read(path: Path) -> str:
        return files[str(path)]

    flags = argparse.Namespace(config="ours.yaml", scheduler_config="scheduler.yaml")
    return layers.load(flags, read).section(NodeAffinityArgs)


def test_what_is_required_counts_everywhere() -> None:
    found = load({}, profile(ADDED), profile(ADDED, "other"))
    assert json.loads(found.as_json()) == {REQUIRED: TERMS}


def test_what_is_preferred_counts_where_the_extender_scores() -> None:
    found = load({"plugins": ["NodeAffinity"]}, profile(ADDED))
    assert json.loads(found.as_json())[PREFERRED] == PREFERS


@pytest.mark.parametrize("profiles", [[], [profile(ADDED)]])
def test_the_file_changes_no_other_argument(profiles: list[Any]) -> None:
    found = loaded({"plugins": ["NodeAffinity"], "nodeAffinity": {"weight": 7}}, *profiles)
    assert (found.weight, found.scheduler_config_file) == (7, Path("scheduler.yaml"))


@pytest.mark.parametrize("profiles", [[], [{}], [profile(None)]])
def test_nothing_is_added(profiles: list[Any]) -> None:
    assert load({}, *profiles).empty


@pytest.mark.parametrize(
    ("ours", "profiles", "kind", "said"),
    [
        ({}, [profile(ADDED), profile({}, "other")], "", "profiles[1]: addedAffinity is not that"),
        ({}, [profile(ADDED), {"schedulerName": "other"}], "", "profiles[1]: addedAffinity is"),
        (
            {"nodeAffinity": {"addedAffinity": {REQUIRED: TERMS}}},
            [profile(ADDED)],
            "",
            "addedAffinity is set here as well",
        ),
        ({}, [profile({REQUIRED: TERMS, "x": 1})], "", "unknown field `x`"),
        (
            {},
            [profile({REQUIRED: {"nodeSelectorTerms": [node_term(requirement("a", "Gt", "x"))]}})],
            "",
            "profiles[0].pluginConfig[1].args.addedAffinity.required",
        ),
        ({}, [], "Other", "kind: 'Other' is not KubeSchedulerConfiguration"),
    ],
    ids=["profiles differ", "one has none", "given twice", "field", "broken", "kind"],
)
def test_a_fault_names_the_field_and_the_file(
    ours: dict[str, Any], profiles: list[Any], kind: str, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(ours, *profiles, kind=kind or "KubeSchedulerConfiguration")
    told = str(caught.value)
    assert "nodeAffinity.schedulerConfigFile" in told
    assert said in told
