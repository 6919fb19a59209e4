"""Kustomize's `namespace:` moves an overlay, and everything in it still finds everything else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from extender.core.config.conditions import REPLACE
from extender.core.config.document import decode, parse
from extender.core.config.features import Want, features
from extender.core.source import lease_key
from tests.deploy.kustomize import render
from tests.deploy.places import EVERY_OVERLAY, K3S, KUBEADM, MANIFESTS, read_yaml
from tests.features.every import switched_on

if TYPE_CHECKING:
    from pathlib import Path

Objects = list[dict[str, Any]]

COMPONENTS = MANIFESTS / "components"
ADDED = (
    "namespace-opt-in",
    *(each.component for each in features() if each.rights and each.effect is not REPLACE),
)
"""The overlays of mode replace have the others."""
SWITCHED_ON = {
    name: value
    for each in features()
    if Want.LEASE in each.wants
    for name, value in switched_on(each.name).items()
    if name in each.fields
}

# On kubeadm the pods are files on the hosts, and stay in kube-system as these say.
WITH_PODS = [path for path in EVERY_OVERLAY if not path.name.startswith(KUBEADM.name)]
with_pods = pytest.mark.parametrize("overlay", WITH_PODS, ids=lambda path: path.name)


def moved(overlay: Path, folder: Path, namespace: str = "elsewhere") -> Objects:
    """Render an overlay with all components, as somebody's own Kustomization has it."""
    own = read_yaml(overlay / "kustomization.yaml").get("components", ())
    others = [one for one in ADDED if f"../../components/{one}" not in own]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": namespace,
        "resources": [os.path.relpath(overlay, folder)],
        "components": [os.path.relpath(COMPONENTS / one, folder) for one in others],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return render(folder)


def allows(objects: Objects, account: str, verb: str, what: str, key: str) -> bool:
    """Tell whether the roles let a service account of `elsewhere` do this to `namespace/name`."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "elsewhere"}
    roles = {
        (one["kind"], one["metadata"]["name"]): one["rules"] for one in objects if "rules" in one
    }
    namespace, _, name = key.partition("/")
    rules = [
        rule
        for binding in objects
        if subject in binding.get("subjects", ())
        and binding["metadata"].get("namespace", namespace) == namespace
        for rule in roles.get((binding["roleRef"]["kind"], binding["roleRef"]["name"]), ())
    ]
    return any(
        verb in rule["verbs"]
        and what in rule["resources"]
        and name in rule.get("resourceNames", [name])
        for rule in rules
    )


def configuration(objects: Objects, of: str) -> dict[str, Any]:
    (found,) = (
        one["data"]["config.yaml"]
        for one in objects
        if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith(f"{of}-config-")
    )
    return dict(parse(found, "config.yaml"))


@with_pods
def test_the_extender_may_take_its_lease(overlay: Path, tmp_path: Path) -> None:
    objects = moved(overlay, tmp_path)
    config = decode(configuration(objects, "affinity-extender") | SWITCHED_ON)
    key = lease_key(config, "elsewhere")
    assert key is not None
    for verb in ("create", "get", "update"):
        assert allows(objects, "affinity-extender", verb, "leases", key)
    assert not allows(objects, "affinity-extender", "update", "leases", "elsewhere/other")


@pytest.mark.parametrize(
    "overlay", [path for path in WITH_PODS if path != K3S], ids=lambda path: path.name
)
def test_the_scheduler_may_take_its_lease_and_know_its_callers(
    overlay: Path, tmp_path: Path
) -> None:
    objects = moved(overlay, tmp_path)
    lease = configuration(objects, "affinity-scheduler")["leaderElection"]
    key = f"{lease['resourceNamespace']}/{lease['resourceName']}"
    for verb in ("get", "update"):
        assert allows(objects, "affinity-scheduler", verb, "leases", key)
    for verb in ("get", "list", "watch"):
        callers = "kube-system/extension-apiserver-authentication"
        assert allows(objects, "affinity-scheduler", verb, "configmaps", callers)
    assert not allows(objects, "affinity-scheduler", "list", "configmaps", "kube-system/other")


@with_pods
def test_every_account_that_is_named_is_there(overlay: Path, tmp_path: Path) -> None:
    objects = moved(overlay, tmp_path)
    accounts = [
        (one["metadata"]["namespace"], one["metadata"]["name"])
        for one in objects
        if one["kind"] == "ServiceAccount"
    ]
    subjects = {
        (each["namespace"], each["name"]) for one in objects for each in one.get("subjects", ())
    }
    assert subjects <= set(accounts)


@with_pods
def test_nothing_stays_behind(overlay: Path, tmp_path: Path) -> None:
    objects = moved(overlay, tmp_path)
    namespaces = {one["metadata"].get("namespace", "elsewhere") for one in objects}
    assert namespaces == {"elsewhere"}
    roles = {
        (one["kind"], one["metadata"]["name"])
        for one in objects
        if one["kind"] in {"Role", "ClusterRole"}
    }
    for one in objects:
        if one["kind"] == "RoleBinding":
            assert (one["roleRef"]["kind"], one["roleRef"]["name"]) in roles
