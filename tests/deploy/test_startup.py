"""Every configuration and command line that is shipped starts, by the rules of `serve` itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from extender import config
from extender.cli.parsing import parser
from extender.cli.serve import add_to
from tests.deploy.kustomize import render
from tests.deploy.places import MANIFESTS, OVERLAYS, SIDECAR_QUOTA, SIDECARS, named
from tests.deploy.pods import extender, static_pod

FILES = sorted(
    path
    for path in MANIFESTS.rglob("*.yaml")
    if "kind: AffinityExtenderConfiguration" in path.read_text()
)


def sidecar(overlay: Path) -> tuple[list[str], str]:
    """Return the arguments and the configuration of an overlay's extender."""
    objects = render(overlay)
    pod: dict[str, Any] = named(objects, "Deployment", "affinity-scheduler")["spec"]["template"]
    (text,) = (
        one["data"]["config.yaml"]
        for one in objects
        if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith("affinity-extender")
    )
    return extender(pod)["args"], text


def on_kubeadm(file: Path) -> tuple[list[str], str]:
    """Return the arguments of the static pod, and one of the files that go beside it."""
    return extender(static_pod())["args"], file.read_text()


def test_all_files_are_known() -> None:
    assert [str(path.relative_to(MANIFESTS)) for path in FILES] == [
        "base/config.yaml",
        "overlays/sidecar-quota/config.yaml",
    ]


@pytest.mark.parametrize(
    "shipped",
    [
        *(
            pytest.param(partial(sidecar, overlay), id=overlay.name)
            for overlay in (*SIDECARS.values(), SIDECAR_QUOTA)
        ),
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
    loaded = config.load(flags, {}, lambda _: text)
    serving = loaded.serving
    assert serving.bind_address == "127.0.0.1", "callbacks stay on loopback"
    assert not serving.insecure_serving
    in_a_pod = "--ops-bind-address=0.0.0.0" in arguments
    assert serving.ops_bind_address == ("0.0.0.0" if in_a_pod else "127.0.0.1")


def test_all_overlays_with_a_pod_are_tried() -> None:
    with_pods = {path.parent for path in OVERLAYS.rglob("scheduler-config.yaml")}
    assert with_pods == {*SIDECARS.values(), SIDECAR_QUOTA}
