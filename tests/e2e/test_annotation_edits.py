"""A tenant who may only edit pods of his own namespace, and what he can do to others: nothing."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from extender.core.wire.manifests import REVISIONS_ANNOTATION
from extender.core.wire.placement import RULES_AT_PLACEMENT
from tests.beside import AFFINITY_ANNOTATION
from tests.e2e.access import is_allowed
from tests.e2e.api import Api, ApiError
from tests.e2e.applying import applied
from tests.e2e.controlplane.credentials import ADMIN, User
from tests.e2e.extending import ASSIST, REPLACE, Extender
from tests.e2e.judging import judging
from tests.e2e.objects import JSON, ZONE, namespace, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pod_path, pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

POLICY = Path(__file__).parents[2] / "manifests/components/annotation-policy/policy.yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/tenant"
TENANT = User("tenant")
NODES = [node("n1", "x"), node("n2", "y")]
EVERYBODY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"topologyKey": ZONE, "labelSelector": {}, "namespaceSelector": {}}
]}}  # fmt: skip
BATCH = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    term(ZONE, {"app": "batch"}, namespaceSelector={})
]}}  # fmt: skip
NOTE = "annotationLater"


def ruled(rules: Any) -> JSON:
    return {"metadata": {"annotations": {AFFINITY_ANNOTATION: rules and json.dumps(rules)}}}


def squatter(name: str, zone: str) -> JSON:
    made = pod(name, "tenant")
    return made | {"spec": made["spec"] | {"nodeSelector": {ZONE: zone}}}


@asynccontextmanager
async def tenant(sandbox: Sandbox) -> AsyncIterator[Api]:
    """Speak for somebody who may do with pods of his namespace what the role `edit` allows."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]
    named = {"metadata": {"name": "edit", "namespace": "tenant"}}
    subject = {"kind": "User", "name": "tenant", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "edit", "apiGroup": "rbac.authorization.k8s.io"}
    binding = named | {"roleRef": reference, "subjects": [subject]}
    for kind, body in (("roles", named | {"rules": rules}), ("rolebindings", binding)):
        try:
            await sandbox.api.create(f"{RBAC}/{kind}", body)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
    async with asyncio.timeout(SETTLE_S):
        # The authorizer follows roles by a watch of its own that nobody can await.
        while not await is_allowed(sandbox.api, TENANT, "create", "pods", "tenant"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    context = ssl.create_default_context(cafile=sandbox.control_plane.credentials.ca)
    headers = {"Authorization": f"Bearer {ADMIN.token}", "Impersonate-User": "tenant"}
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context), headers=headers
    ) as session:
        yield Api(session, sandbox.control_plane.server)


async def seen(extender: Extender, name: str) -> None:
    """Return once the extender has seen the edit of a placed pod."""
    for _ in range(200):
        page = await extender.page(f"/explain?namespace=tenant&pod={name}")
        if NOTE in {each["kind"] for each in page["notes"]}:
            return
    raise AssertionError(f"the edit of {name} was not seen")


def recorded(sandbox: Sandbox, key: str) -> list[str]:
    """Return what is on record of the rules that a pod was placed by."""
    return [
        each["message"]
        for each in sandbox.pods.objects[key]["status"].get("conditions", ())
        if each["type"] == RULES_AT_PLACEMENT and each["status"] == "True"
    ]


@pytest.mark.parametrize("policy", [False, True], ids=["without the policy", "with the policy"])
async def test_edits_of_running_pods_keep_nobody_away(sandbox: Sandbox, *, policy: bool) -> None:
    await sandbox.add(namespace("tenant"), namespace("others"), *NODES)
    async with AsyncExitStack() as stack:
        extender = await stack.enter_async_context(judging(sandbox))
        mine = await stack.enter_async_context(tenant(sandbox))
        squatters = [squatter("s1", "x"), squatter("s2", "y")]
        for each in squatters:
            await mine.create(pods_path(each), each)
            assert await sandbox.decided(f"tenant/{each['metadata']['name']}") is not None
        if policy:
            await stack.enter_async_context(applied(sandbox.api, POLICY))
            await _in_force(mine, squatters[0])
        for each in squatters:
            edit = mine.patch(pod_path(each), ruled(EVERYBODY))
            if policy:
                with pytest.raises(ApiError, match="cannot be edited once the pod has a node"):
                    await edit
                # What lets an update go on is nothing to others.
                own = {"metadata": {"annotations": {REVISIONS_ANNOTATION: "Own"}}}
                await mine.patch(pod_path(each), own)
            else:
                await edit
                await seen(extender, each["metadata"]["name"])
            with pytest.raises(ApiError, match="403"):
                await mine.patch(f"{pod_path(each)}/status", {"status": {}})
        for name in ("before", "after"):
            placed = await sandbox.settle(pod(name, "others"), pod(f"own-{name}", "tenant"))
            assert None not in placed.values()
            await extender.kill_and_start_again()


@pytest.mark.parametrize("mode", [REPLACE, ASSIST])
async def test_rules_that_a_pod_was_placed_by_outlive_the_extender(
    sandbox: Sandbox, mode: str
) -> None:
    await sandbox.add(namespace("tenant"), namespace("others"), *NODES)
    batch = [pod(f"batch-{n}", "others", {"app": "batch"}) for n in range(4)]
    async with judging(sandbox, mode) as extender, tenant(sandbox) as mine:
        guard = squatter("guard", "x")
        guard["metadata"] |= ruled(BATCH)["metadata"]
        await mine.create(pods_path(guard), guard)
        assert await sandbox.decided("tenant/guard") == "n1"
        if mode == ASSIST:
            # The scheduler binds, and the record follows.
            await sandbox.pods.until(
                lambda: bool(recorded(sandbox, "tenant/guard")), SETTLE_S, "the record"
            )
        assert [len(each) for each in recorded(sandbox, "tenant/guard")] == [64]
        assert await sandbox.settle(batch[0]) == {"batch-0": "n2"}
        await extender.kill_and_start_again()
        assert await sandbox.settle(batch[1]) == {"batch-1": "n2"}
        await mine.patch(pod_path(guard), ruled(EVERYBODY))
        await extender.kill_and_start_again()
        await seen(extender, "guard")
        assert None not in (await sandbox.settle(batch[2])).values()
        await mine.patch(pod_path(guard), ruled(None))
        await extender.kill_and_start_again()
        assert None not in (await sandbox.settle(batch[3])).values()


async def test_an_annotation_does_not_work_round_a_quota(sandbox: Sandbox) -> None:
    await sandbox.add(namespace("tenant"), namespace("others"), *NODES)
    scope = {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "crossing", "namespace": "tenant"},
        "spec": {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}},
    }
    path = "/api/v1/namespaces/tenant/resourcequotas"
    await sandbox.api.create(path, quota)
    try:
        async with judging(sandbox), tenant(sandbox) as mine:
            reaching, own = squatter("reaching", "x"), squatter("own", "x")
            reaching["metadata"] |= ruled(BATCH)["metadata"]
            for each, node_name in ((reaching, None), (own, "n1")):
                await mine.create(pods_path(each), each)
                assert await sandbox.decided(f"tenant/{each['metadata']['name']}") == node_name
            assert "quota" in json.dumps(sandbox.pods.objects["tenant/reaching"]["status"])
            await mine.patch(pod_path(own), ruled(BATCH))
            placed = await sandbox.settle(
                *(pod(f"batch-{n}", "others", {"app": "batch"}) for n in range(3))
            )
            assert None not in placed.values()
    finally:
        await sandbox.api.delete(f"{path}/crossing")


async def _in_force(mine: Api, placed: JSON) -> None:
    """Return once the policy is in force: the API server tells of no event when that is so."""
    async with asyncio.timeout(SETTLE_S):
        while True:
            try:
                await mine.request(
                    "PATCH",
                    pod_path(placed),
                    ruled(BATCH),
                    content_type="application/strategic-merge-patch+json",
                    dryRun="All",
                )
            except ApiError:
                return
