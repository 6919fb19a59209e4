"""A RuntimeClass gives pods of manifests and templates what admission would add to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import HOST, Pod, node, pod, workload
from tests.commands.explain.cluster import Explain

ROOM = {"cpu": "4", "memory": "1Gi", "pods": "3"}
TAINT = {"key": "sandbox", "value": "", "effect": "NoSchedule"}
NODES = [
    node("plain", {HOST: "plain"}, ROOM),
    node("boxed", {HOST: "boxed", "sandbox": "yes"}, ROOM, [TAINT]),
]
ADDED = {
    "nodeSelector": {"sandbox": "yes"},
    "tolerations": [{"key": "sandbox", "operator": "Exists"}],
}
ONE, ALL_BUT_ONE = "1 of 5 nodes fit; 4: node affinity", "4 of 5 nodes fit; 1: untolerated taint"
UNKNOWN = "what its RuntimeClass adds (node selector, tolerations, overhead) is not known"


def runtime_class(**more: Any) -> Any:
    head = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    return {**head, "metadata": {"name": "box"}, "handler": "box", **more}


def boxed(cpu: str = "1", **metadata: Any) -> Pod:
    made = pod("new").requests(cpu=cpu)
    given = {"metadata": {**made["metadata"], **metadata}}
    return Pod({**made, **given, "spec": {**made["spec"], "runtimeClassName": "box"}})


@pytest.mark.parametrize(
    ("asked", "classes", "code", "said"),
    [
        pytest.param(boxed(), [runtime_class(scheduling=ADDED)], 0, ONE, id="both"),
        pytest.param(boxed(), [runtime_class()], 0, ALL_BUT_ONE, id="nothing"),
        pytest.param(
            boxed("3"),
            [runtime_class(scheduling=ADDED, overhead={"podFixed": {"cpu": "2"}})],
            1,
            "too little cpu even when empty (asks for 5, the largest of them has 4)",
            id="overhead as well",
        ),
        pytest.param(boxed(), [], 4, UNKNOWN, id="a class that is not known"),
    ],
)
@pytest.mark.parametrize("made", [False, True], ids=["a template", "a pod"])
def test_a_runtime_class_adds_to_pods_of_manifests(
    asked: Pod, classes: list[Any], code: int, said: str, *, made: bool, explain: Explain
) -> None:
    things = asked if made else workload("Deployment", "web", asked, replicas=1)
    found, text = explain("new" if made else "deployment/web", *classes, *NODES, things)
    assert (found, said in " ".join(text.split())) == (code, True), text


def test_a_class_may_come_with_the_manifest(explain: Explain) -> None:
    items = [runtime_class(scheduling=ADDED), boxed()]
    manifest = json.dumps({"kind": "List", "items": items})
    code, text = explain("", *NODES, manifest=manifest)
    assert (code, ONE in " ".join(text.split())) == (0, True), text


def test_a_pod_that_is_stored_has_it_already(explain: Explain) -> None:
    stored = boxed(resourceVersion="1")
    code, text = explain("new", runtime_class(scheduling=ADDED), *NODES, stored)
    assert (code, ALL_BUT_ONE in " ".join(text.split())) == (0, True), text
