"""The examples of the documentation, applied as they are, do what they say."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.e2e.api import ApiError, key_of
from tests.e2e.applying import applied, collection
from tests.e2e.exclusive import RACK, written_by_policy
from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.judging import judging
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pod_path, pods_path, refusal
from tests.e2e.scheduling import STOCK
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
POOL = "example.com/node-pool"

# The examples are about Kubernetes, so they hold without us as well.
with_and_without_us = pytest.mark.parametrize("mode", [in_e2e_all(STOCK), REPLACE])


async def until_placed(sandbox: Sandbox, count: int) -> dict[str, str]:
    """Return the nodes of the pods once there are so many with one."""
    await sandbox.pods.until(
        lambda: len(sandbox.places()) == count, SETTLE_S, f"{count} placed pods"
    )
    return sandbox.places()


async def until_refused(sandbox: Sandbox, count: int = 1) -> list[JSON]:
    """Return the pods that the scheduler finds no place for, once there are so many."""

    def refused() -> list[JSON]:
        return [each for each in sandbox.pods.objects.values() if refusal(each)]

    await sandbox.pods.until(lambda: len(refused()) == count, SETTLE_S, f"{count} refused pods")
    return refused()


@with_and_without_us
async def test_replicas_apart(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*(node(f"n{n}") for n in range(1, 4)))
    async with (
        sandbox.scheduled_by(mode),
        applied(sandbox.api, EXAMPLES / "replicas-apart/deployment.yaml") as things,
    ):
        nodes = await until_placed(sandbox, 4)
        assert sorted(Counter(nodes.values()).values()) == [1, 1, 2]

        await sandbox.add(node("n4"))
        await sandbox.api.patch(f"{collection(things[0])}/web", {"spec": {"replicas": 5}})
        places = await until_placed(sandbox, 5)
        assert {places[key] for key in places.keys() - nodes.keys()} == {"n4"}


@pytest.mark.parametrize("mode", [ASSIST, REPLACE])
async def test_at_most_two_per_zone(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*(node(f"{zone}{n}", zone) for zone in "ab" for n in (1, 2)))
    async with (
        judging(sandbox, mode),
        applied(sandbox.api, EXAMPLES / "at-most-two-per-zone/deployment.yaml") as things,
    ):
        nodes = await until_placed(sandbox, 4)
        assert Counter(name[0] for name in nodes.values()) == {"a": 2, "b": 2}

        await sandbox.api.patch(f"{collection(things[0])}/web", {"spec": {"replicas": 7}})
        for each in await until_refused(sandbox, 3):
            assert "4 node(s) had as many matching pods" in str(refusal(each))

        await sandbox.add(*(node(f"c{n}", "c") for n in (1, 2)))
        places = await until_placed(sandbox, 6)
        assert Counter(name[0] for name in places.values()) == {"a": 2, "b": 2, "c": 2}


@with_and_without_us
async def test_job_alone_on_its_rack(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(
        *(node(f"{rack}{n}", None, 110, **{RACK: rack}) for rack in "rs" for n in (1, 2))
    )
    text = (EXAMPLES / "job-alone-on-its-rack/jobs.yaml").read_text()
    third = sandbox.folder("third") / "job.yaml"
    third.write_text(text.partition("---")[0].replace("train-a", "train-c"))
    async with (
        written_by_policy(sandbox.api),
        sandbox.scheduled_by(mode),
        applied(sandbox.api, EXAMPLES / "job-alone-on-its-rack/jobs.yaml"),
    ):
        places = await until_placed(sandbox, 4)
        racks = defaultdict(set)
        for key, name in places.items():
            racks[sandbox.pods.objects[key]["metadata"]["labels"]["job"]].add(name[0])
        assert sorted(map(sorted, racks.values())) == [["r"], ["s"]]

        async with applied(sandbox.api, third):
            for each in await until_refused(sandbox, 2):
                assert "4 node(s) didn't match pod anti-affinity rules" in str(refusal(each))
            await sandbox.add(*(node(f"t{n}", None, 110, **{RACK: "t"}) for n in (1, 2)))
            after = await until_placed(sandbox, 6)
            assert {after[key][0] for key in after.keys() - places.keys()} == {"t"}
        await sandbox.assert_lawful()


async def until_replaced(sandbox: Sandbox, before: dict[str, str]) -> dict[str, str]:
    """Return the nodes of the pods once each was replaced by a new one."""

    def replaced() -> bool:
        now = sandbox.places()
        return len(now) == len(before) and now.keys().isdisjoint(before)

    await sandbox.pods.until(replaced, SETTLE_S, "each old pod to be replaced by a new one")
    return sandbox.places()


IMAGE = {
    "spec": {
        "template": {
            "spec": {"containers": [{"name": "web", "image": "registry.k8s.io/pause:3.9"}]}
        }
    }
}


@pytest.mark.parametrize("mode", [ASSIST, REPLACE])
async def test_update_on_full_nodes(sandbox: Sandbox, mode: str, tmp_path: Path) -> None:
    await sandbox.add(*(node(f"n{n}") for n in range(1, 4)))
    found = yaml.safe_load((EXAMPLES / "update-on-full-nodes/deployment.yaml").read_text())
    if mode == ASSIST:
        # As the page says.
        template = found["spec"]["template"]
        rules = template["spec"].pop("affinity")
        template["metadata"]["annotations"]["affinity-extender.io/affinity"] = json.dumps(rules)
    manifest = tmp_path / "deployment.yaml"
    manifest.write_text(yaml.safe_dump(found))
    async with (
        judging(sandbox, mode),
        sandbox.kubelet(),
        applied(sandbox.api, manifest) as things,
    ):
        old = await until_placed(sandbox, 3)
        assert sorted(old.values()) == ["n1", "n2", "n3"]
        await sandbox.api.patch(f"{collection(things[0])}/web", IMAGE)
        new_places = await until_replaced(sandbox, old)
        assert sorted(new_places.values()) == sorted(old.values())


async def test_an_update_that_is_stuck_on_full_nodes(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.add(*(node(f"n{n}") for n in range(1, 4)))
    found = yaml.safe_load((EXAMPLES / "update-on-full-nodes/deployment.yaml").read_text())
    annotations = found["spec"]["template"]["metadata"].pop("annotations")
    manifest = tmp_path / "deployment.yaml"
    manifest.write_text(yaml.safe_dump(found))
    async with (
        judging(sandbox, REPLACE),
        sandbox.kubelet(),
        applied(sandbox.api, manifest) as things,
    ):
        old = await until_placed(sandbox, 3)
        await sandbox.api.patch(f"{collection(things[0])}/web", IMAGE)
        (new,) = await until_refused(sandbox)
        assert "3 node(s) didn't match pod anti-affinity rules" in str(refusal(new))
        for each in list(sandbox.pods.objects.values()):
            path = f"{pods_path(each)}/{each['metadata']['name']}"
            await sandbox.api.patch(path, {"metadata": {"annotations": annotations}})
        new_places = await until_replaced(sandbox, old)
        assert sorted(new_places.values()) == sorted(old.values())


@with_and_without_us
async def test_one_pod_per_node(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*(node(f"n{n}") for n in range(1, 5)))
    async with (
        sandbox.scheduled_by(mode),
        applied(sandbox.api, EXAMPLES / "one-pod-per-node/customers.yaml"),
    ):
        nodes = await until_placed(sandbox, 4)
        assert sorted(nodes.values()) == ["n1", "n2", "n3", "n4"]

        path = "/apis/apps/v1/namespaces/customer-b/deployments/engine"
        await sandbox.api.patch(path, {"spec": {"replicas": 3}})
        (fifth,) = await until_refused(sandbox)
        assert fifth["metadata"]["namespace"] == "customer-b"
        assert "4 node(s) didn't match pod anti-affinity rules" in str(refusal(fifth))

        await sandbox.add(node("n5"))
        assert await sandbox.bound(key_of(fifth)) == "n5"
        await sandbox.assert_lawful()


@with_and_without_us
async def test_rolling_update(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*(node(f"{zone}{n}", zone) for zone in "ab" for n in (1, 2)))
    deployment = EXAMPLES / "rolling-update/deployment.yaml"
    async with (
        sandbox.scheduled_by(mode),
        sandbox.kubelet(),
        applied(sandbox.api, deployment) as things,
    ):
        old = await until_placed(sandbox, 2)
        (zone,) = {name[0] for name in old.values()}
        for n in (1, 2):
            await sandbox.api.patch(f"/api/v1/nodes/{zone}{n}", {"spec": {"unschedulable": True}})

        image = {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.9"}]}
        change = {"spec": {"template": {"spec": image}}}
        await sandbox.api.patch(f"{collection(things[0])}/application-server", change)
        new = await until_replaced(sandbox, old)

        (other,) = {name[0] for name in new.values()}
        assert {zone, other} == {"a", "b"}


@with_and_without_us
async def test_rolling_update_is_stuck_without_label_keys(
    sandbox: Sandbox, mode: str, tmp_path: Path
) -> None:
    await sandbox.add(*(node(f"{zone}{n}", zone) for zone in "ab" for n in (1, 2)))
    text = (EXAMPLES / "rolling-update/deployment.yaml").read_text()
    changed = tmp_path / "deployment.yaml"
    changed.write_text(re.sub(r".*matchLabelKeys.*\n", "", text))
    async with (
        sandbox.scheduled_by(mode),
        sandbox.kubelet(),
        applied(sandbox.api, changed) as things,
    ):
        old = await until_placed(sandbox, 2)
        (zone,) = {name[0] for name in old.values()}
        for n in (1, 2):
            await sandbox.api.patch(f"/api/v1/nodes/{zone}{n}", {"spec": {"unschedulable": True}})

        change = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
        await sandbox.api.patch(f"{collection(things[0])}/application-server", change)
        (new,) = await until_refused(sandbox)

        assert "2 node(s) didn't match pod affinity rules" in str(refusal(new))
        assert sandbox.places() == old


@with_and_without_us
async def test_exclusive_node_pools(sandbox: Sandbox, mode: str) -> None:
    nodes = [node(f"p{pool}-{n}", None, 110, **{POOL: f"p{pool}"}) for pool in "12" for n in "ab"]
    await sandbox.add(*nodes)
    folder = EXAMPLES / "exclusive-node-pools"
    async with applied(sandbox.api, folder / "policy.yaml"):
        await until_mutated(sandbox)
        async with sandbox.scheduled_by(mode), applied(sandbox.api, folder / "tenants.yaml"):
            pools = defaultdict(set)
            for key, name in (await until_placed(sandbox, 6)).items():
                pools[key.partition("/")[0]].add(name[:2])
            assert sorted(map(sorted, pools.values())) == [["p1"], ["p2"]]

            third = pod("g", labels={"tenant": "green"}, near=[term(HOSTNAME, {})])
            await sandbox.api.create(pods_path(third), third)
            await sandbox.pods.until(
                lambda: "default/g" in sandbox.pods.objects, SETTLE_S, "the pod"
            )
            stored = sandbox.pods.objects["default/g"]["spec"]["affinity"]
            (own, added), (apart,) = (rules[REQUIRED] for rules in stored.values())
            assert own["topologyKey"] == HOSTNAME, "a rule of the pod's own is kept"
            assert added["labelSelector"] == {"matchExpressions": [tenant("In", "green")]}
            exists = {"key": "tenant", "operator": "Exists"}
            assert apart["labelSelector"] == {
                "matchExpressions": [exists, tenant("NotIn", "green")]
            }
            assert [key_of(each) for each in await until_refused(sandbox)] == ["default/g"]
            # From its stored spec, as a backup has it.
            again = third | {"spec": sandbox.pods.objects["default/g"]["spec"]}
            await sandbox.api.delete(pod_path(third))
            await sandbox.pods.until(
                lambda: "default/g" not in sandbox.pods.objects, SETTLE_S, "the pod to be gone"
            )
            created = await sandbox.api.create(pods_path(again), again)
            assert created["spec"]["affinity"] == stored

            assert (await sandbox.settle(pod("without-tenant")))["without-tenant"]
            await sandbox.assert_lawful()


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def tenant(operator: str, value: str) -> JSON:
    """Return what the API server makes of the label key."""
    return {"key": "tenant", "operator": operator, "values": [value]}


async def until_mutated(sandbox: Sandbox) -> None:
    """Return once the API server applies the policy, which it learns of by a watch of its own."""
    probe = pod("probe", labels={"tenant": "nobody"})
    async with asyncio.timeout(SETTLE_S):
        while True:
            answer = await sandbox.api.request("POST", pods_path(probe), probe, dryRun="All")
            if "affinity" in answer["spec"]:
                return
            await asyncio.sleep(0.05)


async def refused_on_create(sandbox: Sandbox, thing: JSON) -> str:
    """Return with which status and why the API server refuses to create a pod."""
    with pytest.raises(ApiError) as caught:
        await sandbox.api.create(pods_path(thing), thing)
    return str(caught.value)


async def until_enforced(sandbox: Sandbox, quota: JSON) -> None:
    """Return once a quota is in force: admission goes by what a controller writes to its status."""
    async with sandbox.api.mirror(collection(quota)) as quotas:
        await quotas.until(
            lambda: "hard" in quotas.objects[key_of(quota)].get("status", {}),
            SETTLE_S,
            "the quota to be in force",
        )


async def test_bar_a_namespace(sandbox: Sandbox) -> None:
    folder = EXAMPLES / "bar-a-namespace"
    files = (folder / "namespace.yaml", folder / "quota.yaml")
    async with applied(sandbox.api, *files) as (_, quota):
        await until_enforced(sandbox, quota)
        curious = yaml.safe_load((folder / "curious.yaml").read_text())
        message = (
            'pods "curious" is forbidden: exceeded quota: no-affinity-across-namespaces, '
            "requested: pods=1, used: pods=0, limited: pods=0"
        )
        answer = await refused_on_create(sandbox, curious)
        assert answer.startswith("403")
        assert message in answer.replace("\\", "")
        assert message in (folder / "README.md").read_text()

        for harmless in (pod("plain", "guests"), pod("near", "guests", near=[term(ZONE, {})])):
            await sandbox.api.create(pods_path(harmless), harmless)


async def test_deny_by_default(sandbox: Sandbox) -> None:
    folder = EXAMPLES / "deny-by-default"
    manifest: JSON = yaml.safe_load((folder / "pod.yaml").read_text())

    def in_namespace(name: str) -> JSON:
        return manifest | {"metadata": manifest["metadata"] | {"namespace": name}}

    files = (folder / "namespaces.yaml", folder / "quota.yaml")
    configuration = folder / "admission-configuration.yaml"
    async with restarted(sandbox, configuration), applied(sandbox.api, *files) as things:
        await until_enforced(sandbox, things[-1])
        message = (
            "insufficient quota to match these scopes: [{CrossNamespacePodAffinity Exists []}]"
        )
        answer = await refused_on_create(sandbox, in_namespace("anybody"))
        assert answer.startswith("500"), "odd, and said in the example"
        assert message in answer
        assert message in (folder / "README.md").read_text()
        await sandbox.api.create(pods_path(pod("plain", "anybody")), pod("plain", "anybody"))

        for _ in range(2):
            await sandbox.api.create(pods_path(in_namespace("trusted")), in_namespace("trusted"))
        assert "exceeded quota" in await refused_on_create(sandbox, in_namespace("trusted"))


@asynccontextmanager
async def restarted(sandbox: Sandbox, configuration: Path) -> AsyncIterator[None]:
    """Let the API server read this file for a while."""
    control_plane = sandbox.control_plane
    await control_plane.restart_apiserver(f"--admission-control-config-file={configuration}")
    try:
        yield
    finally:
        await control_plane.restart_apiserver()
