"""The tools and the extender with the affinity rules that public charts really render."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from affinityctl import cli
from bench.workloads import CHART_WEIGHTS
from tests import oracle
from tests.builders import HOST, ZONE, Pod, namespace, node, pod, state_of
from tests.charts.__main__ import mix
from tests.charts.records import NAMESPACE, RECORDS, Record, Workload, recorded, records
from tests.commands.lint.asking import found, linted
from tests.deploy.places import ROOT
from tests.verbs.judging import (
    actual_refusals,
    actual_scores,
    expected_refusals,
    expected_scores,
)

CHARTS = records()
DOCS = ROOT / "docs" / "performance.md"
NODES = [
    node(f"n{number}", {HOST: f"n{number}", ZONE: f"z{number % 3}"}, {"cpu": "8", "pods": "110"})
    for number in range(6)
]
NAMES = [each["metadata"]["name"] for each in NODES]
IDS = [str(each) for each in CHARTS]
Run = Callable[..., tuple[int, Any]]
NEEDS_CLUSTER = {"topology-key-unknown", "selector-misses-own-pods"}
EACH = pytest.mark.parametrize("chart", CHARTS, ids=IDS)
WORKLOADS = {f"{chart}: {each.name}": each for chart in CHARTS for each in chart.workloads}
EXCLUSIVE = {name: each for name, each in WORKLOADS.items() if HOST in each.apart_by}
SPREAD = {
    name: each
    for name, each in WORKLOADS.items()
    if not each.apart_by
    and all(rule.apart for rule in each.rules)
    and any(rule.key in {HOST, ZONE} and each.is_about_itself(rule) for rule in each.rules)
}
MISSED = {
    # It asks by the zone label that nodes no longer have, and by nothing else.
    "Helm stable/redis-ha replicas=3,hardAntiAffinity=false: demo-redis-ha-server",
    # The selector has the chart's name, the label that of the release with it: they are the same
    # only in a release that is called like the chart.
    "AWS/appmesh-gateway: demo-appmesh-gateway",
    "Helm stable/contour: demo-contour",
    "Timescale/timescaledb-multinode: demo-timescaledb-access",
    "Timescale/timescaledb-multinode: demo-timescaledb-data",
    # An arbiter is to be apart from the members with data, and not from other arbiters.
    "Bitnami/mongodb architecture=replicaset: demo-mongodb-arbiter",
    # Both at once, with the same weight.
    "Bitnami/nginx replicaCount=3,podAffinityPreset=soft: demo-nginx",
}
"""Workloads whose rules do not keep their own replicas apart."""


def one_of_each_chart(workloads: Mapping[str, Workload]) -> dict[str, Any]:
    """Return the first of each chart, as pytest's parameters; the judge below sees all of them."""
    first: dict[str, Workload] = {}
    for name, each in workloads.items():
        first.setdefault(name.partition(": ")[0], each)
    return {"argvalues": first.values(), "ids": first.keys()}


OLD_ZONE = {"topology-key-deprecated", "topology-key-unknown"}
"""By failure-domain.beta.kubernetes.io/zone, which nodes no longer have."""
RIGHT = {
    "Grafana/loki-distributed": OLD_ZONE,
    "Helm stable/redis-ha": OLD_ZONE,
    "Helm stable/redis-ha replicas=3,hardAntiAffinity=false": OLD_ZONE,
    # The selector has the chart's name, the label that of the release with it: see MISSED.
    "Helm stable/contour": {"selector-misses-own-pods"},
    "Timescale/timescaledb-multinode": {"selector-misses-own-pods"},
    # The chart also keeps its rule apart, by default and with the same weight.
    "Bitnami/nginx replicaCount=3,podAffinityPreset=soft": {"preferred-terms-cancel"},
}
"""Alarms that are right."""


@EACH
@pytest.mark.parametrize("whole", [True, False], ids=["with its cluster", "alone"])
def test_lint_raises_no_false_alarm(chart: Record, whole: bool) -> None:
    around = [*NODES, namespace(NAMESPACE)] if whole else []
    report = linted(*around, *(each.manifest() for each in chart.workloads), whole=whole)
    expected = RIGHT.get(str(chart), set())
    assert set(found(report)) == (expected if whole else expected - NEEDS_CLUSTER)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the six nodes and what else is there; return its code and its JSON."""

    def run(line: str, *objects: Any, manifests: Iterable[Any] = ()) -> tuple[int, Any]:
        dump, file = tmp_path / "dump.json", tmp_path / "manifests.json"
        dump.write_text(_list([*NODES, namespace(NAMESPACE), *objects]))
        file.write_text(_list(manifests))
        arguments = line.replace("FILE", str(file)).split()
        code = cli.main([*arguments, "-n", NAMESPACE, "-o", "json", "--cluster", str(dump)])
        return code, json.loads(capsys.readouterr().out)

    return run


def _list(items: Iterable[Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


@EACH
def test_all_pods_of_a_chart_find_a_place(chart: Record, run: Run) -> None:
    code, said = run("simulate -f FILE", manifests=[each.manifest() for each in chart.workloads])
    assert code == 0
    placed = [pod for step in said["steps"] for pod in step["placed"]]
    assert len(placed) == sum(each.replicas for each in chart.workloads)


@pytest.mark.parametrize("asked", **one_of_each_chart(EXCLUSIVE))
def test_replicas_that_must_be_apart_take_a_node_each_and_one_too_many_waits(
    asked: Workload, run: Run
) -> None:
    code, said = run(f"simulate -f FILE --replicas {len(NODES) + 1}", manifests=[asked.manifest()])
    assert code == 1
    (step,) = said["steps"]
    assert sorted(each["node"] for each in step["placed"]) == NAMES
    (waits,) = said["pending"]
    assert not set(waits["pods"]) & {each["pod"] for each in step["placed"]}
    assert waits["count"] == 1
    assert f"{len(NODES)} nodes: your anti-affinity on hostname, blocked by" in waits["summary"]


@pytest.mark.parametrize("asked", **one_of_each_chart(EXCLUSIVE))
def test_explain_names_the_pod_in_the_way_on_each_node(asked: Workload, run: Run) -> None:
    placed = [asked.replica(number).on(name) for number, name in enumerate(NAMES)]
    new = asked.replica(len(placed))
    code, said = run(f"explain {new['metadata']['name']}", *placed, new)
    assert code == 1
    in_the_way = {each["node"]: each["blockers"] for each in said["nodes"]}
    assert in_the_way == {
        name: [f"{NAMESPACE}/{asked.name}-{number}"] for number, name in enumerate(NAMES)
    }


@pytest.fixture
def one_replica() -> Callable[[Workload], list[Pod]]:
    """Put a replica on the first node, which has the fewest pods."""
    first, *others = NAMES
    crowd = [pod(f"other-{name}-{n}", NAMESPACE).on(name) for name in others for n in range(3)]
    return lambda asked: [asked.replica(0).on(first), *crowd]


@pytest.mark.parametrize("asked", **one_of_each_chart(SPREAD))
def test_replicas_that_would_rather_be_apart_go_to_fuller_nodes(
    asked: Workload, run: Run, one_replica: Callable[[Workload], list[Pod]]
) -> None:
    there = one_replica(asked)
    code, said = run("simulate -f FILE --replicas 5", *there, manifests=[asked.manifest()])
    assert code == 0
    (step,) = said["steps"]
    assert sorted(each["node"] for each in step["placed"]) == NAMES[1:]


@pytest.mark.parametrize("name", sorted(MISSED))
def test_replicas_whose_rules_miss_them_do_not(
    name: str, run: Run, one_replica: Callable[[Workload], list[Pod]]
) -> None:
    asked = WORKLOADS[name]
    code, said = run(
        "simulate -f FILE --replicas 5", *one_replica(asked), manifests=[asked.manifest()]
    )
    assert code == 0
    (step,) = said["steps"]
    assert NAMES[0] in {each["node"] for each in step["placed"]}


@pytest.mark.parametrize("asked", **one_of_each_chart(SPREAD))
def test_explain_prefers_the_node_without_a_replica(asked: Workload, run: Run) -> None:
    *taken, free = NAMES
    placed = [asked.replica(number).on(name) for number, name in enumerate(taken)]
    new = asked.replica(len(placed))
    code, said = run(f"explain {new['metadata']['name']}", *placed, new)
    assert code == 0
    scores = {each["node"]: each["score"] for each in said["nodes"]}
    assert scores[free] > max(scores[name] for name in taken)


def test_each_workload_is_one_of_these() -> None:
    assert EXCLUSIVE.keys() | SPREAD.keys() | MISSED == WORKLOADS.keys()


def test_verdicts_and_scores_are_those_of_an_independent_judge() -> None:
    """All charts at once, in the same namespace, on nodes where some of them must not be."""
    dice = Random(24)
    pods = [
        renamed(each.replica(number), f"{index}-{each.name}-{number}")
        for index, chart in enumerate(CHARTS)
        for each in chart.workloads
        for number in range(each.replicas + 1)
    ]
    waiting = [each for each in pods if dice.random() < 0.15]
    placed = [each.on(dice.choice(NAMES)) for each in pods if each not in waiting]
    around = ([*NODES], [namespace(NAMESPACE)], placed)
    state, cluster = state_of(*around), oracle.Cluster(*around)
    refused, scored = Counter[str](), 0
    for new in waiting:
        refusals = expected_refusals(cluster, new, NAMES, oracle.IN_TREE_DEFAULTS)
        assert actual_refusals(state, new, NAMES) == refusals
        scores = expected_scores(cluster, new, NAMES, oracle.IN_TREE_DEFAULTS)
        assert actual_scores(state, new, NAMES, oracle.IN_TREE_DEFAULTS) == scores
        refused.update(refusals.values())
        scored += len(set(scores.values())) > 1
    assert len(refused) == 2  # By rules of its own, and of others.
    assert min(refused.values()) > 10
    assert scored > 15


def renamed(each: Pod, name: str) -> Pod:
    """Tell pods of different records apart."""
    return Pod(each | {"metadata": each["metadata"] | {"name": name, "uid": name}})


def test_there_are_enough_charts_of_enough_publishers() -> None:
    assert len({(each.publisher, each.chart) for each in CHARTS}) >= 40
    assert len({each.publisher for each in CHARTS}) >= 10
    assert {each.licence for each in CHARTS} == {"Apache-2.0"}
    assert all(len(each.source.split("/")[6]) == 40 for each in CHARTS)


def test_the_benchmarks_have_the_weights_of_the_charts() -> None:
    """Of the preferred rules by host that stand there by default."""
    weights = Counter(
        rule.weight
        for chart in CHARTS
        if not chart.values
        for each in chart.workloads
        for rule in each.rules
        if rule.key == HOST and rule.weight in {1, 100}
    )
    for weight, number in Counter(CHART_WEIGHTS).items():
        measured = weights[weight] / weights.total()
        assert number / len(CHART_WEIGHTS) == pytest.approx(measured, abs=0.02)


def test_a_record_is_what_its_own_manifests_are_reduced_to() -> None:
    read = yaml.safe_load(RECORDS.read_text())
    raw = {(each["source"], each.get("values", "")): each for each in read}
    assert len(raw) == len(CHARTS)
    for chart in CHARTS:
        made = [each.manifest() for each in chart.workloads]
        assert recorded(made) == raw[chart.source, chart.values]["workloads"]


def test_the_mix_is_that_of_the_docs() -> None:
    own = [each for each in CHARTS if not each.values]
    rules = [rule for each in own for asked in each.workloads for rule in asked.rules]
    required = [rule for rule in rules if rule.weight is None]
    assert {rule.key for rule in required} == {HOST}
    assert all(rule.apart for rule in rules)
    counted, _, _, _, *rows = mix(own).splitlines()
    text = " ".join(DOCS.read_text().split())
    assert counted in text
    for row in rows[:3]:
        *_, share, charts, _ = row.split(" |")
        assert f"({share.strip()}, {charts.strip()} charts)" in text
