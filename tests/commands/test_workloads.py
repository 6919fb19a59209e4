"""Which pods a workload adds: those that its template would make and that are not there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from affinityctl.reading import workloads
from affinityctl.reading.workloads import Workloads
from extender.core.errors import ObjectError
from extender.core.model.workload import REVISION, WORKLOAD
from extender.core.wire.objects import PodReader
from tests.beside import RULES
from tests.builders import every_facet, pod, selector, term, workload

FAR = (
    pod("t", "shop")
    .labels(app="web")
    .anti_affinity(term("zone", selector(app="none"), namespaceSelector={}))
)


def missing(*objects: Any, nodes: int = 3) -> list[str]:
    """Return the keys of the pods to come."""
    found = Workloads()
    for each in objects:
        raw = json.dumps(each).encode()
        if each["kind"] == "Pod":
            found.add_pod(raw)
        else:
            found.add(each["kind"], raw)
    return [
        each.key for each in found.missing_pods(PodReader(facets=every_facet(), rules=RULES), nodes)
    ]


def replica(number: int, owner: str, *, template_hash: str = "") -> Any:
    labels = {"pod-template-hash": template_hash} if template_hash else {}
    return pod(f"web-{number}", "shop").labels(labels).owned_by(owner)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([workload("Deployment", "web", FAR, replicas=2)], 2, id="a deployment"),
        pytest.param([workload("ReplicaSet", "web", FAR)], 1, id="one replica unless it says"),
        pytest.param([workload("StatefulSet", "web", FAR, replicas=0)], 0, id="scaled to nothing"),
        pytest.param([workload("DaemonSet", "web", FAR)], 3, id="a daemon on each node"),
        pytest.param(
            [workload("DaemonSet", "web", FAR) | {"status": {"desiredNumberScheduled": 2}}],
            2,
            id="a daemon on those nodes that it wants",
        ),
        pytest.param([workload("Job", "web", FAR, parallelism=3)], 3, id="a job"),
        pytest.param(
            [
                workload("Job", "web", FAR, parallelism=3, completions=4)
                | {"status": {"succeeded": 2}}
            ],
            2,
            id="a job that is half done",
        ),
        pytest.param(
            [workload("Job", "web", FAR) | {"status": {"completionTime": "2026-01-01T00:00:00Z"}}],
            0,
            id="a job that is done",
        ),
        pytest.param([workload("Job", "web", FAR, suspend=True)], 0, id="a suspended job"),
        pytest.param(
            [workload("CronJob", "web", FAR, parallelism=2)], 2, id="one run of a cron job"
        ),
        pytest.param([workload("CronJob", "web", FAR, suspend=True)], 0, id="a suspended cron job"),
        pytest.param([workload("ReplicationController", "web", FAR)], 1, id="a controller of old"),
        pytest.param(
            [
                workload("Deployment", "web", FAR, replicas=3),
                workload("ReplicaSet", "web-5d", FAR, owner="Deployment/web", replicas=3),
                replica(0, "ReplicaSet/web-5d"),
                replica(1, "ReplicaSet/web-5d"),
            ],
            1,
            id="a deployment, its replica set, and two of its pods",
        ),
        pytest.param(
            [
                replica(0, "ReplicaSet/web-5d", template_hash="5d"),
                workload("Deployment", "web", FAR, replicas=3),
            ],
            2,
            id="a deployment and a pod, whose replica set the dump does not have",
        ),
        pytest.param(
            [
                workload("Deployment", "web", FAR, replicas=1),
                workload("ReplicaSet", "web-5d", FAR, replicas=1),
            ],
            2,
            id="two workloads that have nothing to do with each other",
        ),
        pytest.param(
            [
                workload("CronJob", "web", FAR, parallelism=1),
                replica(0, "Job/web-29000000"),
            ],
            0,
            id="a cron job whose run is going on",
        ),
        pytest.param(
            [
                workload("Deployment", "web", FAR),
                replica(0, "ReplicaSet/other-5d", template_hash="5d"),
            ],
            1,
            id="a pod of another workload",
        ),
        pytest.param(
            [
                workload("StatefulSet", "web", FAR, replicas=2),
                replica(0, "StatefulSet/web").phase("Failed"),
            ],
            2,
            id="a pod that has ended stands for none",
        ),
        pytest.param(
            [
                workload("StatefulSet", "web", FAR, replicas=1),
                *(replica(number, "StatefulSet/web") for number in range(3)),
            ],
            0,
            id="more pods than replicas",
        ),
        pytest.param(
            [
                workload("ReplicaSet", "a", FAR, owner="ReplicaSet/b"),
                workload("ReplicaSet", "b", FAR, owner="ReplicaSet/a"),
            ],
            2,
            id="two that own each other count as two",
        ),
    ],
)
def test_pods_to_come(objects: list[Any], expected: int) -> None:
    assert len(missing(*objects)) == expected


def test_they_are_named_after_their_workload_and_share_what_is_read() -> None:
    found = Workloads()
    found.add("Deployment", json.dumps(workload("Deployment", "web", FAR, replicas=2)).encode())
    first, second = found.missing_pods(PodReader(facets=every_facet(), rules=RULES), 1)
    assert [first.key, second.key] == ["shop/deployment/web[0]", "shop/deployment/web[1]"]
    assert first.pod_class is second.pod_class
    assert first.status.facets == second.status.facets
    labels = {"app": "web", "pod-template-hash": "new"}
    marks = {WORKLOAD: "shop/Deployment/web", REVISION: "new"}
    assert (first.node, first.pod_class.labels) == (None, labels | marks)


@pytest.mark.parametrize(
    ("there", "start", "expected"),
    [
        pytest.param((), 0, ["0", "1", "2"], id="none is there"),
        pytest.param((1,), 0, ["0", "2"], id="the second is there"),
        pytest.param((4,), 3, ["3", "5"], id="they begin with a number"),
    ],
)
def test_those_of_a_stateful_set_have_the_ordinals_that_are_free(
    there: tuple[int, ...], start: int, expected: list[str]
) -> None:
    made = workload("StatefulSet", "web", FAR, replicas=3, ordinals={"start": start})
    keys = missing(made, *(replica(each, "StatefulSet/web") for each in there))
    assert keys == [f"shop/web-{each}" for each in expected]


def test_workloads_with_the_same_generated_name_are_two() -> None:
    job = workload("Job", "", FAR)
    job["metadata"] |= {"generateName": "batch-"}
    assert len(missing(job, job)) == 2


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        pytest.param({"metadata": {}}, "metadata.name: a workload needs a name", id="no name"),
        pytest.param(
            {"metadata": {"name": "a"}, "spec": {"replicas": -1}}, "spec.replicas", id="below 0"
        ),
    ],
)
def test_a_broken_workload_is_refused(broken: Any, says: str) -> None:
    with pytest.raises(ObjectError, match=says):
        missing({"kind": "Deployment"} | broken)


def test_a_key_without_anything_below_it_is_null() -> None:
    template = {"metadata": None, "spec": {"containers": None, "affinity": None}}
    made = {"metadata": {"name": "a", "generateName": None}, "spec": {"template": template}}
    assert missing({"kind": "Deployment"} | made) == ["default/deployment/a[0]"]


def test_a_broken_template_is_named() -> None:
    broken = workload("Deployment", "web", pod("t", "shop").affinity(term("")))
    with pytest.raises(ObjectError, match=r"^Deployment shop/web: template\.spec\.affinity\."):
        missing(broken)


def test_there_is_a_limit_to_pods_of_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_PODS", 5)
    assert len(missing(workload("Deployment", "web", FAR, replicas=5))) == 5
    with pytest.raises(ObjectError, match="more than 5"):
        missing(
            workload("Deployment", "a", FAR, replicas=3), workload("Job", "b", FAR, parallelism=3)
        )
