"""A PriorityClass gives pods of manifests their priority, as admission would."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import HOST, ZONE, node, pod, selector, term, workload
from tests.commands.explain.cluster import Explain

SMALL = node("small", {HOST: "small"}, {"cpu": "2", "memory": "1Gi", "pods": "3"})
BIG = pod("new").requests(cpu="2").selects(**{HOST: "small"})
THERE = pod("there").requests(cpu="2").priority(5).on("small")
EVICTS = "would evict default/there from small"


def priority_class(name: str, value: int, **fields: Any) -> Any:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**head, "metadata": {"name": name}, "value": value, **fields}


HIGH = priority_class("high", 1000)


@pytest.mark.parametrize(
    ("new", "objects", "said"),
    [
        pytest.param(BIG.priority_class("high"), [HIGH], EVICTS, id="a class"),
        pytest.param(
            BIG.priority_class("low"), [priority_class("low", 5)], None, id="as low as the others"
        ),
        pytest.param(
            BIG.priority_class("high").priority(1), [HIGH], None, id="a priority of its own"
        ),
        pytest.param(BIG.priority_class("system-node-critical"), [], EVICTS, id="Kubernetes' own"),
        pytest.param(
            BIG,
            [priority_class("any", 9, globalDefault=True), HIGH],
            EVICTS,
            id="the default for all",
        ),
        pytest.param(
            BIG.priority_class("high"),
            [priority_class("high", 9, preemptionPolicy="Never")],
            "its preemptionPolicy is Never: no pod is evicted for it, though some are less "
            "important",
            id="one that evicts none",
        ),
        pytest.param(
            BIG.priority_class("nil"), [HIGH], "no PriorityClass nil is known", id="an unknown one"
        ),
        pytest.param(BIG.never_preempts(), [], None, id="one that could evict none"),
    ],
)
@pytest.mark.parametrize("where", ["in a manifest", "in the cluster", "before its class"])
def test_a_class_decides_whom_a_pod_evicts(
    where: str, new: Any, objects: list[Any], said: str | None, explain: Explain
) -> None:
    if where == "in a manifest":
        code, text = explain("", SMALL, THERE, *objects, manifest=json.dumps(new))
    else:
        first, *others = ([new], objects) if where == "before its class" else (objects, [new])
        code, text = explain(
            "new", *first, SMALL, THERE, *(each for some in others for each in some)
        )
    told = " ".join(text.split())
    assert code == 1
    assert "ignored" not in told
    for each in (EVICTS, "preemptionPolicy", "PriorityClass"):
        assert (each in told) is (each in (said or "")), text


def test_a_class_may_be_in_the_manifest(explain: Explain) -> None:
    made = workload("Deployment", "web", BIG.priority_class("high"))
    text = explain("", SMALL, THERE, manifest=json.dumps({"kind": "List", "items": [made, HIGH]}))[
        1
    ]
    assert EVICTS in " ".join(text.split())


def test_pods_that_a_template_would_make_have_it(explain: Explain) -> None:
    made = workload("Deployment", "web", BIG.priority_class("high"), replicas=1)
    _, told = explain("deployment/web -o json", made, SMALL, THERE, HIGH)
    assert json.loads(told)["preemption"]["victims"] == ["default/there"]


ELSEWHERE = "default/weak is less important, but not on the node that would fit then"
APART = pod("new").anti_affinity(term(ZONE, selector(app="weak"))).selects(**{HOST: "a2"})


@pytest.mark.parametrize(
    ("asked", "on", "said"),
    [
        pytest.param(APART.priority(9), "a1", True, id="in the same zone"),
        pytest.param(APART.priority(9), "a2", False, id="on the node that it tries"),
        pytest.param(APART.priority(5), "a1", False, id="as important"),
        pytest.param(APART.priority(9).never_preempts(), "a1", False, id="it evicts none"),
    ],
)
def test_less_important_pods_of_other_nodes_stay(
    asked: Any, on: str, *, said: bool, explain: Explain
) -> None:
    weak = pod("weak").labels(app="weak").priority(5).on(on)
    code, text = explain("new", weak, asked)
    assert (code, ELSEWHERE in " ".join(text.split())) == (1, said), text
