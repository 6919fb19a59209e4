"""The pods that carry the extender, and the configuration that is shipped for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from extender.core.config import Config
from extender.core.config.checks import faults
from extender.core.config.document import decode, parse
from tests.deploy.kustomize import render
from tests.deploy.places import K3S, KUBEADM, MANIFESTS, SERVICE, SIDECARS, named, read_yaml

GetPod = Callable[[], dict[str, Any]]
"""Reads a pod when the test runs: rendering may skip, collecting may not."""


def second_scheduler(mode: str = "assist") -> dict[str, Any]:
    """Return the pod template of the second scheduler."""
    deployment = named(render(SIDECARS[mode]), "Deployment", "affinity-scheduler")
    return dict(deployment["spec"]["template"])


def static_pod() -> dict[str, Any]:
    """Return the pod for kubeadm's control-plane hosts."""
    return dict(read_yaml(KUBEADM / "static-pod.yaml"))


def on_k3s() -> dict[str, Any]:
    """Return the pod template for the servers of a k3s cluster."""
    return dict(named(render(K3S), "DaemonSet", "affinity-extender")["spec"]["template"])


def behind_a_service() -> dict[str, Any]:
    """Return the pod template of the extender that a scheduler calls across the network."""
    return dict(named(render(SERVICE), "Deployment", "affinity-extender")["spec"]["template"])


in_every_pod = pytest.mark.parametrize(
    "get_pod",
    [
        *(
            pytest.param(partial(second_scheduler, mode), id=f"second scheduler, {mode}")
            for mode in SIDECARS
        ),
        pytest.param(static_pod, id="kubeadm's static pod"),
        pytest.param(on_k3s, id="on k3s"),
        pytest.param(behind_a_service, id="behind a service"),
    ],
)


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """List a pod's containers, sidecars first."""
    spec = pod["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


def extender(pod: dict[str, Any]) -> dict[str, Any]:
    """Pick our container."""
    (found,) = (one for one in containers(pod) if one["name"] == "affinity-extender")
    return found


def shipped_config() -> Config:
    """Load the configuration file as the program would."""
    path = MANIFESTS / "base" / "config.yaml"
    config = decode(parse(path.read_text(), path.name))
    assert list(faults(config)) == []
    return config
