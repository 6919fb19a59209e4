"""What a pod asks of its node, read and applied."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.errors import ObjectError
from extender.model.node_resources import JUST_A_POD, Allocatable, Requirements, Taint
from extender.wire.placement import read_requirements

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LABELS = {"disk": "ssd", "cores": "16", "zone": "a"}


def wish(**spec: Any) -> Requirements:
    """Read the wish of a pod with this spec."""
    return read_requirements(json.dumps({"spec": spec}).encode(), JUST_A_POD)


def affinity(*terms: Any) -> dict[str, Any]:
    """Build required node affinity."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    """Build a term of one expression."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, True, id="no wish at all"),
        pytest.param({"nodeSelector": {"disk": "ssd", "zone": "a"}}, True, id="a selector"),
        pytest.param({"nodeSelector": {"disk": "ssd", "zone": "b"}}, False, id="half a selector"),
        pytest.param({"affinity": {"podAffinity": {}}}, True, id="affinity without nodes"),
        pytest.param({"affinity": {"nodeAffinity": {}}}, True, id="nothing required"),
        pytest.param({"affinity": affinity()}, False, id="no terms match nothing"),
        pytest.param({"affinity": affinity({})}, False, id="an empty term matches nothing"),
        pytest.param(
            {"affinity": affinity({}, expression("disk", "Exists"))}, True, id="one of two terms"
        ),
        pytest.param(
            {
                "nodeSelector": {"zone": "b"},
                "affinity": affinity(expression("disk", "In", "ssd")),
            },
            False,
            id="selector and affinity both have to match",
        ),
        pytest.param({"affinity": affinity(expression("disk", "NotIn", "ssd"))}, False, id="NotIn"),
        pytest.param({"affinity": affinity(expression("x", "DoesNotExist"))}, True, id="absent"),
        pytest.param({"affinity": affinity(expression("cores", "Gt", "15"))}, True, id="above"),
        pytest.param(
            {"affinity": affinity(expression("cores", "Gt", "16"))}, False, id="not above"
        ),
        pytest.param({"affinity": affinity(expression("cores", "Lt", "17"))}, True, id="below"),
        pytest.param({"affinity": affinity(expression("disk", "Lt", "17"))}, False, id="no number"),
        pytest.param({"affinity": affinity(expression("none", "Gt", "1"))}, False, id="no label"),
        pytest.param(
            {
                "affinity": affinity(
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
                )
            },
            True,
            id="the node by its name",
        ),
    ],
)
def test_which_nodes_a_pod_accepts(spec: dict[str, Any], expected: bool) -> None:
    assert wish(**spec).accepts("n", LABELS) is expected


GPU = Taint("gpu", "yes", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "gpu", "operator": "Exists"}, True, id="any value"),
        pytest.param({"key": "gpu", "value": "yes"}, True, id="equal is the default"),
        pytest.param({"key": "gpu", "operator": "Equal", "value": "no"}, False, id="other value"),
        pytest.param({"key": "gpu"}, False, id="no value is the empty one"),
        pytest.param({"key": "x", "operator": "Exists"}, False, id="another key"),
        pytest.param(
            {"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False, id="other effect"
        ),
        pytest.param(
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True, id="same effect"
        ),
        pytest.param({"key": "gpu", "operator": "Lt", "value": "9"}, False, id="unknown operator"),
    ],
)
def test_which_taints_a_pod_tolerates(toleration: dict[str, str], expected: bool) -> None:
    assert wish(tolerations=[toleration]).tolerates(Allocatable({}, (GPU,))) is expected


def test_every_taint_has_to_be_tolerated() -> None:
    both = Allocatable({}, (GPU, Taint("old", "", "NoExecute")))
    assert not wish(tolerations=[{"key": "gpu", "operator": "Exists"}]).tolerates(both)
    assert wish(tolerations=[{"operator": "Exists"}]).tolerates(both)
    assert wish().tolerates(Allocatable({}))


@pytest.mark.parametrize(
    "term",
    [
        pytest.param(expression("a", "Near", "x"), id="an unknown operator"),
        pytest.param(expression("a", "Gt", "x"), id="a bound that is no number"),
        pytest.param(expression("a", "Gt"), id="no bound"),
    ],
)
def test_broken_node_affinity_is_named(term: dict[str, Any]) -> None:
    with pytest.raises(ObjectError, match="nodeAffinity"):
        wish(affinity=affinity(term))
