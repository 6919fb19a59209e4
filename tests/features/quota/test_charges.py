"""What quotas see of a pod."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.errors import ObjectError
from extender.core.wire.objects import PodReader
from extender.core.wire.quantities import BILLIONTHS
from extender.features.quota.charges import is_counted
from extender.features.quota.quotas import CHARGE, Charge
from tests.annotating import REQUIRED, annotated
from tests.beside import RULES
from tests.builders import ZONE, Pod, every_facet, model_pod, pod, selector, term

WEB = selector(app="web")
CROSSING = pod("x").anti_affinity(term(ZONE, WEB, namespaceSelector={}))
ONE = {"pods": "1", "count/pods": "1"}


def charge_of(**spec: Any) -> Charge:
    """Read the charge of a pod with cross-namespace affinity and this spec."""
    raw = Pod({**CROSSING, "spec": {**CROSSING["spec"], **spec}})
    charge = model_pod(raw).facet(CHARGE)
    assert charge is not None
    return charge


def container(requests: Any = None, limits: Any = None, **fields: Any) -> dict[str, Any]:
    resources = {"requests": requests, "limits": limits}
    return {"resources": {key: each for key, each in resources.items() if each}, **fields}


def cpu(amount: str, **fields: Any) -> dict[str, Any]:
    """Build a container that requests cpu."""
    return container({"cpu": amount}, **fields)


@pytest.mark.parametrize(
    ("raw", "in_scope"),
    [
        pytest.param(pod("x"), False, id="no affinity at all"),
        pytest.param(pod("x").affinity(term(ZONE, WEB)), False, id="its own namespace, unsaid"),
        pytest.param(
            pod("x").affinity(term(ZONE, WEB, namespaces=[])), False, id="no namespace named"
        ),
        pytest.param(
            pod("x").affinity(term(ZONE, WEB, namespaces=["default"])),
            True,
            id="its own namespace, by name",
        ),
        pytest.param(
            pod("x").anti_affinity(term(ZONE, WEB, namespaceSelector={})),
            True,
            id="all namespaces",
        ),
        pytest.param(
            pod("x").affinity(term(ZONE, WEB, namespaceSelector=selector(team="red"))),
            True,
            id="some namespaces",
        ),
        pytest.param(
            pod("x").prefers(1, term(ZONE, WEB), term(ZONE, WEB, namespaces=["other"])),
            True,
            id="a preference, beside one that stays at home",
        ),
        pytest.param(
            pod("x").avoids(1, term(ZONE, WEB, namespaceSelector={})),
            True,
            id="a preference to be elsewhere",
        ),
    ],
)
def test_who_is_in_scope(raw: Pod, in_scope: bool) -> None:
    assert (model_pod(raw).facet(CHARGE) is not None) is in_scope


@pytest.mark.parametrize(
    ("spec", "amounts"),
    [
        pytest.param({"containers": [{}]}, {}, id="a pod that asks for nothing"),
        pytest.param(
            {"containers": [cpu("100m"), cpu("1.5")]},
            {"cpu": "1.6", "requests.cpu": "1.6"},
            id="a sum, under both names",
        ),
        pytest.param(
            {
                "containers": [
                    container(
                        {"memory": "1Gi", "ephemeral-storage": "1G"},
                        {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "2G"},
                    )
                ]
            },
            {
                "cpu": "2",
                "requests.cpu": "2",
                "memory": "1073741824",
                "requests.memory": "1073741824",
                "ephemeral-storage": "1000000000",
                "requests.ephemeral-storage": "1000000000",
                "limits.cpu": "2",
                "limits.memory": "2147483648",
                "limits.ephemeral-storage": "2000000000",
            },
            id="requests and limits apart, and a limit for a request where there is none",
        ),
        pytest.param(
            {
                "containers": [container({"nvidia.com/gpu": "2"}, {"nvidia.com/gpu": "2"})] * 2,
                "initContainers": [container({"nvidia.com/gpu": "5"}, {"nvidia.com/gpu": "5"})],
            },
            {"requests.nvidia.com/gpu": "5"},
            id="extended resources by their requests alone",
        ),
        pytest.param(
            {"containers": [container(None, {"nvidia.com/gpu": "1"})]},
            {"requests.nvidia.com/gpu": "1"},
            id="extended resources as manifests have them, with limits alone",
        ),
        pytest.param(
            {
                "containers": [container({"hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "2Mi"})],
                "resources": {"limits": {"hugepages-2Mi": "4Mi"}},
            },
            {"hugepages-2Mi": "4194304", "requests.hugepages-2Mi": "4194304"},
            id="huge pages of the whole pod by their limit",
        ),
        pytest.param(
            {"containers": [container({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"})]},
            {"hugepages-2Mi": "4194304", "requests.hugepages-2Mi": "4194304"},
            id="huge pages under both names of a request",
        ),
        pytest.param(
            {"containers": [container({"deviceclass.resource.kubernetes.io/gpu": "1"})]},
            {"requests.deviceclass.resource.kubernetes.io/gpu": "1"},
            id="devices that are asked for by their class",
        ),
        pytest.param(
            {
                "containers": [
                    container(
                        {
                            "attachable-volumes-aws": "1",
                            "batch.kubernetes.io/slots": "1",
                            "requests.example.com/odd": "1",
                            "example.com/none": "0",
                        }
                    )
                ]
            },
            {},
            id="resources of Kubernetes' own that no quota counts",
        ),
        pytest.param(
            {"containers": [cpu("1")], "initContainers": [cpu("3"), cpu("2")]},
            {"cpu": "3", "requests.cpu": "3"},
            id="the largest init container",
        ),
        pytest.param(
            {
                "containers": [cpu("1")],
                "initContainers": [cpu("2", restartPolicy="Always"), cpu("5"), cpu("1")],
            },
            {"cpu": "7", "requests.cpu": "7"},
            id="sidecars run beside later init containers",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": "1"}, {"memory": "1"})],
                "overhead": {"cpu": "250m", "memory": "2"},
            },
            {
                "cpu": "1.25",
                "requests.cpu": "1.25",
                "memory": "3",
                "requests.memory": "3",
                "limits.memory": "3",
            },
            id="overhead is requested, and added to limits that there are",
        ),
        pytest.param(
            {
                "containers": [container({"cpu": "1", "memory": "5"}, {"cpu": "1"})],
                "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "6"}},
            },
            {
                "cpu": "4",
                "requests.cpu": "4",
                "memory": "5",
                "requests.memory": "5",
                "limits.cpu": "6",
            },
            id="what is said for the whole pod",
        ),
        pytest.param(
            {"containers": [container({"memory": "100m"}), container({"memory": "100m"})]},
            {"memory": "0.2", "requests.memory": "0.2"},
            id="fractions add up without rounding",
        ),
        pytest.param({"containers": [cpu("0")]}, {}, id="a request of nothing"),
    ],
)
def test_what_a_pod_is_charged_for(spec: dict[str, Any], amounts: dict[str, str]) -> None:
    expected = {name: round(float(text) * BILLIONTHS) for name, text in (ONE | amounts).items()}
    assert dict(charge_of(**spec).usage) == expected


CPU_REQUEST = {"cpu", "requests.cpu"}
MEMORY_REQUEST = {"memory", "requests.memory"}
LIMITS = {"limits.cpu", "limits.memory"}


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        pytest.param("pods", True, id="pods"),
        pytest.param("limits.memory", True, id="a limit"),
        pytest.param("requests.nvidia.com/gpu", True, id="an extended resource"),
        pytest.param("nvidia.com/gpu", False, id="an extended resource without requests."),
        pytest.param("limits.nvidia.com/gpu", False, id="limits of an extended resource"),
        pytest.param("hugepages-1Gi", True, id="huge pages"),
        pytest.param("requests.hugepages-1Gi", True, id="requests of huge pages"),
        pytest.param("limits.hugepages-1Gi", False, id="limits of huge pages"),
        pytest.param("requests.batch.kubernetes.io/slots", False, id="a name of Kubernetes' own"),
        pytest.param("requests.storage", False, id="of volume claims"),
        pytest.param("gpus", False, id="nothing"),
    ],
)
def test_which_resources_of_a_quota_are_about_pods(name: str, counted: bool) -> None:
    assert is_counted(name) is counted


@pytest.mark.parametrize(
    ("spec", "unset"),
    [
        pytest.param(
            {"containers": [{}]}, CPU_REQUEST | MEMORY_REQUEST | LIMITS, id="nothing is said"
        ),
        pytest.param({"containers": [cpu("1")]}, MEMORY_REQUEST | LIMITS, id="cpu is requested"),
        pytest.param(
            {"containers": [cpu("0"), container({"cpu": "1"}, {"memory": "1"})]},
            MEMORY_REQUEST | LIMITS,
            id="each container has to say it, be it nothing",
        ),
        pytest.param(
            {"containers": [cpu("1")], "initContainers": [{}]},
            CPU_REQUEST | MEMORY_REQUEST | LIMITS,
            id="init containers as well",
        ),
        pytest.param(
            {"containers": [{}], "resources": {"limits": {"cpu": "1"}}},
            set(),
            id="unless something is said for the whole pod",
        ),
        pytest.param(
            {"containers": [cpu("1")], "resources": {}},
            MEMORY_REQUEST | LIMITS,
            id="an empty word for the whole pod is none",
        ),
    ],
)
def test_what_a_pod_leaves_open(spec: dict[str, Any], unset: set[str]) -> None:
    assert charge_of(**spec).unset == unset


@pytest.mark.parametrize(
    ("spec", "scopes"),
    [
        pytest.param({}, {"NotTerminating", "BestEffort"}, id="a bare pod"),
        pytest.param({"activeDeadlineSeconds": 0}, {"Terminating", "BestEffort"}, id="a deadline"),
        pytest.param(
            {"containers": [cpu("1m")]}, {"NotTerminating", "NotBestEffort"}, id="a request"
        ),
        pytest.param(
            {"initContainers": [container(None, {"memory": "1"})]},
            {"NotTerminating", "NotBestEffort"},
            id="a limit of an init container",
        ),
        pytest.param(
            {"containers": [container({"ephemeral-storage": "1", "cpu": "0"})]},
            {"NotTerminating", "BestEffort"},
            id="storage, and no cpu, is best effort still",
        ),
        pytest.param(
            {"containers": [cpu("1")], "resources": {}},
            {"NotTerminating", "NotBestEffort"},
            id="an empty word for the whole pod is none, from 1.37 on",
        ),
        pytest.param(
            {"containers": [cpu("1")], "resources": {"requests": {"cpu": "0"}}},
            {"NotTerminating", "BestEffort"},
            id="what is said for the whole pod decides alone",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "1"}}},
            {"NotTerminating", "NotBestEffort"},
            id="a request of the whole pod",
        ),
        pytest.param(
            {"priorityClassName": "high"},
            {"NotTerminating", "BestEffort", "PriorityClass"},
            id="a priority class",
        ),
        pytest.param(
            {"priorityClassName": ""}, {"NotTerminating", "BestEffort"}, id="an empty one"
        ),
    ],
)
def test_which_scopes_a_pod_is_in(spec: dict[str, Any], scopes: set[str]) -> None:
    found = charge_of(**spec).scopes
    assert found.keys() == scopes | {"CrossNamespacePodAffinity"}
    assert found.get("PriorityClass") == (spec.get("priorityClassName") or None)


def test_replicas_share_their_charge_and_others_do_not() -> None:
    reader = PodReader(facets=every_facet(), rules=RULES)

    def read(raw: Pod) -> Charge | None:
        return reader.read(json.dumps(raw).encode()).facet(CHARGE)

    one = read(CROSSING.requests(cpu="1"))
    assert read(CROSSING.uid("other").requests(cpu="1000m")) is one
    assert read(CROSSING.requests(cpu="2")) != one
    assert read(CROSSING.requests(cpu="1").deadline(5)) != one
    assert read(CROSSING.requests(cpu="1").priority_class("high")) != one


def test_nobody_is_charged_where_nobody_asks() -> None:
    assert PodReader().read(json.dumps(CROSSING).encode()).facet(CHARGE) is None


def test_a_broken_quantity_is_named() -> None:
    with pytest.raises(ObjectError, match=r"^spec\.containers\[0\]\.resources\.limits\.cpu: "):
        charge_of(containers=[container(None, {"cpu": "lots"})])


@pytest.mark.parametrize("resources", [None, {}])
@pytest.mark.parametrize(("qos_class", "expected"), [("BestEffort", True), ("Burstable", False)])
def test_the_class_that_the_api_server_gave_a_pod_counts(
    qos_class: str, *, expected: bool, resources: dict[str, Any] | None
) -> None:
    reader = PodReader(facets=every_facet(), rules=RULES)
    for status, best_effort in (({"qosClass": qos_class}, expected), ({}, False)):
        spec = {**CROSSING["spec"], "containers": [cpu("1")], "resources": resources}
        charge = reader.read(
            json.dumps({**CROSSING, "spec": spec, "status": status}).encode()
        ).facet(CHARGE)
        assert charge is not None
        assert charge.best_effort is best_effort


def test_terms_of_annotations_are_seen() -> None:
    own = pod("web").labels(app="web")
    rules = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(app="web"), namespaces=["b"])]}}
    assert model_pod(own).facet(CHARGE) is None
    charge = model_pod(annotated(own, rules)).facet(CHARGE)
    assert charge is not None
    assert charge.by_annotation
