"""All filter plugins of the default profile at once, as a scheduler asks them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests import builders
from tests.builders import ZONE
from tests.conformance.asking import InTree, Release, in_tree
from tests.conformance.programs import ANSWER, answering
from tests.e2e.controlplane.binaries import KUBERNETES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.controlplane.binaries import Binaries

    Build = Callable[[Callable[[str], None]], Binaries]


@pytest.fixture(scope="module")
def scheduler(built: Callable[[Build], Binaries]) -> Iterator[InTree]:
    """Return the scheduler's own plugins, built on the first run."""
    with in_tree(Release(KUBERNETES), built(partial(answering, KUBERNETES))[ANSWER]) as asked:
        yield asked


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
