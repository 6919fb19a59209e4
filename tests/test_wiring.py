"""What the configuration says of plugins reaches them."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import pytest

from extender import config
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.wiring import score_plugins


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, InterPodAffinity(1, False, 2), id="the scheduler's defaults"),  # noqa: FBT003
        pytest.param(
            {
                "hardPodAffinityWeight": 5,
                "ignorePreferredTermsOfExistingPods": True,
                "weight": 7,
            },
            InterPodAffinity(5, True, 7),  # noqa: FBT003
            id="other values",
        ),
    ],
)
def test_arguments_of_inter_pod_affinity(
    fields: dict[str, Any], expected: InterPodAffinity
) -> None:
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "plugins": ["CrossNamespacePodAffinity", "InterPodAffinity"],
        "interPodAffinity": fields,
    }
    loaded = config.load(Namespace(config="config.yaml"), {}, lambda _: json.dumps(document))
    assert score_plugins(loaded) == (expected,)
