"""What the extender and the second scheduler may do in the cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.kustomize import render
from tests.deploy.places import (
    EVERY_OVERLAY,
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
from tests.deploy.pods import GetPod, behind_a_service, containers, on_k3s, second_scheduler


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
        "affinity-scheduler-tokens",
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
        "affinity-scheduler-tokens",
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


PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"


def tokens(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the volume with the token of each container."""
    spec = pod["spec"]
    assert spec["automountServiceAccountToken"] is False, "that one may be valid for a year"
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    return {
        container["name"]: volumes[mount["name"]]
        for container in containers(pod)
        for mount in container["volumeMounts"]
        if mount["mountPath"] == PLACE
    }


@pytest.mark.parametrize(
    "get_pod",
    [
        *(pytest.param(partial(second_scheduler, mode), id=mode) for mode in SIDECARS),
        pytest.param(on_k3s, id="k3s"),
        pytest.param(behind_a_service, id="service"),
    ],
)
def test_every_token_is_bound_and_for_an_hour(get_pod: GetPod) -> None:
    pod = get_pod()
    found = tokens(pod)
    assert found.keys() == {container["name"] for container in containers(pod)}
    for volume in found.values():
        if "emptyDir" in volume:
            continue  # filled by the container beside: tests/e2e/test_accounts.py
        token, ca, namespace = volume["projected"]["sources"]
        # The kubelet's usual 3607 is what the API server makes a year of.
        assert token["serviceAccountToken"] == {"path": "token", "expirationSeconds": 3600}
        assert [item["path"] for item in ca["configMap"]["items"]] == ["ca.crt"]
        assert [item["path"] for item in namespace["downwardAPI"]["items"]] == ["namespace"]


@pytest.mark.parametrize("overlay", EVERY_OVERLAY, ids=lambda path: path.name)
def test_no_token_is_for_ever(overlay: Path) -> None:
    kinds = {one.get("type") for one in render(overlay) if one["kind"] == "Secret"}
    assert kinds <= {"Opaque"}


def test_the_sidecar_has_tokens_of_its_own_account() -> None:
    spec = second_scheduler()["spec"]
    assert spec["serviceAccountName"] == "affinity-scheduler"
    found = tokens(second_scheduler())
    assert "emptyDir" in found["affinity-extender"]
    (asking,) = (one for one in spec["initContainers"] if one["name"] == "affinity-extender-token")
    (written,) = (one for one in asking["volumeMounts"] if not one.get("readOnly"))
    assert written["name"] == found["affinity-extender"]["name"]
    secret = named(render(SIDECAR), "Secret", "affinity-extender-tokens")
    account = named(render(SIDECAR), "ServiceAccount", "affinity-extender")
    assert asking["args"] == [
        "token",
        f"--account={account['metadata']['name']}",
        f"--bound-to={secret['metadata']['name']}",
        f"--folder={written['mountPath']}",
    ]
    role = named(render(SIDECAR), "Role", "affinity-scheduler-tokens")
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["serviceaccounts/token"],
            "resourceNames": [account["metadata"]["name"]],
            "verbs": ["create"],
        }
    ]
    kinds = {one["kind"] for one in render(SERVICE)}
    assert not kinds & {"Secret", "Role"}, "each of its pods has an account"


@pytest.mark.parametrize("overlay", [SIDECARS["replace"], KUBEADM_REPLACE], ids=["sidecar", "host"])
def test_in_replace_the_extender_also_binds_preempts_and_reads_groups_and_no_more(
    overlay: Path,
) -> None:
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
        (["poddisruptionbudgets"], ["list", "watch"]),
        (["events"], ["create"]),
    ]
    groups = named(objects, "ClusterRole", "affinity-extender-groups")
    assert [(rule["resources"], rule["verbs"]) for rule in groups["rules"]] == [
        (["podgroups"], ["get"])
    ]
    reader, *others = (
        named(objects, "ClusterRoleBinding", f"affinity-extender{part}")["subjects"]
        for part in ("", "-binder", "-preemptor", "-groups")
    )
    assert others == [reader, reader, reader]


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
