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
from extender.core.verbs.node_affinity import NodeAffinityPlugin
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
    of_annotations = NodeAffinityPlugin(of_annotations=True)
    assert score_plugins(loaded) == (expected, of_annotations)


def test_arguments_of_node_affinity() -> None:
    added = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 3, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
        ]
    }
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "plugins": ["NodeAffinity"],
        "nodeAffinity": {"addedAffinity": added, "weight": 7},
    }
    loaded = layers.load(Namespace(config="config.yaml"), lambda _: json.dumps(document))
    plugin, other = score_plugins(loaded)
    assert other == InterPodAffinity(of_annotations=True)
    assert isinstance(plugin, NodeAffinityPlugin)
    assert plugin.weight == 7
    assert plugin.added.required is None
    assert plugin.added.preferred is not None
    assert plugin.added.preferred.judge("n", {"a": ""}) == 3


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
