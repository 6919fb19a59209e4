"""Pods whose rules do not hold any more are moved, once each; and those stay that have to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import for_each
from tests.e2e.extending import EXTENDER
from tests.e2e.moving import GRACE_S, QUIET_S, SLACK_S, SSD, moving, on_ssd, replica_set, together
from tests.e2e.muting import muting
from tests.e2e.objects import JSON, ZONE, namespace, node, pod
from tests.e2e.preempting import budget

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

DISKS = [node("a", "za", disk="ssd"), node("b", "zb")]
PER_MINUTE = 30
SCHEDULING = "requiredDuringSchedulingIgnoredDuringExecution"
MANY_NODES, MANY_PODS, OWNERS = 500, 2000, 200


async def test_a_pod_whose_node_loses_its_label_moves_once(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with moving(sandbox) as moves:
        await moves.create(replica_set("disk", on_ssd()))
        ((old, _),) = moves.running("disk").items()
        await moves.label("b", **SSD)
        began = monotonic()
        await moves.label("a", disk=None)
        await moves.until(
            lambda: [*moves.running("disk").values()] == ["b"], GRACE_S + SLACK_S, "the move"
        )
        assert GRACE_S <= monotonic() - began <= GRACE_S + SLACK_S
        note = await moves.said("EvictedByAffinityRule")
        assert "required node affinity (disk in (ssd)) is not met by the labels of node a" in note
        await asyncio.sleep(QUIET_S)
        assert moves.evicted() == [old]
        assert [*moves.running("disk").values()] == ["b"]


async def test_what_is_undone_within_the_grace_period_moves_nobody(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with moving(sandbox, gracePeriodSeconds=4) as moves:
        await moves.create(replica_set("disk", on_ssd()))
        await moves.label("b", **SSD)
        await moves.label("a", disk=None)
        await asyncio.sleep(1)
        await moves.label("a", **SSD)
        await asyncio.sleep(QUIET_S)
        assert moves.evicted() == []


async def test_a_budget_that_allows_nobody_keeps_the_pod(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with moving(sandbox) as moves:
        await moves.create(replica_set("disk", on_ssd()), allows_its_last=False)
        async with budget(sandbox.api, {"app": "disk"}):
            await moves.label("b", **SSD)
            await moves.label("a", disk=None)
            note = await moves.said("NotEvictedByAffinityRule", "it stays: a disruption budget")
            assert "disruption budget" in note
            await asyncio.sleep(QUIET_S)
            assert [*moves.running("disk").values()] == ["a"]
            assert moves.evicted() == []


async def test_a_pod_in_two_budgets_stays_whatever_they_allow(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with moving(sandbox) as moves:
        await moves.create(replica_set("disk", on_ssd()))
        async with budget(sandbox.api, {"app": "disk"}, 1, "second"):
            await moves.label("b", **SSD)
            await moves.label("a", disk=None)
            await moves.said("NotEvictedByAffinityRule", "more than one PodDisruptionBudget")
            await asyncio.sleep(QUIET_S)
            assert [*moves.running("disk").values()] == ["a"]
            assert moves.evicted() == []


async def test_the_only_ready_pod_of_a_controller_stays(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with moving(sandbox) as moves:
        await moves.create(replica_set("disk", on_ssd()), allows_its_last=False)
        await moves.label("b", **SSD)
        await moves.label("a", disk=None)
        await moves.said("NotEvictedByAffinityRule", "no other pod of its controller is ready")
        await asyncio.sleep(QUIET_S)
        assert [*moves.running("disk").values()] == ["a"]
        assert moves.evicted() == []


async def test_a_pod_without_a_controller_stays(sandbox: Sandbox) -> None:
    bare = pod("bare", on="a")
    bare["spec"]["affinity"] = on_ssd()
    await sandbox.add(*DISKS, bare)
    async with moving(sandbox) as moves:
        await moves.label("b", **SSD)
        await moves.label("a", disk=None)
        await moves.said("NotEvictedByAffinityRule", "it has no controller")
        await asyncio.sleep(QUIET_S)
        assert "default/bare" in sandbox.pods.objects


async def test_a_pod_with_nowhere_to_go_stays(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with moving(sandbox) as moves:
        await moves.create(replica_set("disk", on_ssd()))
        await moves.label("a", disk=None)
        await moves.said("NotEvictedByAffinityRule", "no other node would take it")
        await asyncio.sleep(QUIET_S)
        assert [*moves.running("disk").values()] == ["a"]


async def test_a_pod_follows_a_partner_that_is_gone(sandbox: Sandbox) -> None:
    partner = pod("partner", labels={"app": "db"}, on="a")
    await sandbox.add(*DISKS, partner)
    async with moving(sandbox) as moves:
        await moves.create(replica_set("web", together({"app": "db"}, ZONE)))
        assert [*moves.running("web").values()] == ["a"]
        await sandbox.add(pod("partner-2", labels={"app": "db"}, on="b"))
        await sandbox.api.delete("/api/v1/namespaces/default/pods/partner")
        await moves.until(
            lambda: [*moves.running("web").values()] == ["b"], GRACE_S + SLACK_S, "the move"
        )
        assert len(moves.evicted()) == 1
        assert f"no such pod is in {ZONE}=za" in await moves.said("EvictedByAffinityRule")


async def test_a_rule_by_annotation_is_enough(sandbox: Sandbox) -> None:
    (terms,) = on_ssd()["nodeAffinity"].values()
    rule = {"nodeAffinity": {"requiredDuringSchedulingRequiredDuringExecution": terms}}
    workload = replica_set("disk", {})
    annotations = {"affinity-extender.io/affinity": json.dumps(rule)}
    workload["spec"]["template"]["metadata"]["annotations"] = annotations
    await sandbox.add(DISKS[0])
    async with moving(sandbox, plainRules={}) as moves:
        await moves.create(workload)
        ((old, _),) = moves.running("disk").items()
        await sandbox.add(node("b", "zb", disk="ssd"))
        # The scheduler that places pods here has never heard of the annotation.
        await sandbox.api.patch("/api/v1/nodes/a", {"spec": {"unschedulable": True}})
        await moves.label("a", disk=None)
        await moves.until(
            lambda: [*moves.running("disk").values()] == ["b"], GRACE_S + SLACK_S, "the move"
        )
        await asyncio.sleep(QUIET_S)
        assert moves.evicted() == [old]


async def test_a_silent_watch_of_nodes_evicts_nobody_whose_rule_holds(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with (
        muting(sandbox.control_plane) as proxy,
        moving(sandbox, server=proxy.url, gracePeriodSeconds=3) as moves,
    ):
        await moves.create(replica_set("disk", on_ssd(), replicas=3))
        await moves.label("b", **SSD)
        await moves.label("a", disk=None)
        await asyncio.sleep(1)
        proxy.muted = frozenset(("/api/v1/nodes",))
        await moves.label("a", **SSD)
        note = await moves.said("NotEvictedByAffinityRule", "does not show what the watch has")
        assert "the labels of its node are not as the watch has shown them" in note
        await asyncio.sleep(QUIET_S)
        assert moves.evicted() == []
        found = await moves.violations()
        assert {each["outcome"] for each in found["pods"]} <= {"unconfirmed", "ownerBusy"}


async def test_a_tenant_who_relabels_his_pods_evicts_nobody_else_s(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS, namespace("tenant"))
    everywhere = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "bait"}}}
    apart = {"podAntiAffinity": {SCHEDULING: [everywhere | {"namespaceSelector": {}}]}}
    async with moving(sandbox) as moves:
        await moves.create(replica_set("solo", apart | on_ssd()))
        theirs = pod("payroll-db-0", namespace="tenant", labels={"app": "payroll"}, on="a")
        await sandbox.add(theirs)
        await moves.label("b", **SSD)
        await asyncio.sleep(2)
        path = "/api/v1/namespaces/tenant/pods/payroll-db-0"
        await sandbox.api.patch(path, {"metadata": {"labels": {"app": "bait"}}})
        note = await moves.said("NotEvictedByAffinityRule", "not known to have been")
        assert "1 pod of other namespaces" in note
        assert "payroll" not in note
        await asyncio.sleep(QUIET_S)
        assert moves.evicted() == []


async def test_the_command_finds_in_a_live_cluster_what_is_broken(sandbox: Sandbox) -> None:
    bare = pod("bare", on="a")
    bare["spec"]["affinity"] = on_ssd()
    await sandbox.add(node("a"), bare)
    kubeconfig = sandbox.control_plane.kubeconfig(EXTENDER)
    command = [sys.executable, "-m", "extender", "violations", "-o", "json", "--plain-rules", ""]
    run = await asyncio.create_subprocess_exec(
        *command, "--kubeconfig", str(kubeconfig), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await run.communicate()
    (found,) = json.loads(said)["pods"]
    assert (run.returncode, found["pod"], found["outcome"]) == (1, "default/bare", "noController")


async def test_a_dry_run_only_says_what_it_would_do(sandbox: Sandbox) -> None:
    await sandbox.add(*DISKS)
    async with moving(sandbox, dryRun=True) as moves:
        await moves.create(replica_set("disk", on_ssd()))
        await moves.label("b", **SSD)
        await moves.label("a", disk=None)
        await moves.said("WouldEvictByAffinityRule", "would be evicted (dry run) now")
        await asyncio.sleep(QUIET_S)
        assert [*moves.running("disk").values()] == ["a"]
        assert moves.evicted() == []


@pytest.mark.long  # test_replicas.py has a leader that stands still.
@pytest.mark.parametrize("ending", ["killed", "cut off"])
async def test_two_replicas_evict_once_whatever_happens_to_the_leader(
    sandbox: Sandbox, ending: str
) -> None:
    await sandbox.add(*DISKS)
    # By the time the grace period is over, the leader is gone or stands still.
    async with moving(sandbox, 2, gracePeriodSeconds=5) as moves:
        await moves.create(replica_set("disk", on_ssd()))
        leader = await moves.leader()
        await moves.label("b", **SSD)
        await moves.label("a", disk=None)
        await asyncio.sleep(2)
        if ending == "killed":
            await leader.kill_and_start_again()
        else:
            os.kill(leader.pid, signal.SIGSTOP)
        try:
            # A Lease that nobody renews is taken after 15 s.
            await moves.until(lambda: [*moves.running("disk").values()] == ["b"], 45, "the move")
        finally:
            if ending == "cut off":
                os.kill(leader.pid, signal.SIGCONT)
        await asyncio.sleep(QUIET_S)
        assert len(moves.evicted()) == 1
        assert [*moves.running("disk").values()] == ["b"]


def owner(number: int) -> JSON:
    """Return something that a pod can name as its controller, and that creates none."""
    metadata = {"name": f"owner-{number}", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.long
async def test_five_hundred_relabelled_nodes_are_a_trickle_and_then_a_pause(
    sandbox: Sandbox,
) -> None:
    api = sandbox.api
    names = [f"n{number}" for number in range(MANY_NODES)]
    await for_each(
        [node(name, disk="ssd") for name in names], lambda each: api.create("/api/v1/nodes", each)
    )
    await sandbox.add(node("spare", pods=5000, disk="ssd"))
    uids = {}
    for number in range(OWNERS):
        made = await api.create("/api/v1/namespaces/default/configmaps", owner(number))
        uids[number] = made["metadata"]["uid"]
    try:
        await for_each(
            [_owned(number, uids[number % OWNERS], names) for number in range(MANY_PODS)],
            lambda each: api.create("/api/v1/namespaces/default/pods", each),
        )
        async with moving(sandbox, scheduled=False, evictionsPerMinute=PER_MINUTE) as moves:
            await for_each(
                [{"name": name} for name in names],
                lambda each: moves.label(each["name"], disk=None),
            )
            await asyncio.sleep(150)
            times = sorted(moves.evictions().values())
            # The API server's times are cut to seconds: 59 may be 60.
            for first, last in zip(times, times[PER_MINUTE:], strict=False):
                assert (last - first).total_seconds() >= 59
            assert 2 * PER_MINUTE <= len(times) <= 3 * PER_MINUTE
            said = Counter(each["outcome"] for each in (await moves.violations())["pods"])
            assert said["waitsForTurn"] + said["ownerBusy"] > 0
        async with moving(sandbox, scheduled=False, maxAffected="10%") as moves:
            before = len(moves.evicted())
            note = await moves.said("EvictionsPaused", within=30)
            assert "half of requiredDuringExecution.maxAffected" in note
            await asyncio.sleep(QUIET_S)
            assert len(moves.evicted()) == before
    finally:
        await api.delete("/api/v1/namespaces/default/configmaps")


def _owned(number: int, uid: str, names: list[str]) -> JSON:
    made = pod(f"p{number}", on=names[number % len(names)])
    made["spec"]["affinity"] = on_ssd()
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True, "uid": uid}
    made["metadata"]["ownerReferences"] = [reference | {"name": f"owner-{number % OWNERS}"}]
    return made
