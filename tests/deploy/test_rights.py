"""What the extender and the second scheduler may do in the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.kustomize import render
from tests.deploy.places import (
    KUBEADM,
    KUBEADM_QUOTA,
    KUBEADM_REPLACE,
    SERVICE,
    SIDECAR,
    SIDECAR_QUOTA,
    SIDECARS,
    named,
    read_yaml,
)
from tests.deploy.pods import extender, second_scheduler


@pytest.mark.parametrize(
    "overlay", [pytest.param(path, id=path.name) for path in (SIDECAR, KUBEADM)]
)
def test_the_extender_lists_and_watches_and_no_more(overlay: Path) -> None:
    role = named(render(overlay), "ClusterRole", "affinity-extender")
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["pods", "nodes", "namespaces"],
            "verbs": ["list", "watch"],
        },
    ]


def test_of_the_scheduler_we_define_two_rights_by_name() -> None:
    objects = render(SIDECAR)
    roles = [one for one in objects if one["kind"] in {"Role", "ClusterRole"}]
    assert {one["metadata"]["name"] for one in roles} == {
        "affinity-extender",
        "affinity-scheduler",
    }
    lease = read_yaml(SIDECAR / "scheduler-config.yaml")["leaderElection"]
    role = named(objects, "ClusterRole", "affinity-scheduler")
    assert role["rules"] == [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [lease["resourceName"]],
            "verbs": ["get", "update"],
        },
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["extension-apiserver-authentication"],
            "verbs": ["get", "list", "watch"],
        },
    ]


def test_the_second_scheduler_has_what_the_first_one_has() -> None:
    bound = {
        one["roleRef"]["name"]
        for one in render(SIDECAR)
        if one["kind"] in {"RoleBinding", "ClusterRoleBinding"}
    }
    assert bound == {
        "affinity-extender",
        "affinity-scheduler",
        "system:kube-scheduler",
        "system:volume-scheduler",
    }


@pytest.mark.parametrize(
    "overlay", [pytest.param(path, id=path.name) for path in (*SIDECARS.values(), SERVICE)]
)
def test_the_scheduler_s_rights_are_its_own_and_the_extender_s_are_not(overlay: Path) -> None:
    objects = render(overlay)
    for binding in (one for one in objects if "subjects" in one):
        (account,) = binding["subjects"]
        name = binding["metadata"]["name"].startswith("affinity-scheduler")
        assert account["name"] == ("affinity-scheduler" if name else "affinity-extender")
        assert named(objects, account["kind"], account["name"])


def test_the_sidecar_has_the_token_of_its_own_account_where_the_pod_s_would_be() -> None:
    spec = second_scheduler()["spec"]
    assert spec["serviceAccountName"] == "affinity-scheduler"
    place = "/var/run/secrets/kubernetes.io/serviceaccount"
    (mount,) = (
        one for one in extender(second_scheduler())["volumeMounts"] if one["mountPath"] == place
    )
    (volume,) = (one["secret"] for one in spec["volumes"] if one["name"] == mount["name"])
    assert [item["key"] for item in volume["items"]] == ["token", "ca.crt"]
    secret = named(render(SIDECAR), "Secret", volume["secretName"])
    assert secret["type"] == "kubernetes.io/service-account-token"
    owner = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    assert owner == "affinity-extender"
    assert [one for container in spec["containers"] for one in container["volumeMounts"]].count(
        mount
    ) == 0
    assert not [one for one in render(SERVICE) if one["kind"] == "Secret"], "its pod has its own"


@pytest.mark.parametrize("overlay", [SIDECARS["replace"], KUBEADM_REPLACE], ids=["sidecar", "host"])
def test_in_replace_the_extender_also_binds_and_preempts_and_no_more(overlay: Path) -> None:
    objects = render(overlay)
    role = named(objects, "ClusterRole", "affinity-extender-binder")
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["pods/binding"], ["create"]),
        (["pods"], ["get"]),
        (["pods/status"], ["patch"]),
        (["poddisruptionbudgets"], ["list", "watch"]),
    ]
    preemptor = named(objects, "ClusterRole", "affinity-extender-preemptor")
    assert [(rule["resources"], rule["verbs"]) for rule in preemptor["rules"]] == [
        (["pods"], ["delete"]),
        (["pods/status"], ["patch"]),
        (["pods", "nodes", "namespaces"], ["get"]),
        (["events"], ["create"]),
    ]
    reader, *others = (
        named(objects, "ClusterRoleBinding", name)["subjects"]
        for name in ("affinity-extender", "affinity-extender-binder", "affinity-extender-preemptor")
    )
    assert others == [reader, reader]


@pytest.mark.parametrize("overlay", [SIDECAR_QUOTA, KUBEADM_QUOTA], ids=["sidecar", "host"])
def test_for_quotas_the_extender_also_reads_these_and_no_more(overlay: Path) -> None:
    objects = render(overlay)
    role = named(objects, "ClusterRole", "affinity-extender-quota")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list", "watch"]}
    ]
    reader, quota = (
        named(objects, "ClusterRoleBinding", name)["subjects"]
        for name in ("affinity-extender", "affinity-extender-quota")
    )
    assert reader == quota


def test_on_kubeadm_it_goes_to_the_holder_of_a_certificate() -> None:
    objects = render(KUBEADM)
    assert {one["kind"] for one in objects} == {
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    binding = named(objects, "ClusterRoleBinding", "affinity-extender")
    assert [(one["kind"], one["name"]) for one in binding["subjects"]] == [
        ("User", "affinity-extender")
    ]
