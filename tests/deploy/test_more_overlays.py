"""The overlays that are made of others: k3s, a Service with TLS, `replace` with quotas."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from extender.core.config.document import decode, parse
from tests.deploy.kustomize import render
from tests.deploy.places import (
    K3S,
    SCHEDULER_CONFIG,
    SERVICE,
    SIDECAR,
    SIDECAR_QUOTA,
    SIDECAR_REPLACE_QUOTA,
    SIDECARS,
    named,
    read_yaml,
)
from tests.deploy.pods import behind_a_service, containers, on_k3s, static_pod

SCHEDULER_FILES = "/etc/affinity-scheduler-tls"
EXTENDER_FILES = "/etc/affinity-extender-tls"
ENDPOINTS_S = 5
"""Until kube-proxy leads no new connection to a pod that ends."""
HTTP_TIMEOUT_S = 5
"""httpTimeout in scheduler-config/."""


def test_k3s_has_the_scheduler_of_assist() -> None:
    expected = read_yaml(SCHEDULER_CONFIG / "assist.yaml")
    kubeconfig = "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig"
    expected["clientConnection"]["kubeconfig"] = kubeconfig
    assert read_yaml(K3S / "scheduler-config.yaml") == expected


def test_on_a_server_of_k3s_the_extender_is_the_one_of_a_kubeadm_host() -> None:
    (ours,), (static,) = containers(on_k3s()), containers(static_pod())
    for name in ("ports", "livenessProbe", "readinessProbe", "resources", "securityContext"):
        assert ours[name] == static[name]
    assert on_k3s()["spec"]["hostNetwork"] is True


OF_REPLACE = ("mode", "profiles")


def test_replace_with_quotas_is_the_two_in_one() -> None:
    config = read_yaml(SIDECAR_QUOTA / "config.yaml")
    config |= {name: read_yaml(SIDECARS["replace"] / "config.yaml")[name] for name in OF_REPLACE}
    assert read_yaml(SIDECAR_REPLACE_QUOTA / "config.yaml") == config
    objects = {(one["kind"], one["metadata"]["name"]) for one in render(SIDECAR_REPLACE_QUOTA)}
    both = {
        (one["kind"], one["metadata"]["name"])
        for overlay in (SIDECAR_QUOTA, SIDECARS["replace"])
        for one in render(overlay)
    }
    without_hash = {(kind, name) for kind, name in objects if kind != "ConfigMap"}
    assert without_hash == {(kind, name) for kind, name in both if kind != "ConfigMap"}
    shared = {kind_and_name for kind_and_name in objects & both if kind_and_name[0] == "ConfigMap"}
    assert len(shared) == 1, "the scheduler's file is that of replace"


def test_the_scheduler_calls_the_service_with_its_certificate() -> None:
    expected = read_yaml(SIDECAR / "scheduler-config.yaml")
    expected["extenders"][0] |= {
        "urlPrefix": "https://affinity-extender:10280",
        "enableHTTPS": True,
        "tlsConfig": {
            "serverName": "affinity-extender.kube-system.svc",
            "caFile": f"{SCHEDULER_FILES}/ca.crt",
            "certFile": f"{SCHEDULER_FILES}/tls.crt",
            "keyFile": f"{SCHEDULER_FILES}/tls.key",
        },
    }
    assert read_yaml(SERVICE / "scheduler-config.yaml") == expected


def test_the_service_leads_to_the_callbacks_of_the_extender() -> None:
    service = named(render(SERVICE), "Service", "affinity-extender")
    url = urlsplit(read_yaml(SERVICE / "scheduler-config.yaml")["extenders"][0]["urlPrefix"])
    (port,) = service["spec"]["ports"]
    metadata = service["metadata"]
    assert url.hostname == metadata["name"], "of the scheduler's own namespace"
    assert url.port == port["port"]
    pod = behind_a_service()
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (container,) = containers(pod)
    assert {"name": port["targetPort"], "containerPort": 10280} in container["ports"]


def test_a_replica_that_ends_answers_until_the_service_leads_elsewhere() -> None:
    delay = read_yaml(SERVICE / "config.yaml")["serving"]["shutdownDelaySeconds"]
    assert delay >= ENDPOINTS_S
    grace = behind_a_service()["spec"]["terminationGracePeriodSeconds"]
    assert grace >= delay + HTTP_TIMEOUT_S + 5


def scheduler() -> dict[str, Any]:
    return dict(named(render(SERVICE), "Deployment", "affinity-scheduler")["spec"]["template"])


def secrets(pod: dict[str, Any]) -> dict[str, str]:
    """Return which Secret is mounted where."""
    names = {
        volume["name"]: volume["secret"]["secretName"]
        for volume in pod["spec"]["volumes"]
        if "secret" in volume
    }
    (container,) = containers(pod)
    return {
        mount["mountPath"]: names[mount["name"]]
        for mount in container["volumeMounts"]
        if mount["name"] in names
    }


def test_each_side_has_its_certificate_and_may_read_it() -> None:
    assert secrets(behind_a_service()) == {EXTENDER_FILES: "affinity-extender-tls"}
    assert secrets(scheduler()) == {SCHEDULER_FILES: "affinity-scheduler-tls"}
    for pod in (behind_a_service(), scheduler()):
        assert pod["spec"]["securityContext"]["fsGroup"] == 65532
        modes = [
            each["secret"]["defaultMode"] for each in pod["spec"]["volumes"] if "secret" in each
        ]
        assert modes == [0o440]
    serving = decode(parse((SERVICE / "config.yaml").read_text(), "config.yaml")).serving
    assert [serving.tls_cert_file, serving.tls_private_key_file, serving.client_ca_file] == [
        Path(EXTENDER_FILES, name) for name in ("tls.crt", "tls.key", "ca.crt")
    ]
    assert serving.allowed_client_names == ("affinity-scheduler",)


def test_each_of_the_two_pods_has_an_identity_of_its_own() -> None:
    objects = render(SERVICE)
    for name in ("affinity-extender", "affinity-scheduler"):
        pod = named(objects, "Deployment", name)["spec"]["template"]
        assert pod["spec"]["serviceAccountName"] == name
        assert named(objects, "ServiceAccount", name)


def test_behind_a_service_only_ports_that_exist_are_open() -> None:
    for name, pod in (
        ("affinity-extender", behind_a_service()),
        ("affinity-scheduler", scheduler()),
    ):
        policy = named(render(SERVICE), "NetworkPolicy", name)["spec"]
        assert policy["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        opened = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
        (container,) = containers(pod)
        assert opened == {port["containerPort"] for port in container["ports"]}
