"""What a kubelet makes of node affinity: it checks the pod's spec, and knows no annotation."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.moving import on_ssd
from tests.e2e.objects import JSON, node, pod
from tests.e2e.original import WHOLE, original

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.controlplane.binaries import Binaries

_AFFINITY = "affinity-extender.io/affinity"


@pytest.fixture(scope="module")
def admission(built: Callable[[Callable[[Callable[[str], None]], Binaries]], Binaries]) -> str:
    """Return the program around the kubelet's own handler, built on the first run."""
    what = "the kubelet's admission of Kubernetes"
    return original(built, "admission", what, WHOLE)


def rules(execution: str) -> str:
    """Return a node affinity as an annotation has it."""
    required = on_ssd()["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return json.dumps(
        {"nodeAffinity": {f"requiredDuringScheduling{execution}DuringExecution": required}}
    )


def asked(labels: dict[str, str], affinity: JSON | None, annotations: dict[str, str]) -> JSON:
    """Return a question about a pod and the node that it is bound to."""
    made = pod("p", on="n")
    made["metadata"]["annotations"] = annotations
    if affinity is not None:
        made["spec"]["affinity"] = affinity
    there = node("n")
    there["metadata"]["labels"] |= labels
    return {"pod": made, "node": there}


CASES: dict[str, tuple[JSON, bool]] = {
    "the spec's rule holds": (asked({"disk": "ssd"}, on_ssd(), {}), True),
    "the spec's rule is broken": (asked({}, on_ssd(), {}), False),
    "a rule in the annotation is broken": (
        asked({}, None, {_AFFINITY: rules("Required")}),
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_kubelet_admits_by_the_spec_alone(admission: str, name: str) -> None:
    question, admitted = CASES[name]
    run = subprocess.run(
        [admission],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answer = json.loads(run.stdout)
    assert answer == {"admit": admitted, "reason": "" if admitted else "NodeAffinity"}
