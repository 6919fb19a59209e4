"""The cluster at one moment, as commands read it."""

from __future__ import annotations

import pytest

from affinityctl.reading.listing import list_resource
from extender.core.cluster.state import ClusterState
from extender.core.errors import ApiError
from extender.core.resources import PODS
from extender.core.wire.objects import PodReader
from extender.features.quota.ledger import quotas_of
from extender.features.quota.objects import QUOTAS
from tests.beside import RULES
from tests.builders import crossing, empty_state, every_facet, pod, quota, selector, term
from tests.kube.fake_api import answering, failure
from tests.kube.rig import Rig

FAR = term("zone", selector(app="none"), namespaceSelector={})


async def listed(rig: Rig) -> ClusterState:
    """Read the cluster once."""
    state = empty_state()
    async with rig.client() as client:
        for each in (QUOTAS, PODS):
            await list_resource(client, state, PodReader(facets=every_facet(), rules=RULES), each)
    return state


async def test_quotas_and_pods_are_listed_once(rig: Rig) -> None:
    quotas, pods = rig.api.collection("/api/v1/resourcequotas"), rig.api.collection("/api/v1/pods")
    quotas.put(quota("q", {"pods": 1}, crossing()))
    for number in range(1001):
        pods.put(pod(f"p{number}").anti_affinity(FAR).on("a"))
    state = await listed(rig)
    assert list(quotas_of(state)) == ["default/q"]
    assert quotas_of(state).pods == len(state.pods) == 1001
    assert (quotas.watched, pods.watched) == ([], [])
    assert "Succeeded" in pods.listed[0].params["fieldSelector"]


async def test_one_that_cannot_be_read_is_left_out(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.api.collection("/api/v1/resourcequotas").put(quota("q", {"pods": "many"}, crossing()))
    rig.api.collection("/api/v1/pods")
    assert list(quotas_of(await listed(rig))) == []
    assert "resourcequotas: left out, unreadable: default/q: spec.hard.pods" in caplog.text


async def test_a_refusal_is_said(rig: Rig) -> None:
    rig.api.collection("/api/v1/resourcequotas").lists.append(
        answering(lambda: failure(403, "Forbidden", "no"))
    )
    with pytest.raises(ApiError, match="403"):
        await listed(rig)
