"""Upgrade, downgrade, upgrade: label keys while the API server's gate is off, on, off and on.

KEP-3633 names fifteen steps for its gate MatchLabelKeysInPodAffinity. They are taken here on an
API server that still has it, over one set of data, with the extender running through all of them.
At each step the stored selectors are looked at, and what the extender answers from them.
"""

from __future__ import annotations

import copy
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e.access import grant_shipped_role
from tests.e2e.api import Api, key_of
from tests.e2e.controlplane.binaries import ensure_one
from tests.e2e.controlplane.cluster import ControlPlane, storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.extending import EXTENDER, REPLACE, Extender
from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term
from tests.e2e.sandbox import pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries

RELEASE = "1.32.2"
"""Of the last minor release in which the gate can be switched off."""

GATE = "--feature-gates=MatchLabelKeysInPodAffinity"
OFF, ON = f"{GATE}=false", f"{GATE}=true"

WEB = {"app": "web"}
V1, V2 = WEB | {"version": "1"}, WEB | {"version": "2"}
MERGED = {"key": "version", "operator": "In", "values": ["1"]}
NODES = [node("a", "a"), node("b", "b"), *(node(f"g{n}", "g") for n in range(1, 6))]

_NOTICE_S = 60.0
"""The waits between attempts to watch double with each restart of the API server, to 30 s and more:
as those of client-go, they start small again only after two calm minutes."""


@pytest.fixture(scope="module")
def old_release(built: Callable[[Callable[..., Binaries]], Binaries]) -> Binaries:
    """Return an API server that has the gate, built on the first run."""
    return built(partial(ensure_one, "kube-apiserver", RELEASE))


@pytest.fixture
def old_cluster(
    binaries: Binaries, old_release: Binaries, tmp_path: Path
) -> Iterator[ControlPlane]:
    """Return a cluster that begins with the gate off."""
    with storage_and_apiserver(binaries, old_release, tmp_path, [EXTENDER], OFF) as running:
        yield running


def written(name: str, on: str | None = None) -> JSON:
    """Write a pod of version 1 whose rules hold among pods of its own version.

    It wants their company in the zone, and a node apart from them.
    """
    keys = {"matchLabelKeys": ["version"]}
    near, apart = term(ZONE, WEB, **keys), term(HOSTNAME, WEB, **keys)
    if on:
        return pod(name, "shop", labels=V1, on=on, apart=[apart])
    return pod(name, "shop", labels=V1, near=[near])


def as_stored(manifest: JSON, *, merged: bool) -> JSON:
    """Return the affinity that the API server makes of a manifest's.

    With the gate off it drops the keys, for a field that it is told not to know.
    """
    affinity: JSON = copy.deepcopy(manifest["spec"]["affinity"])
    for rules in affinity.values():
        for each in rules["requiredDuringSchedulingIgnoredDuringExecution"]:
            if merged:
                each["labelSelector"]["matchExpressions"] = [MERGED]
            else:
                del each["matchLabelKeys"]
    return affinity


class Steps:
    """The cluster, the pods created so far, and what is to be expected of each."""

    def __init__(self, cluster: ControlPlane, api: Api, extenders: list[Extender]) -> None:
        self._cluster = cluster
        self._api = api
        self._extenders = extenders
        self._nodes = [each["metadata"]["name"] for each in NODES]
        self._stored: dict[str, JSON] = {}
        self._guarded: dict[str, bool] = {}
        """By node: whether the guard there only means its own version."""

    @classmethod
    @asynccontextmanager
    async def begun(cls, cluster: ControlPlane, folder: Path) -> AsyncIterator[Steps]:
        """Fill the cluster; run the extender, and one more whose own gate is off."""
        async with AsyncExitStack() as parts:
            connected = Api.connected(cluster.server, ADMIN.token, cluster.credentials.ca)
            api = await parts.enter_async_context(connected)
            await _until_there(api, "kube-system")
            await grant_shipped_role(api, EXTENDER)
            await api.create("/api/v1/namespaces", namespace("shop"))
            for each in NODES:
                await api.create("/api/v1/nodes", each)
            extenders = []
            for name, options in (("on", ()), ("off", (OFF,))):
                (folder / name).mkdir()
                running = Extender.running(cluster, REPLACE, folder / name, *options)
                extenders.append(await parts.enter_async_context(running))
            steps = cls(cluster, api, extenders)
            for name, labels, place in (("one", V1, "a"), ("two", V2, "b")):
                await steps._create(pod(name, "shop", labels=labels, on=place))
            yield steps

    async def restart(self, gate: str) -> None:
        """Start the API server again with its gate off or on."""
        await self._cluster.restart_apiserver(gate)

    async def create(self, number: int, *, merged: bool) -> None:
        """Create a pod that waits and one on a node; the API server is to merge their keys, or not.

        `number` is the step's.
        """
        place = f"g{len(self._guarded) + 1}"
        for manifest in (written(f"waits-{number}"), written(f"guard-{number}", on=place)):
            stored = await self._create(manifest)
            assert stored["spec"]["affinity"] == as_stored(manifest, merged=merged)
        self._guarded[place] = merged

    async def assert_unchanged(self) -> None:
        """Assert that every pod created so far is stored as it was then, and means the same."""
        for key, before in self._stored.items():
            now = await self._api.get(f"{pods_path(before)}/{key.partition('/')[2]}")
            assert now["spec"] == before["spec"]
        for extender in self._extenders:
            await self._assert_guards(extender)
            for key, stored in self._stored.items():
                if "waits" in key:
                    await self._assert_place(extender, stored)

    async def relabel(self, name: str, version: str) -> None:
        """Give a pod another version, and return once the extenders have seen it."""
        path = f"/api/v1/namespaces/shop/pods/{name}"
        labelled = await self._api.patch(path, {"metadata": {"labels": {"version": version}}})
        for extender in self._extenders:
            await extender.await_seen(labelled, self._nodes, within=_NOTICE_S)

    async def label_late(self, name: str) -> None:
        """Place a pod that lacks the label its keys ask for, and give it the label afterwards.

        Its rules stay as they are, about every version, even if the extender is started again.
        """
        place = f"g{len(self._guarded) + 1}"
        keys = {"matchLabelKeys": ["version"]}
        apart = term(HOSTNAME, WEB, **keys)
        await self._create(pod(name, "shop", labels=WEB, on=place, apart=[apart]))
        self._guarded[place] = False
        await self.relabel(name, "1")
        for extender in self._extenders:
            await extender.stop()
            await extender.start_again()

    async def _assert_guards(self, extender: Extender) -> None:
        """Assert whom the pods on nodes keep away, which the extender knows from its watch."""
        for labels, kept_away in (
            (V1, {*self._guarded}),
            (V2, {place for place, merged in self._guarded.items() if not merged}),
        ):
            answer = await extender.ask("filter", pod("comes", "shop", labels=labels), self._nodes)
            assert {*answer["FailedAndUnresolvableNodes"]} == kept_away

    async def _assert_place(self, extender: Extender, waiting: JSON) -> None:
        """Assert where the extender lets a pod as the API server has it."""
        answer = await extender.ask("filter", waiting, ["a", "b"])
        (rules,) = waiting["spec"]["affinity"]["podAffinity"].values()
        merged = "matchExpressions" in rules[0]["labelSelector"]
        assert answer["NodeNames"] == (["a"] if merged else ["a", "b"])

    async def _create(self, manifest: JSON) -> JSON:
        stored = self._stored[key_of(manifest)] = await self._api.create(
            pods_path(manifest), manifest
        )
        if manifest["spec"].get("nodeName"):
            for extender in self._extenders:
                await extender.await_seen(stored, self._nodes, within=_NOTICE_S)
        return stored


async def _until_there(api: Api, name: str) -> None:
    async with api.mirror("/api/v1/namespaces") as namespaces:
        await namespaces.until(lambda: name in namespaces.objects, 10, f"namespace {name}")


@pytest.mark.long
async def test_upgrade_downgrade_upgrade(old_cluster: ControlPlane, tmp_path: Path) -> None:
    async with Steps.begun(old_cluster, tmp_path) as steps:  # 1: with the gate off
        await steps.create(2, merged=False)  # and 3: the selector stays as it was written
        await steps.assert_unchanged()

        await steps.restart(ON)  # 4: first enablement
        await steps.assert_unchanged()  # 5
        await steps.create(6, merged=True)  # and 7: the selector has the label's value
        await steps.assert_unchanged()

        await steps.restart(OFF)  # 8: first disablement
        await steps.assert_unchanged()  # 9
        await steps.create(10, merged=False)  # and 11
        await steps.assert_unchanged()

        await steps.restart(ON)  # 12: second enablement
        await steps.assert_unchanged()  # 13
        await steps.create(14, merged=True)  # and 15
        await steps.assert_unchanged()

        await steps.relabel("guard-14", "2")
        await steps.assert_unchanged()

        await steps.label_late("late")
        await steps.assert_unchanged()
