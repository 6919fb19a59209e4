"""A LimitRange gives containers of manifests and templates what admission would add to them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from affinityctl.reading.whole_pods import WholePodReader
from extender.core.errors import ObjectError
from tests.builders import HOST, Pod, node, pod, workload
from tests.commands.explain.cluster import Explain

NODES = [node("small", {HOST: "small"}, {"cpu": "2", "memory": "1Gi", "pods": "9"})]
TOO_LITTLE = "too little cpu even when empty (asks for {}, the largest of them has 2)"


def limit_range(namespace: str = "default", kind: str = "Container", **item: Any) -> Any:
    metadata = {"name": "limits", "namespace": namespace}
    spec = {"limits": [{"type": kind, **item}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": spec}


def cpu(amount: str) -> dict[str, str]:
    return {"cpu": amount}


def asking(requests: Any = None, limits: Any = None, **metadata: Any) -> Pod:
    made = pod("new")
    given = {"requests": requests, "limits": limits}
    resources = {name: each for name, each in given.items() if each is not None}
    spec = {"containers": [{"name": "main", "resources": resources}]}
    return Pod({**made, "metadata": {**made["metadata"], **metadata}, "spec": spec})


CASES = [
    pytest.param(asking(), limit_range(defaultRequest=cpu("3")), "3", id="a request"),
    pytest.param(asking(), limit_range(default=cpu("3")), "3", id="a limit is a request"),
    pytest.param(asking(), limit_range(max=cpu("3")), "3", id="the most is a limit"),
    pytest.param(asking(), limit_range(min=cpu("3")), "3", id="the least is a request"),
    pytest.param(
        asking(), limit_range(default=cpu("3"), defaultRequest=cpu("1")), None, id="two of them"
    ),
    pytest.param(asking(cpu("1")), limit_range(defaultRequest=cpu("3")), None, id="its own"),
    pytest.param(asking(None, cpu("1")), limit_range(defaultRequest=cpu("3")), None, id="limited"),
    pytest.param(asking(), limit_range("shop", defaultRequest=cpu("3")), None, id="elsewhere"),
    pytest.param(asking(), limit_range(kind="Pod", max=cpu("3")), None, id="of pods"),
    pytest.param(
        asking(resourceVersion="1"), limit_range(defaultRequest=cpu("3")), None, id="a stored pod"
    ),
]


@pytest.mark.parametrize(("asked", "limits", "amount"), CASES)
def test_a_limit_range_adds_to_pods(
    asked: Pod, limits: Any, amount: str | None, explain: Explain
) -> None:
    said = "1 of 1 node fit" if amount is None else TOO_LITTLE.format(amount)
    found, text = explain("new --node small", limits, *NODES, asked)
    assert (found, said in " ".join(text.split())) == (int(amount is not None), True), text


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_and_to_templates_wherever_it_stands(explain: Explain, *, first: bool) -> None:
    limits, web = limit_range(defaultRequest=cpu("3")), workload("Deployment", "web", pod("t"))
    things = [limits, web] if first else [web, limits]
    code, text = explain("deployment/web --node small", *NODES, *things)
    assert (code, TOO_LITTLE.format(3) in " ".join(text.split())) == (1, True), text


def test_one_of_the_cluster_adds_to_a_manifest(explain: Explain) -> None:
    manifest = json.dumps(asking())
    code, text = explain(
        "--node small", *NODES, limit_range(defaultRequest=cpu("3")), manifest=manifest
    )
    assert (code, TOO_LITTLE.format(3) in " ".join(text.split())) == (1, True), text


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"containers": 5}, "containers", id="no list"),
        pytest.param({"containers": {"a": 1}}, "containers", id="an object"),
        pytest.param({"containers": [{"resources": 5}]}, "containers[0].resources", id="no object"),
        pytest.param(
            {"containers": [{"resources": {"limits": ["x"]}}]},
            "containers[0].resources.limits",
            id="limits that are a list",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"cpu": "1"}, "requests": 5}}]},
            "containers[0].resources.requests",
            id="requests that are a number",
        ),
    ],
)
def test_a_broken_manifest_is_refused_where_one_adds_as_well(spec: Any, field: str) -> None:
    reader = WholePodReader()
    item = {"type": "Container", "default": {"cpu": "1"}}
    metadata = {"name": "defaults", "namespace": "default"}
    one = {"kind": "LimitRange", "metadata": metadata, "spec": {"limits": [item]}}
    reader.limits.take("LimitRange", json.dumps(one).encode())
    with pytest.raises(ObjectError, match=re.escape(f"spec.{field}: Expected")):
        reader.read(json.dumps({"metadata": {"name": "x"}, "spec": spec}).encode())
