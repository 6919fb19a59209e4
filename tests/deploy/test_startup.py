"""Every configuration and command line that is shipped starts, by the rules of `serve` itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from extender.core.command_line import parser
from extender.core.config import layers
from extender.serve import add_to
from tests.deploy.kustomize import render
from tests.deploy.places import (
    K3S,
    MANIFESTS,
    OVERLAYS,
    SERVICE,
    SIDECAR_QUOTA,
    SIDECAR_REPLACE_QUOTA,
    SIDECARS,
)
from tests.deploy.pods import containers, extender, static_pod

FILES = sorted(
    path
    for path in MANIFESTS.rglob("*.yaml")
    if "kind: AffinityExtenderConfiguration" in path.read_text()
)


APPLIED = (*SIDECARS.values(), SIDECAR_QUOTA, SIDECAR_REPLACE_QUOTA, K3S, SERVICE)
"""The overlays with a pod."""


def applied(overlay: Path) -> tuple[list[str], str]:
    """Return the arguments and the configuration of an overlay's extender."""
    objects = render(overlay)
    templates = [one["spec"]["template"] for one in objects if "template" in one.get("spec", {})]
    (pod,) = (one for one in templates if _is_ours(one))
    (text,) = (
        one["data"]["config.yaml"]
        for one in objects
        if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith("affinity-extender")
    )
    return extender(pod)["args"], text


def _is_ours(pod: dict[str, Any]) -> bool:
    return any(one["name"] == "affinity-extender" for one in containers(pod))


def on_kubeadm(file: Path) -> tuple[list[str], str]:
    """Return the arguments of the static pod, and one of the files that go beside it."""
    return extender(static_pod())["args"], file.read_text()


def test_all_files_are_known() -> None:
    assert [str(path.relative_to(MANIFESTS)) for path in FILES] == [
        "base/config.yaml",
        "overlays/service/config.yaml",
        "overlays/sidecar-quota/config.yaml",
        "overlays/sidecar-replace/config.yaml",
        "overlays/sidecar-replace-quota/config.yaml",
    ]


@pytest.mark.parametrize(
    "shipped",
    [
        *(pytest.param(partial(applied, overlay), id=overlay.name) for overlay in APPLIED),
        *(
            pytest.param(partial(on_kubeadm, file), id=f"kubeadm, {file.parent.name}")
            for file in FILES
        ),
    ],
)
def test_what_is_shipped_starts_and_says_where_it_listens(
    shipped: Callable[[], tuple[list[str], str]],
) -> None:
    arguments, text = shipped()
    top = parser("affinity-extender", "", "")
    add_to(top.add_subparsers())
    flags: argparse.Namespace = top.parse_args(arguments)
    loaded = layers.load(flags, lambda _: text)
    serving = loaded.serving
    with_certificates = all((serving.tls_cert_file, serving.client_ca_file))
    assert serving.bind_address == ("0.0.0.0" if with_certificates else "127.0.0.1")
    assert not serving.insecure_serving
    in_a_pod = "--ops-bind-address=0.0.0.0" in arguments
    assert serving.ops_bind_address == ("0.0.0.0" if in_a_pod else "127.0.0.1")


def test_all_overlays_with_a_pod_are_tried() -> None:
    with_pods = {path.parent for path in OVERLAYS.rglob("scheduler-config.yaml")}
    assert with_pods | {SIDECAR_REPLACE_QUOTA} == set(APPLIED)
