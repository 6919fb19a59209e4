"""All filter plugins of the default profile at once, as a scheduler asks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import builders
from tests.builders import ZONE
from tests.conformance.asking import InTree
from tests.conformance.crowded import PREEMPTORS_PER_CASE
from tests.conformance.drawing import file_for, keep, look_until
from tests.conformance.stored import cases
from tests.conformance.verdicts import Refused, differences

if TYPE_CHECKING:
    from collections.abc import Callable


KEPT = Path(__file__).parent.parent / "conformance" / "mismatches" / "verdicts"
"""Where a case stays that was judged differently, to be asked in each run from then on."""
FEWEST = 2_000
"""Pods of a run, whatever is asked for."""


def test_verdicts_equal_the_schedulers(
    scheduler: InTree, start: int, request: pytest.FixtureRequest, say: Callable[[str], None]
) -> None:
    refused = Refused()
    file = file_for(KEPT, scheduler.release, start)
    pods = max(FEWEST, request.config.getoption("--questions"))

    def ask(case: dict[str, Any]) -> None:
        check(case, scheduler, file)
        refused.add(case)

    examples = pods // PREEMPTORS_PER_CASE
    look_until(lambda: not refused.never, cases(), ask, start=start, examples=examples)
    say(f"all filter plugins of {scheduler.release}: {refused}")
    assert refused.never == []


def test_what_was_judged_differently_once_is_not_again(scheduler: InTree) -> None:
    for file in sorted(KEPT.glob("*.json")):
        check(json.loads(file.read_text()), scheduler, file)


def check(case: dict[str, Any], scheduler: InTree, file: Path) -> None:
    """Compare the verdicts about each pod."""
    first = next(differences(case, scheduler), None)
    if first is not None:
        keep({**case, "judged": [case["judged"][first.pod]]}, file, scheduler.release, first)


def test_a_claim_bound_to_a_volume_of_one_zone_leaves_the_nodes_of_that_zone(
    scheduler: InTree,
) -> None:
    pod = builders.pod("new")
    pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    claim = {"namespace": "default", "name": "data", "uid": "claim"}
    in_zone = {"matchExpressions": [builders.requirement(ZONE, "In", "x")]}
    case = {
        "cluster": {
            "nodes": [
                builders.node(name, {ZONE: zone}, {"pods": "1"})
                for name, zone in (("here", "x"), ("there", "y"))
            ],
            "namespaces": [],
            "pods": [],
        },
        "volumes": {
            "persistentVolumes": [
                {
                    "metadata": {"name": "volume"},
                    "spec": {
                        "claimRef": claim,
                        "nodeAffinity": {"required": {"nodeSelectorTerms": [in_zone]}},
                        "csi": {"driver": "example.com", "volumeHandle": "volume"},
                    },
                }
            ],
            "persistentVolumeClaims": [
                {
                    "metadata": claim | {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                    "spec": {"volumeName": "volume"},
                }
            ],
        },
        "judged": [pod],
    }
    [found] = scheduler.verdicts(case)
    assert found["refused"] == {
        "there": {
            "plugin": "VolumeBinding",
            "code": "UnschedulableAndUnresolvable",
            "reasons": ["node(s) didn't match PersistentVolume's node affinity"],
        }
    }
