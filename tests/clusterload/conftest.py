"""A small cluster for each test that asks for one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clusterload.measurements import Surroundings
from clusterload.monitoring import Monitoring
from clusterload.objects import Objects
from extender.core.kube.client import ApiClient
from tests.clusterload.small_cluster import SmallCluster
from tests.kube.rig import credentials_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("CL2_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


@pytest.fixture
async def cluster() -> AsyncIterator[SmallCluster]:
    async with SmallCluster() as running:
        yield running


@pytest.fixture
async def surroundings(cluster: SmallCluster) -> AsyncIterator[Surroundings]:
    async with ApiClient(credentials_for(cluster.url)) as client:
        yield Surroundings(client, Objects(client), Monitoring(client), "Pods")
