"""What the configuration says of plugins reaches them."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

import pytest

from extender.core import config
from extender.core.config import layers
from extender.core.enabled import score_plugins
from extender.core.source import pod_reader
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from tests.annotating import REQUIRED, annotated
from tests.beside import needs_rules
from tests.builders import ZONE, pod, term


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, InterPodAffinity(1, False, weight=2), id="the scheduler's defaults"),  # noqa: FBT003
        pytest.param(
            {
                "hardPodAffinityWeight": 5,
                "ignorePreferredTermsOfExistingPods": True,
                "weight": 7,
            },
            InterPodAffinity(5, True, weight=7),  # noqa: FBT003
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
        "plugins": ["InterPodAffinity"],
        "interPodAffinity": fields,
    }
    loaded = layers.load(Namespace(config="config.yaml"), lambda _: json.dumps(document))
    assert score_plugins(loaded) == (expected,)


@needs_rules
@pytest.mark.parametrize("selector", [None, {}], ids=["nowhere", "everywhere"])
def test_annotations_that_count_nowhere_are_not_read(selector: object) -> None:
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "annotations": {"namespaceSelector": selector},
    }
    loaded = layers.load(Namespace(config="config.yaml"), lambda _: json.dumps(document))
    rules = {"podAntiAffinity": {REQUIRED: [term(ZONE, {})]}}
    read = pod_reader(loaded).read(json.dumps(annotated(pod("new"), rules)).encode())
    assert (read.pod_class.annotated is None) is (selector is None)
