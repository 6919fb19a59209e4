"""Quotas on cross-namespace affinity, with the real scheduler: the line behind admission.

The pods are there before the quota is, which is when kube-apiserver has nothing more to say.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.api import key_of
from tests.e2e.classes import ensure_priority_class
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.objects import HOSTNAME, JSON, namespace, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pod_path, pods_path, refusal

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

TEXT = "namespace quota doesn't allow cross-namespace pod affinity"
IMPORTANT = "e2e-important"

EVERYWHERE: JSON = {"namespaceSelector": {}}
NOBODY = term(HOSTNAME, {"app": "nobody"}, **EVERYWHERE)
"""In scope, and in nobody's way."""


def user(name: str, space: str = "barred", **fields: Any) -> JSON:
    """Return a pod that uses affinity across namespaces."""
    made = pod(name, space, apart=[NOBODY])
    return made | {"spec": made["spec"] | fields}


def quota(pods: int, space: str = "barred") -> JSON:
    """Return a quota for the pods in scope."""
    scope = {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
    spec = {"hard": {"pods": str(pods)}, "scopeSelector": {"matchExpressions": [scope]}}
    metadata = {"name": "crossing", "namespace": space}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def quotas_path(space: str = "barred") -> str:
    """Return the collection of a namespace's quotas."""
    return f"/api/v1/namespaces/{space}/resourcequotas"


def is_refused(waiting: JSON) -> bool:
    """Return whether filter has refused a pod; one whose bind was refused is still to come back."""
    conditions = waiting.get("status", {}).get("conditions", [])
    return any(each["reason"] == "Unschedulable" and TEXT in each["message"] for each in conditions)


async def create(sandbox: Sandbox, *pods: JSON) -> None:
    """Create pods that nobody places yet."""
    for each in pods:
        await sandbox.api.create(pods_path(each), each)


@pytest.mark.parametrize("mode", [ASSIST, REPLACE])
async def test_a_barred_namespace_is_told_so_until_its_quota_is_gone(
    sandbox: Sandbox, mode: str
) -> None:
    await sandbox.add(node("a"), node("b"), namespace("barred"), namespace("open"))
    await create(sandbox, user("user"), pod("plain", "barred"), user("user", "open"))
    await sandbox.api.create(quotas_path(), quota(0))
    async with sandbox.scheduled_by(mode, quotas=True):
        assert await sandbox.decided("open/user") is not None
        assert await sandbox.decided("barred/plain") is not None
        assert await sandbox.decided("barred/user") is None
        told = refusal(sandbox.pods.objects["barred/user"])
        assert told is not None
        assert told.startswith(f"0/2 nodes are available: 2 {TEXT}.")
        assert sandbox.extender is not None
        refusals = "affinity_extender_quota_refusals_total"
        assert await sandbox.extender.counter(refusals, extension_point="Filter") > 0
        await sandbox.api.delete(f"{quotas_path()}/crossing")
        # No event that the scheduler knows follows from that. In replace a hint wakes the pod, in
        # assist the next placement does.
        if mode == ASSIST:
            await create(sandbox, pod("next"))
        await sandbox.bound("barred/user")


async def test_who_uses_it_and_whom_a_limit_would_refuse(sandbox: Sandbox) -> None:
    await sandbox.add(node("a"), namespace("barred"), namespace("open"))
    await sandbox.add(user("placed", nodeName="a"), user("other", "open", nodeName="a"))
    await create(sandbox, user("waits"), pod("plain", "barred"))
    await sandbox.api.create(quotas_path(), quota(1))
    kubeconfig = sandbox.control_plane.kubeconfig(ADMIN)
    told = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "extender", "quota", "--kubeconfig", str(kubeconfig)),
        *("--namespace", "barred", "--what-if", "pods=0", "-o", "json"),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await told.communicate()
    assert told.returncode == 1, "somebody would be refused"
    (barred,) = json.loads(output)["namespaces"]
    assert (barred["placed"], barred["waiting"]) == (["barred/placed"], ["barred/waits"])
    assert [each["pod"] for each in barred["refusedNow"]] == ["barred/waits"]
    assert [each["pod"] for each in barred["refusedIf"]] == ["barred/placed", "barred/waits"]
    (found,) = barred["quotas"]
    assert (found["name"], found["resources"]) == ("crossing", {"pods": {"used": "1", "hard": "1"}})


@pytest.mark.parametrize("places", [1, 5])
async def test_no_burst_goes_beyond_a_quota_in_replace(sandbox: Sandbox, places: int) -> None:
    await sandbox.add(node("a"), node("b"), namespace("barred"))
    users = [user(f"user-{number}") for number in range(40)]
    await create(sandbox, *users)
    await sandbox.api.create(quotas_path(), quota(places))
    async with sandbox.scheduled_by(REPLACE, quotas=True):

        def undecided() -> list[str]:
            pods = sandbox.pods.objects.values()
            waiting = (each for each in pods if not each["spec"].get("nodeName"))
            return [key_of(each) for each in waiting if not is_refused(each)]

        await sandbox.pods.until(lambda: not undecided(), SETTLE_S, "all to be placed or refused")
        assert len(sandbox.waiting()) == len(users) - places
        gone = next(each for each in sandbox.pods.objects.values() if each["spec"].get("nodeName"))
        await sandbox.api.delete(pod_path(gone))
        await sandbox.pods.until(
            lambda: len(sandbox.waiting()) == len(users) - places - 1,
            SETTLE_S,
            "the next to take the place that is free",
        )
        assert len(sandbox.pods.objects) - len(sandbox.waiting()) == places


@pytest.mark.parametrize("mode", [ASSIST, REPLACE])
async def test_nobody_is_evicted_for_a_pod_that_its_quota_does_not_allow(
    sandbox: Sandbox, mode: str
) -> None:
    await ensure_priority_class(sandbox.api, IMPORTANT, 1000)
    nodes = [node(f"n{number}", pods=1) for number in range(4)]
    there = [
        pod(f"there-{each['metadata']['name']}", on=each["metadata"]["name"]) for each in nodes
    ]
    await sandbox.add(*nodes, namespace("barred"), *there)
    await create(sandbox, user("user", priorityClassName=IMPORTANT))
    await sandbox.api.create(quotas_path(), quota(0))
    async with sandbox.scheduled_by(mode, quotas=True):
        assert await sandbox.decided("barred/user") is None
        # A placement elsewhere brings the pod back to the queue, again and again.
        await sandbox.add(node("roomy"))
        for number in range(3):
            await create(sandbox, pod(f"more-{number}"))
            # The first may be asked about before both have heard of its node.
            assert await sandbox.bound(f"default/more-{number}") == "roomy"
        assert TEXT in str(refusal(sandbox.pods.objects["barred/user"]))
        assert {key_of(each) for each in there} <= sandbox.pods.objects.keys()
        assert not any(each["metadata"].get("deletionTimestamp") for each in sandbox.pods.history)
