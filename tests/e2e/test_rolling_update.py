"""A rolling update on a full cluster needs pod-template-hash in its anti-affinity to move.

One pod on each node, each repelling its like, and no pod may be missing: the update can only go
on if a new pod may join an old one on its node. matchLabelKeys says that they are not alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.objects import HOSTNAME, JSON, node, pod_spec, term
from tests.e2e.sandbox import SETTLE_S, refusal
from tests.e2e.scheduling import MODES

if TYPE_CHECKING:
    from tests.e2e.api import Mirror
    from tests.e2e.sandbox import Sandbox

NODES = [node("n1"), node("n2"), node("n3")]
WEB = {"app": "web"}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"

every_mode = pytest.mark.parametrize("mode", MODES)


def deployment(**of_the_term: list[str]) -> JSON:
    spec = pod_spec(apart=[term(HOSTNAME, WEB, **of_the_term)])
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": WEB},
            "template": {"metadata": {"labels": WEB}, "spec": spec},
            "progressDeadlineSeconds": 2,
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        },
    }


async def fill_cluster(sandbox: Sandbox, deployments: Mirror, wanted: JSON) -> None:
    """Bring the Deployment to one pod on each node, a pod at a time."""
    await sandbox.api.create(DEPLOYMENTS, wanted)
    for count in range(1, len(NODES) + 1):
        await sandbox.api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": count}})
        await deployments.until(
            lambda count=count: status(deployments).get("availableReplicas") == count,  # type: ignore[misc]
            SETTLE_S,
            f"{count} replicas to be available",
        )


async def update(sandbox: Sandbox) -> None:
    change = {"metadata": {"labels": {"version": "2"}}}
    await sandbox.api.patch(f"{DEPLOYMENTS}/web", {"spec": {"template": change}})


def status(deployments: Mirror) -> JSON:
    found: JSON = deployments.objects.get("default/web", {}).get("status", {})
    return found


def conditions(deployments: Mirror) -> dict[str, str]:
    return {each["type"]: each["reason"] for each in status(deployments).get("conditions", [])}


def nodes_of(sandbox: Sandbox, version: str | None) -> list[str]:
    """Return the nodes of the placed pods of one version."""
    return sorted(
        pod["spec"]["nodeName"]
        for pod in sandbox.pods.objects.values()
        if pod["metadata"]["labels"].get("version") == version and pod["spec"].get("nodeName")
    )


@every_mode
async def test_the_update_succeeds_with_the_key(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*NODES)
    async with (
        sandbox.scheduled_by(mode),
        sandbox.kubelet(),
        sandbox.api.mirror(DEPLOYMENTS) as deployments,
    ):
        wanted = deployment(matchLabelKeys=["pod-template-hash"])
        await fill_cluster(sandbox, deployments, wanted)
        assert nodes_of(sandbox, None) == ["n1", "n2", "n3"]

        await update(sandbox)
        await sandbox.pods.until(
            lambda: nodes_of(sandbox, "2") == ["n1", "n2", "n3"] and nodes_of(sandbox, None) == [],
            SETTLE_S,
            "each old pod to be replaced by a new one",
        )

        assert (await sandbox.checker()).broken_rules() == []


@every_mode
async def test_the_update_is_stuck_without_the_key(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*NODES)
    async with (
        sandbox.scheduled_by(mode),
        sandbox.kubelet(),
        sandbox.api.mirror(DEPLOYMENTS) as deployments,
    ):
        await fill_cluster(sandbox, deployments, deployment())

        await update(sandbox)
        await deployments.until(
            lambda: conditions(deployments).get("Progressing") == "ProgressDeadlineExceeded",
            SETTLE_S,
            "the Deployment to say that it does not progress",
        )

    assert nodes_of(sandbox, None) == ["n1", "n2", "n3"]
    assert nodes_of(sandbox, "2") == []
    (stuck,) = (p for p in sandbox.pods.objects.values() if not p["spec"].get("nodeName"))
    assert "3 node(s) didn't match pod anti-affinity rules" in str(refusal(stuck))
