"""Mutated objects, list pages and watch lines: nothing but our own errors comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from extender.core.errors import MESSAGE_BYTES, ExtenderError, ObjectError
from extender.core.kube.failures import BrokenAnswerError, failure_from_body
from extender.core.kube.frames import SkippedError, read_event, read_metadata, read_page
from extender.core.resources import of_features
from extender.core.wire.affinity import Gates
from extender.core.wire.objects import NodeReader, PodReader, read_budget, read_namespace
from tests.beside import RULES
from tests.builders import (
    budget,
    every_facet,
    namespace,
    node,
    pod,
    selector,
    term,
)
from tests.conformance.cases import load_cases
from tests.features.every import objects
from tests.fuzz.campaign import Campaign
from tests.fuzz.mutating import mutated

pytestmark = pytest.mark.thorough

Reader = Callable[[msgspec.Raw], object]

KEYS = {"matchLabelKeys": ["app"], "mismatchLabelKeys": ["tier"]}
PLACED = (
    pod("p")
    .labels(app="web", tier="a")
    .anti_affinity(term("zone", selector(app="web"), **KEYS))
    .prefers(5, term("zone", selector(app="db"), namespaces=["x"], namespaceSelector={}))
    .on("a")
)
FULL = {
    **PLACED,
    "spec": {
        **PLACED["spec"],
        "priority": 5,
        "nodeName": "a",
        "overhead": {"cpu": "1m"},
        "activeDeadlineSeconds": 5,
        "containers": [{"resources": {"requests": {"cpu": "100m", "memory": "1Gi", "a/b": 2}}}],
        "initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"cpu": 0.5}}}],
        "schedulingGroup": {"podGroupName": "g"},
    },
    "status": {"phase": "Running", "nominatedNodeName": "b"},
}
NODE = {
    **node("a", {"zone": "z"}),
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}


def _like(kind: str) -> list[Any]:
    return [each for each in objects() if each["kind"] == kind]


def readers() -> Mapping[str, tuple[Reader, list[Any]]]:
    """Return what reads each kind, as programs do, and what to begin with."""
    pods = [FULL, *(each for case in load_cases()[:20] for each in case.cluster["pods"])]
    return {
        "pod": (PodReader(facets=every_facet(), rules=RULES).read, pods),
        "pod without gates": (PodReader(gates=Gates(False, False)).read, pods),  # noqa: FBT003
        "node": (NodeReader().read, [NODE]),
        "single node": (NodeReader().read, [NODE]),
        "namespace": (read_namespace, [namespace("default", {"team": "red"})]),
        "budget": (read_budget, [budget("one", selector(app="web"), 2)]),
        **{each.name: (each.reader(PodReader()), _like(each.kind)) for each in of_features()},
    }


@pytest.mark.parametrize("kind", list(readers()))
def test_a_reader_raises_object_errors_alone(kind: str) -> None:
    read, objects = readers()[kind]
    campaign = Campaign(f"object {kind}")
    for dice in campaign:
        raw = mutated(dice, dice.choice(objects))
        with campaign.telling(raw):
            try:
                read(msgspec.Raw(raw))
            except ObjectError as error:
                check(error)


def test_lists_and_watches_raise_their_own_errors_alone() -> None:
    page = {"kind": "PodList", "metadata": {"resourceVersion": "5", "continue": "x"}}
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "m"}
    status["details"] = {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1}
    campaign = Campaign("frames")
    for dice in campaign:
        raw = mutated(dice, {**page, "items": [FULL] * dice.randint(0, 2)})
        with campaign.telling(raw):
            try:
                for item in read_page(raw).items or ():
                    read_metadata(item)
            except (BrokenAnswerError, SkippedError) as error:
                check(error)
        kind = dice.choice(("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"))
        raw = mutated(dice, {"type": kind, "object": status if kind == "ERROR" else FULL})
        with campaign.telling(raw):
            try:
                read_event(raw + b"\n")
            except (ExtenderError, SkippedError) as error:
                check(error)
        raw = mutated(dice, status)
        with campaign.telling(raw):
            check(failure_from_body(raw, status=410))


def check(error: Exception) -> None:
    """A message is a line that can be logged, and sent."""
    assert str(error).isprintable()
    assert len(str(error).encode()) <= MESSAGE_BYTES
    json.dumps(str(error)).encode()
