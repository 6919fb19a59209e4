"""A quota is judged anew at the bind, and what it refuses is counted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from extender.features.quota.rules import CrossNamespacePodAffinity, QuotaReason
from simulation.invariants.features.quota import mismatches
from tests.builders import ZONE, crossing, pod, put, quota, selector, term
from tests.features.binding.test_binds import WAIT, BindRig, bind, filtered
from tests.features.quota.showing import part_over
from tests.verbs.judging import AFFINITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extender.core.cluster.state import ClusterState
    from extender.core.metrics import Metrics
    from extender.core.ports import Hook


def hooks(state: ClusterState, metrics: Metrics) -> Sequence[Hook]:
    """Return those of the feature."""
    return part_over(state, metrics=metrics).hooks


async def test_of_two_binds_at_once_one_takes_the_last_place_in_a_quota(
    aiohttp_client: Any,
) -> None:
    far = term(ZONE, selector(app="none"), namespaceSelector={})
    one, two = pod("one").anti_affinity(far), pod("two").anti_affinity(far)
    rig = BindRig(one, two, plugins=(*AFFINITY, CrossNamespacePodAffinity()), hooks=hooks)
    put(rig.state, quota("q", {"pods": 1}, crossing()))
    client = await aiohttp_client(rig.app)
    assert await filtered(client, two) == ["a", "b"]
    rig.api.gate = asyncio.Event()
    first = asyncio.create_task(bind(client, one, "a"))
    async with asyncio.timeout(WAIT):
        await rig.api.arrived.wait()
        assert await bind(client, two, "b") == f"b since the filter call: {QuotaReason.QUOTA.value}"
        assert await filtered(client, two) == []
        rig.api.gate.set()
        assert await first == ""
    assert rig.api.bound == [("default/one", "a")]
    assert mismatches(rig.state) == []
    for point in ("Filter", "Bind"):
        refusals = "affinity_extender_quota_refusals_total"
        assert rig.registry.get_sample_value(refusals, {"extension_point": point}) == 1
    rig.state.remove_pod("default/one", "default-one")
    assert await filtered(client, two) == ["a", "b"]
    assert await bind(client, two, "b") == ""
