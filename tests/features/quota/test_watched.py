"""Quotas from the API server into the cluster state."""

from __future__ import annotations

from extender.core.cluster.state import ClusterState
from extender.core.wire.quantities import BILLIONTHS
from extender.features.quota.ledger import quotas_of
from extender.features.quota.objects import QUOTAS
from tests.builders import crossing, quota
from tests.kube.fake_api import CLOSE
from tests.kube.rig import Rig

PATH = "/api/v1/resourcequotas"


def places(state: ClusterState) -> dict[str, int]:
    """Return how many pods each quota allows."""
    found = [quotas_of(state).get(key) for key in quotas_of(state)]
    return {each.key: each.hard["pods"] // BILLIONTHS for each in found if each is not None}


async def test_quotas_come_change_and_go(rig: Rig) -> None:
    quotas = rig.api.collection(PATH)
    quotas.put(quota("first", {"pods": 1}, crossing()))
    quotas.put(quota("of-others", {"pods": 7}))
    async with rig.mirrored(QUOTAS, quotas) as state:
        assert places(state) == {"default/first": 1}
        quotas.put(quota("second", {"pods": 0}, crossing()))
        quotas.put(quota("first", {"pods": 2}, crossing()))
        await rig.pulse.until(lambda: places(state) == {"default/first": 2, "default/second": 0})
        quotas.delete("default/of-others")
        quotas.delete("default/first")
        await rig.pulse.until(lambda: places(state) == {"default/second": 0})


async def test_what_the_watch_missed_is_made_good_by_a_list(rig: Rig) -> None:
    quotas = rig.api.collection(PATH)
    quotas.put(quota("old", {"pods": 1}, crossing()))
    async with rig.mirrored(QUOTAS, quotas) as state:
        quotas.muted = True
        quotas.delete("default/old")
        quotas.put(quota("new", {"pods": 2}, crossing()))
        quotas.compact()
        quotas.muted = False
        quotas.send(CLOSE)
        await rig.pulse.until(lambda: places(state) == {"default/new": 2})


async def test_one_that_cannot_be_read_stops_none_of_the_others(rig: Rig) -> None:
    quotas = rig.api.collection(PATH)
    quotas.put(quota("broken", {"pods": 0}, crossing(scopeName="OfTheFuture")))
    quotas.put(quota("sound", {"pods": 1}, crossing()))
    async with rig.mirrored(QUOTAS, quotas) as state:
        assert places(state) == {"default/sound": 1}
