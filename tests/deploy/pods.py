"""The two pods that carry the extender, and the configuration that is shipped for both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from extender.config import Config
from extender.config.checks import faults
from extender.config.document import decode, parse
from tests.deploy.kustomize import render
from tests.deploy.places import KUBEADM, MANIFESTS, SIDECARS, named, read_yaml

GetPod = Callable[[], dict[str, Any]]
"""Reads a pod when the test runs: rendering may skip, collecting may not."""


def second_scheduler(mode: str = "assist") -> dict[str, Any]:
    """Return the pod template of the second scheduler."""
    deployment = named(render(SIDECARS[mode]), "Deployment", "affinity-scheduler")
    return dict(deployment["spec"]["template"])


def static_pod() -> dict[str, Any]:
    """Return the pod for kubeadm's control-plane hosts."""
    return dict(read_yaml(KUBEADM / "static-pod.yaml"))


in_every_pod = pytest.mark.parametrize(
    "get_pod",
    [
        *(
            pytest.param(partial(second_scheduler, mode), id=f"second scheduler, {mode}")
            for mode in SIDECARS
        ),
        pytest.param(static_pod, id="kubeadm's static pod"),
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
