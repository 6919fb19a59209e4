"""The policy that names the scheduler's profile for pod groups in pods, on a real API server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.deploy.places import MANIFESTS, read_objects
from tests.e2e.api import Api
from tests.e2e.applying import collection
from tests.e2e.controlplane.cluster import storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.gangs import WITH_GROUPS
from tests.e2e.objects import JSON, namespace, pod
from tests.e2e.sandbox import pods_path
from tests.e2e.test_namespace_opt_in import DEFAULT, IN_FORCE_S, OURS, scheduler_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane

POLICY = read_objects(MANIFESTS / "components/groups/policy/policy.yaml")
OPT_IN = read_objects(MANIFESTS / "components/namespace-opt-in/policy.yaml")
LABELS = {"affinity-extender.io/groups": "enabled"}
OPTED_IN = {"affinity-extender.io/scheduler": "enabled"}
NAMESPACES = {
    "enabled": LABELS,
    "both": LABELS | OPTED_IN,
    "second": OPTED_IN,
    "disabled": dict.fromkeys(LABELS, "disabled"),
    "unlabelled": {},
}
PROFILE = "groups"
LATER = [f"group-{number}" for number in range(8)]


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run an API server that knows groups, with the policy in force beside two others."""
    folder = tmp_path_factory.mktemp("policy-for-groups")
    options = WITH_GROUPS.of_apiserver()
    with storage_and_apiserver(binaries, binaries, folder, [], *options) as cluster:
        asyncio.run(_put_in_force(cluster))
        yield cluster


@pytest.fixture
async def api(cluster: ControlPlane) -> AsyncIterator[Api]:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        yield api


async def _put_in_force(cluster: ControlPlane) -> None:
    async with Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca) as api:
        for name, labels in NAMESPACES.items():
            await api.create("/api/v1/namespaces", namespace(name, **labels))
        for thing in (*POLICY, *OPT_IN, *grouping()):
            await api.create(collection(thing), thing)
        tried = [pod("tried", "second"), member(), *(later(each) for each in LATER)]
        async with asyncio.timeout(IN_FORCE_S):
            while not all([await _is_in_force(api, each) for each in tried]):  # noqa: ASYNC110
                await asyncio.sleep(0.2)


async def _is_in_force(api: Api, raw: JSON) -> bool:
    """Return whether a policy has changed the pod: its scheduler, or its group."""
    spec = (await api.request("POST", pods_path(raw), raw, dryRun="All"))["spec"]
    is_grouped = "labels" in raw["metadata"] and "schedulingGroup" in spec
    return is_grouped or spec["schedulerName"] != DEFAULT


def later(label: str, space: str = "enabled") -> JSON:
    """Return a pod that another policy puts into a group."""
    return pod("tried", space, labels={label: "yes"})


def grouping() -> Iterator[JSON]:
    """Yield policies that put pods into a group, each those with a label of its own.

    The API server asks policies in no order: some of these come after ours.
    """
    for label in LATER:
        policy, binding = ({**each, "metadata": {"name": label}} for each in POLICY)
        rules = policy["spec"]["matchConstraints"]["resourceRules"]
        condition = f"'{label}' in object.metadata.?labels.orValue({{}})"
        group = "Object.spec.schedulingGroup{podGroupName: 'g'}"
        expression = f"Object{{spec: Object.spec{{schedulingGroup: {group}}}}}"
        mutated = {"expression": expression}
        policy["spec"] = {
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": [{"name": "labelled", "expression": condition}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": mutated}],
        }
        yield policy
        yield binding | {"spec": {"policyName": label}}


def member(space: str = "enabled", scheduler: str | None = None, on: str | None = None) -> JSON:
    made = pod("tried", space) if on is None else pod("tried", space, on=on)
    made["spec"]["schedulingGroup"] = {"podGroupName": "gang"}
    if scheduler is not None:
        made["spec"]["schedulerName"] = scheduler
    return made


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(member(), id="a pod that names no scheduler"),
        pytest.param(member(scheduler=DEFAULT), id="one that names the default"),
        pytest.param(member(scheduler=OURS), id="one that names the second scheduler"),
        pytest.param(member("both"), id="in a namespace of the second scheduler"),
    ],
)
async def test_pods_of_groups_choose_the_profile(api: Api, raw: JSON) -> None:
    assert await scheduler_of(api, raw) == PROFILE


@pytest.mark.parametrize("space", ["enabled", "both"])
async def test_so_do_pods_that_another_policy_puts_into_a_group(api: Api, space: str) -> None:
    found = {each: await scheduler_of(api, later(each, space)) for each in LATER}
    assert found == dict.fromkeys(LATER, PROFILE)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(pod("tried", "enabled"), DEFAULT, id="no group"),
        pytest.param(pod("tried", "both"), OURS, id="no group, in a namespace of the second one"),
        pytest.param(member("unlabelled"), DEFAULT, id="no label"),
        pytest.param(member("disabled"), DEFAULT, id="another value"),
        pytest.param(member(scheduler="volcano"), "volcano", id="another scheduler"),
        pytest.param(member(on="n1"), DEFAULT, id="a node"),
    ],
)
async def test_others_are_left_alone(api: Api, raw: JSON, expected: str) -> None:
    assert await scheduler_of(api, raw) == expected


async def test_what_is_stored_stays_as_it_is(api: Api) -> None:
    raw = member()
    stored = await api.create(pods_path(raw), raw)
    assert stored["spec"]["schedulerName"] == PROFILE
    assert stored["spec"]["schedulingGroup"] == raw["spec"]["schedulingGroup"]
    path = f"{pods_path(raw)}/{raw['metadata']['name']}"
    changed = await api.patch(path, {"metadata": {"labels": {"a": "b"}}})
    assert changed["spec"]["schedulerName"] == PROFILE
