"""Disruption budgets from the API server into the cluster state."""

from __future__ import annotations

from extender.core.cluster.state import ClusterState
from extender.core.resources import BUDGETS
from tests.builders import budget, selector
from tests.kube.fake_api import CLOSE
from tests.kube.rig import Rig

PATH = "/apis/policy/v1/poddisruptionbudgets"
DB = selector(app="db")


def allowed(state: ClusterState) -> dict[str, int | None]:
    """Return what each budget allows."""
    found = {key: state.budgets.get(key) for key in state.budgets}
    return {key: each.allowed for key, each in found.items() if each is not None}


async def test_budgets_come_change_and_go(rig: Rig) -> None:
    budgets = rig.api.collection(PATH)
    budgets.put(budget("first", DB, 1))
    async with rig.mirrored(BUDGETS, budgets) as state:
        assert allowed(state) == {"default/first": 1}
        budgets.put(budget("second", DB, 0))
        budgets.put(budget("first", DB, -2))
        await rig.pulse.until(lambda: allowed(state) == {"default/first": -2, "default/second": 0})
        budgets.delete("default/first")
        await rig.pulse.until(lambda: allowed(state) == {"default/second": 0})


async def test_what_the_watch_missed_is_made_good_by_a_list(rig: Rig) -> None:
    budgets = rig.api.collection(PATH)
    budgets.put(budget("old", DB, 1))
    async with rig.mirrored(BUDGETS, budgets) as state:
        budgets.muted = True
        budgets.delete("default/old")
        budgets.put(budget("new", DB, 2))
        budgets.compact()
        budgets.muted = False
        budgets.send(CLOSE)
        await rig.pulse.until(lambda: allowed(state) == {"default/new": 2})


async def test_one_that_cannot_be_read_stops_none_of_the_others(rig: Rig) -> None:
    budgets = rig.api.collection(PATH)
    budgets.put(budget("broken", {"matchExpressions": [{"key": "app", "operator": "Like"}]}, 0))
    budgets.put(budget("sound", DB, 1))
    async with rig.mirrored(BUDGETS, budgets) as state:
        assert allowed(state) == {"default/sound": 1}
