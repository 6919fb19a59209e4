"""Victims of a Deployment have successors at once: one goes for a preemptor, as with stock."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.e2e.extending import REPLACE
from tests.e2e.kubelet import end_pods, working
from tests.e2e.objects import JSON, ZONE, node, pod, pod_spec, term
from tests.e2e.preempting import HIGH, LOW, QUIET_S, WEB, ensure_classes, ranked
from tests.e2e.sandbox import SETTLE_S, pod_path, pods_path
from tests.e2e.scheduling import STOCK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.e2e.sandbox import Sandbox

SIX_NODES = [node(f"{zone}{n}", zone) for zone in "abc" for n in (1, 2)]
APART = [term(ZONE, WEB)]
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BOUND_S = 60.0
MOST_TIMES_STOCK = 4
NOISE_S = 12.0
"""The scheduler's longest back-off, which it gives a pod that events woke while victims went, and
what a busy machine adds."""
CROWD = 4
"""Pods that come and go all the time beside, so that the scheduler has others to try."""
ENDING_S = 1.0
"""How long a replica takes to end, as with kubelets."""


def web() -> JSON:
    """Return a Deployment of three that are apart by zone."""
    spec = pod_spec(apart=APART) | {"priorityClassName": LOW[0]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": WEB},
            "template": {"metadata": {"labels": WEB}, "spec": spec},
        },
    }


def replicas(sandbox: Sandbox) -> dict[str, JSON]:
    """Return every replica that has ever had a node, by uid, as it was last."""
    return {
        each["metadata"]["uid"]: each
        for each in sandbox.pods.history
        if each["metadata"]["name"].startswith("web-") and each["spec"].get("nodeName")
    }


def victims(sandbox: Sandbox) -> list[str]:
    """Return the names of the replicas that were evicted."""
    gone = replicas(sandbox).values()
    return sorted(
        each["metadata"]["name"] for each in gone if each["metadata"].get("deletionTimestamp")
    )


@asynccontextmanager
async def churning(sandbox: Sandbox, *, busy: bool) -> AsyncIterator[None]:
    """Let pods that no rule is about come and go meanwhile, if it is to be busy."""

    async def churn(number: int) -> None:
        for turn in itertools.count():
            each = ranked(pod(f"churn-{number}-{turn}"), LOW)
            await sandbox.api.create(pods_path(each), each)
            await asyncio.sleep(0.1)
            await sandbox.api.delete(pod_path(each))

    async with working(*(churn(number) for number in range(CROWD if busy else 0))):
        yield


async def preempt_once(sandbox: Sandbox, mode: str, *, busy: bool) -> tuple[int, float]:
    """Let one important pod come; return how many replicas went, and when it was bound."""
    await sandbox.add(*SIX_NODES)
    ending = end_pods(sandbox.api, sandbox.pods, lambda _: ENDING_S)
    async with sandbox.scheduled_by(mode), working(ending):
        await sandbox.api.create(DEPLOYMENTS, web())
        await sandbox.pods.until(lambda: len(replicas(sandbox)) == 3, SETTLE_S, "three replicas")
        async with churning(sandbox, busy=busy):
            important = ranked(pod("important", labels=WEB, apart=APART), HIGH)
            began = monotonic()
            await sandbox.api.create(pods_path(important), important)
            await sandbox.pods.until(
                lambda: "default/important" in sandbox.places(), BOUND_S, "important to be bound"
            )
            seconds = monotonic() - began
            # Nothing is to happen from now on, so there is nothing to wait for.
            await asyncio.sleep(QUIET_S)
        gone = victims(sandbox)
        await sandbox.api.delete(f"{DEPLOYMENTS}/web")
    await sandbox.assert_lawful()
    await sandbox.clear()
    return len(gone), seconds


@pytest.mark.parametrize("busy", [False, True])
async def test_one_replica_goes_for_a_preemptor(
    sandbox: Sandbox, say: Callable[[str], None], *, busy: bool
) -> None:
    await ensure_classes(sandbox.api)
    seconds = {}
    for mode in (STOCK, REPLACE):
        gone, seconds[mode] = await preempt_once(sandbox, mode, busy=busy)
        say(f"{mode}, {busy=}: {gone} gone, bound after {seconds[mode]:.2f} s")
        assert gone == 1, mode
    assert seconds[REPLACE] <= MOST_TIMES_STOCK * seconds[STOCK] + NOISE_S
