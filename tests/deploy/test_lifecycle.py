"""Who can reach the extender, and how it starts, is watched and stops."""

from __future__ import annotations

import pytest

from extender.core.config import Serving
from tests.deploy.kustomize import render
from tests.deploy.places import OVERLAYS, SIDECAR, named
from tests.deploy.pods import (
    GetPod,
    containers,
    extender,
    in_every_pod,
    second_scheduler,
    shipped_config,
    static_pod,
)

HTTP_TIMEOUT_S = 5
"""httpTimeout in scheduler-config/."""


@in_every_pod
def test_probes_ask_the_operations_port(get_pod: GetPod) -> None:
    container = extender(get_pod())
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports["ops"] == Serving().ops_port
    asked = {
        name: (probe["httpGet"]["path"], probe["httpGet"]["port"])
        for name, probe in container.items()
        if name in {"livenessProbe", "readinessProbe"}
    }
    assert asked == {
        "livenessProbe": ("/livez", "ops"),
        "readinessProbe": ("/readyz", "ops"),
    }


def test_in_a_pod_of_its_own_only_the_operations_port_leaves_loopback() -> None:
    container = extender(second_scheduler())
    addresses = [flag for flag in container["args"] if "bind-address" in flag]
    assert addresses == ["--ops-bind-address=0.0.0.0"]
    assert "env" not in container
    assert [port["name"] for port in container["ports"]] == ["ops"]
    assert shipped_config().serving.bind_address == "127.0.0.1"


def test_in_the_host_network_both_ports_stay_on_loopback() -> None:
    pod = static_pod()
    assert pod["spec"]["hostNetwork"] is True
    container = extender(pod)
    assert "env" not in container
    assert not any("bind-address" in argument for argument in container["args"])
    for name in ("livenessProbe", "readinessProbe"):
        assert container[name]["httpGet"]["host"] == "127.0.0.1"
    serving = shipped_config().serving
    assert (serving.bind_address, serving.ops_bind_address) == ("127.0.0.1",) * 2


@in_every_pod
def test_the_last_calls_can_end(get_pod: GetPod) -> None:
    serving = shipped_config().serving
    needed = serving.shutdown_delay_seconds + HTTP_TIMEOUT_S + 5
    assert get_pod()["spec"]["terminationGracePeriodSeconds"] >= needed
    assert serving.shutdown_timeout_seconds <= HTTP_TIMEOUT_S


def test_the_extender_starts_before_the_scheduler_and_ends_after_it() -> None:
    sidecars = second_scheduler()["spec"]["initContainers"]
    names = [each["name"] for each in sidecars]
    assert names == ["affinity-extender-token", "affinity-extender"], "which reads what that wrote"
    assert {each["restartPolicy"] for each in sidecars} == {"Always"}
    written = sidecars[0]["startupProbe"]["exec"]["command"][-1]
    assert f"--folder={written.removesuffix('/token')}" in sidecars[0]["args"]


@pytest.mark.parametrize(
    ("overlay", "path"),
    [
        ("sidecar", "/livez"),
        ("sidecar-shadow", "/livez"),
        ("sidecar-quota", "/livez"),
        ("sidecar-replace", "/readyz"),
        ("sidecar-replace-quota", "/readyz"),
    ],
)
def test_a_scheduler_that_binds_by_itself_does_not_wait_until_the_cluster_is_known(
    overlay: str, path: str
) -> None:
    deployment = named(render(OVERLAYS / overlay), "Deployment", "affinity-scheduler")
    sidecar = extender(deployment["spec"]["template"])
    assert sidecar["startupProbe"]["httpGet"] == {"path": path, "port": "ops"}


def test_on_kubeadm_it_cannot_hold_up_the_scheduler() -> None:
    pod = static_pod()
    assert [container["name"] for container in containers(pod)] == ["affinity-extender"]


@pytest.mark.parametrize("kind", ["PodDisruptionBudget", "NetworkPolicy"])
def test_what_protects_the_pods_selects_them(kind: str) -> None:
    spec = named(render(SIDECAR), kind, "affinity-scheduler")["spec"]
    selector = spec.get("selector") or spec["podSelector"]
    labels = second_scheduler()["metadata"]["labels"]
    assert selector["matchLabels"].items() <= labels.items()


def test_only_ports_that_exist_are_open() -> None:
    policy = named(render(SIDECAR), "NetworkPolicy", "affinity-scheduler")["spec"]
    opened = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    exposed = {
        port["containerPort"]
        for container in containers(second_scheduler())
        for port in container.get("ports", ())
    }
    assert opened == exposed
