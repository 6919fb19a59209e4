"""Every YAML file that is shipped is tidy, and every Kubernetes object in it is valid."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from tests.deploy.kustomize import render
from tests.deploy.places import (
    EVERY_OVERLAY,
    EXAMPLES,
    INTEGRATIONS,
    KUBEADM,
    MANIFESTS,
    SAMPLES,
    SCHEDULER_CONFIG,
    read_objects,
)

KUBERNETES = "1.37"

STYLE = Path(__file__).with_name("yamllint.yaml")


def test_yamllint_has_no_remark() -> None:
    command = [sys.executable, "-m", "yamllint", "--strict", "-f", "parsable", "-c", str(STYLE)]
    folders = [
        str(folder) for folder in (SCHEDULER_CONFIG, MANIFESTS, SAMPLES, EXAMPLES, INTEGRATIONS)
    ]
    report = subprocess.run([*command, *folders], capture_output=True, text=True, check=False)
    assert (report.returncode, report.stdout, report.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "objects",
    [
        *(
            pytest.param(partial(render, path), id=f"{path.name}, applied")
            for path in EVERY_OVERLAY
        ),
        pytest.param(lambda: read_objects(KUBEADM / "static-pod.yaml"), id="kubeadm, on the host"),
        pytest.param(lambda: read_objects(SAMPLES / "cluster.yaml"), id="sample cluster"),
        *(
            pytest.param(partial(read_objects, path), id=f"example {path.relative_to(EXAMPLES)}")
            for path in sorted(EXAMPLES.glob("*/*.yaml"))
            if path.name != "admission-configuration.yaml"  # a file, not an object of the API
        ),
    ],
)
def test_kubernetes_takes_every_object(objects: Callable[[], list[dict[str, Any]]]) -> None:
    found = objects()
    assert found
    for one in found:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)


def test_the_validation_sees_a_field_that_does_not_exist() -> None:
    typo = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeNam": "b"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(typo, KUBERNETES, strict=True)
