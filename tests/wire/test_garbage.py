"""What is read of a large pod on the way is nothing that the garbage collector would walk."""

from __future__ import annotations

import gc
from typing import Any

import msgspec
import pytest

from extender.core.config.features import features
from extender.core.wire import placement
from extender.core.wire.manifests import AffinityManifest, PodManifest
from extender.core.wire.node_terms import NodeAffinityManifest
from tests.builders import HOST, Json, requirement, term

pytestmark = pytest.mark.thorough

MANY = 5000
IN = requirement("app", "In", "a", "b")


def alike(one: Json) -> list[Json]:
    return [one] * MANY


def affinity(*terms: Json) -> Json:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [*terms]}}


TERM = term(HOST, {"matchExpressions": [IN]}, namespaces=["a"], namespaceSelector={})
NODE_TERM = {"matchExpressions": [IN], "matchFields": [requirement("metadata.name", "In", "n")]}
NODE_AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": alike(NODE_TERM)},
    "preferredDuringSchedulingIgnoredDuringExecution": alike(
        {"weight": 1, "preference": {"matchExpressions": [IN]}}
    ),
}


@pytest.mark.parametrize(
    ("kind", "manifest"),
    [
        pytest.param(
            AffinityManifest, affinity(term(HOST, {"matchExpressions": alike(IN)})), id="conditions"
        ),
        pytest.param(AffinityManifest, affinity(*alike(TERM)), id="terms"),
        pytest.param(NodeAffinityManifest, NODE_AFFINITY, id="node terms"),
        *(
            pytest.param(
                each.module("manifests").StrictAffinity,
                {"nodeAffinity": NODE_AFFINITY},
                id="node terms in an annotation",
            )
            for each in features()
            if each.carries
        ),
        pytest.param(
            list[placement._Toleration],
            alike({"key": "a", "effect": "NoSchedule"}),
            id="tolerations",
        ),
        pytest.param(list[placement.ContainerPort], alike({"hostPort": 80}), id="host ports"),
        pytest.param(list[placement.OwnerReference], alike({"kind": "ReplicaSet"}), id="owners"),
        pytest.param(list[placement._Condition], alike({"type": "Ready"}), id="status"),
        pytest.param(
            PodManifest,
            {"metadata": {}, "spec": {"containers": alike({"resources": {}})}},
            id="containers",
        ),
    ],
)
def test_the_collector_has_little_to_walk(kind: Any, manifest: object) -> None:
    raw = msgspec.json.encode(manifest)
    decoder = msgspec.json.Decoder(kind)
    gc.collect()
    gc.freeze()
    try:
        found = decoder.decode(raw)
        # Of tuples it finds out only now that there is nothing to walk in them.
        gc.collect(0)
        assert len(gc.get_objects()) < MANY // 10
        assert found is not None
    finally:
        gc.unfreeze()
