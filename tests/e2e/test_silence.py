"""Watches that say nothing though much has happened: a restored etcd, and a proxy in between."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.e2e.access import grant_shipped_role
from tests.e2e.api import Api
from tests.e2e.controlplane.cluster import ControlPlane, storage_and_apiserver
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.extending import EXTENDER, REPLACE, Extender
from tests.e2e.objects import HOSTNAME, node, pod, term
from tests.e2e.proxying import idle_proxy
from tests.e2e.sandbox import pod_path, pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.e2e.controlplane.binaries import Binaries

WEB = {"app": "web"}
NODES = ["n1", "n2", "n3"]
PODS = (("old", "n1"), ("lost", "n2"), ("waits", None))
MORE_WRITES = 400
"""Than an API server makes when it starts, so that the restored versions are behind for long."""
CURED_S = 10.0
STALE_S = 90
"""The least that can be configured."""


@pytest.fixture
def bare(binaries: Binaries, tmp_path: Path) -> Iterator[ControlPlane]:
    """Return etcd and an API server that nobody else needs, and without controllers."""
    with storage_and_apiserver(binaries, binaries, tmp_path, [EXTENDER]) as running:
        yield running


@pytest.fixture
async def api(bare: ControlPlane) -> AsyncIterator[Api]:
    """Return a client, once the extender may do what it has to and there are nodes."""
    async with Api.connected(bare.server, ADMIN.token, bare.credentials.ca) as client:
        await grant_shipped_role(client, EXTENDER)
        for name in NODES:
            await client.create("/api/v1/nodes", node(name))
        yield client


async def allowed(extender: Extender) -> list[str]:
    """Return the nodes for a pod that wants to be where no other `web` is."""
    question = pod("asks", labels=WEB, apart=[term(HOSTNAME, WEB)])
    question["metadata"]["uid"] = "asks"
    answer = await extender.ask("filter", question, NODES)
    return sorted(answer["NodeNames"] or [])


async def until_allowed(extender: Extender, nodes: list[str], within: float) -> float:
    """Return after how many seconds just these nodes are allowed."""
    start = time.monotonic()
    async with asyncio.timeout(within):
        while await allowed(extender) != nodes:  # noqa: ASYNC110 (a process)
            await asyncio.sleep(0.05)
    return time.monotonic() - start


async def test_a_restored_etcd_is_noticed_as_soon_as_its_api_server_is_there(
    bare: ControlPlane, api: Api, tmp_path: Path
) -> None:
    old, lost, waits = (pod(name, labels=WEB, on=where) for name, where in PODS)
    for each in (old, waits):
        await api.create(pods_path(each), each)
    backup = await bare.back_up()
    async with Extender.running(bare, REPLACE, tmp_path) as extender:
        await until_allowed(extender, ["n2", "n3"], CURED_S)
        # All of this is going to be lost.
        await api.delete(pod_path(old))
        await api.create(pods_path(lost), lost)
        target = {"apiVersion": "v1", "kind": "Node", "name": "n3"}
        binding = {"metadata": {"name": "waits"}, "target": target}
        await api.create(f"{pod_path(waits)}/binding", binding)
        for number in range(MORE_WRITES):
            labels = {"number": str(number)}
            await api.patch("/api/v1/namespaces/default", {"metadata": {"labels": labels}})
        await until_allowed(extender, ["n1"], CURED_S)

        await bare.restore(backup)

        assert await until_allowed(extender, ["n2", "n3"], 60.0) < CURED_S
        assert any("versions have gone back" in each for each in extender.warnings())
        # And the watches follow from there.
        await api.create(pods_path(lost), lost)
        await until_allowed(extender, ["n3"], 2.0)


@pytest.mark.long
async def test_behind_a_proxy_that_closes_what_is_idle_it_stays_ready(
    bare: ControlPlane, api: Api, tmp_path: Path
) -> None:
    port = urlsplit(bare.server).port
    assert port
    config = tmp_path / "stale.yaml"
    config.write_text(
        "apiVersion: affinity-extender.io/v1\nkind: AffinityExtenderConfiguration\n"
        f"clientConnection: {{staleAfterSeconds: {STALE_S}}}\n"
    )
    async with idle_proxy(port, 20.0) as (proxy, proxied):
        behind = replace(bare, server=f"https://127.0.0.1:{proxied}")
        options = ("--config", str(config))
        async with Extender.running(behind, REPLACE, tmp_path, *options) as extender:
            end = time.monotonic() + 1.5 * STALE_S
            while time.monotonic() < end:
                assert await allowed(extender) == NODES
                await asyncio.sleep(1.0)
            assert proxy.closed > 0
            assert await extender.counter("affinity_extender_relists_total", reason="silent") > 0
            web = pod("web", labels=WEB, on="n1")
            await api.create(pods_path(web), web)
            await until_allowed(extender, ["n2", "n3"], CURED_S)
