"""The bundled sample cluster tells the story that its comments tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl import cli
from tests.deploy.places import SAMPLES, read_objects
from tests.oracle import ANTI_AFFINITY, EXISTING_ANTI_AFFINITY, Cluster, raw_scores, refusals

OBJECTS = read_objects(SAMPLES / "cluster.yaml")
REFUSED = json.loads((SAMPLES / "refused.json").read_text())


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [one for one in OBJECTS if one["kind"] == kind]


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [one["metadata"]["name"] for one in objects]


PODS = of_kind("Pod")
NODES = names(of_kind("Node"))
PLACED = [pod for pod in PODS if "nodeName" in pod["spec"]]


def cluster(*, without: str = "") -> Cluster:
    return Cluster(
        nodes=of_kind("Node"),
        namespaces=of_kind("Namespace"),
        pods=[pod for pod in PLACED if pod["metadata"]["name"] != without],
    )


def pod(name: str) -> dict[str, Any]:
    (found,) = (one for one in PODS if one["metadata"]["name"] == name)
    return found


WAITING = [one for one in PODS if one not in PLACED]
PAIR = ("red-0", "scratch")


def test_three_pods_wait() -> None:
    assert names(WAITING) == ["web-7d4c8b9f5-zs5nw", "db-3", "train-6c5d7f9b8-k2v4s"]


def test_the_question_is_about_that_pod_and_all_nodes() -> None:
    asked = dict(REFUSED["Pod"])
    left_over = {
        field: value for field, value in pod("db-3").items() if field not in {"apiVersion", "kind"}
    }
    assert asked == left_over
    assert REFUSED["NodeNames"] == NODES
    assert REFUSED["Nodes"] is None


def test_every_pod_is_in_a_known_place() -> None:
    assert {one["metadata"]["namespace"] for one in PODS} <= set(names(of_kind("Namespace")))
    assert {one["spec"]["nodeName"] for one in PLACED} <= set(NODES)


@pytest.mark.parametrize("name", [name for name in names(PLACED) if name not in PAIR])
def test_a_placed_pod_keeps_its_rules_and_those_of_others(name: str) -> None:
    found = refusals(cluster(without=name), pod(name), NODES)
    assert pod(name)["spec"]["nodeName"] not in found


def test_the_pod_left_over_is_refused_everywhere_by_its_own_rule() -> None:
    found = refusals(cluster(), pod("db-3"), NODES)
    assert found == dict.fromkeys(NODES, ANTI_AFFINITY)


def test_without_one_of_its_siblings_it_fits_that_zone() -> None:
    found = refusals(cluster(without="db-1"), pod("db-3"), NODES)
    assert set(NODES) - set(found) == {"b1", "b2", "b3"}


def test_the_pair_breaks_the_rule_of_one_of_them() -> None:
    own, guest = (refusals(cluster(without=name), pod(name), NODES) for name in PAIR)
    assert (own, guest) == ({"c2": ANTI_AFFINITY}, {"c2": EXISTING_ANTI_AFFINITY})


@pytest.mark.parametrize(
    ("namespace", "refused"),
    [
        pytest.param("blue", {"c2": EXISTING_ANTI_AFFINITY}, id="another tenant is kept away"),
        pytest.param("red", {}, id="the same tenant is not"),
        pytest.param("shop", {}, id="nor is who is no tenant"),
    ],
)
def test_the_tenant_keeps_its_node(namespace: str, refused: dict[str, Any]) -> None:
    guest = {"metadata": {"namespace": namespace, "name": "guest"}, "spec": {}}
    assert refusals(cluster(), guest, NODES) == refused


@pytest.mark.parametrize(
    ("name", "zones"),
    [
        pytest.param(
            "cache-5f7c9d8b6-c9x4l", {"a", "c"}, id="a cache likes zones without another cache"
        ),
        pytest.param("report-0", {"a", "b"}, id="a report likes zones with a cache"),
    ],
)
def test_the_zones_that_a_pod_likes(name: str, zones: set[str]) -> None:
    found = raw_scores(cluster(without=name), pod(name), NODES)
    best = max(found.values())
    assert {node[0] for node, score in found.items() if score == best} == zones
    assert {node[0] for node, score in found.items() if score < best} == set("abc") - zones


def test_each_waiting_pod_has_a_cause_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the update it is the rule, not the six nodes outside the pool that the pod asks for."""
    assert cli.main(["explain", "-A", "--cluster", str(SAMPLES / "cluster.yaml")]) == 1
    told = capsys.readouterr().out
    causes = [line for line in told.splitlines() if line.startswith("1 pod: ")]
    assert [cause.partition(" (")[0] for cause in causes] == [
        "1 pod: too little cpu even when empty",
        "1 pod: your anti-affinity on zone",
        "1 pod: your anti-affinity on hostname",
    ]
