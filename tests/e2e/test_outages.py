"""What happens to pods while the extender, or what it depends on, is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.bench import SETTLE_S, pods_path
from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.objects import HOSTNAME, JSON, node, pod, term

if TYPE_CHECKING:
    from tests.e2e.bench import Bench

WEB = {"app": "web"}
NODES = [node("n1"), node("n2"), node("n3")]


def apart(name: str) -> JSON:
    return pod(name, labels=WEB, apart=[term(HOSTNAME, WEB)])


def scheduler_fault(each: JSON) -> str | None:
    """Return the scheduler's own fault as written on a pod, if it had one."""
    for condition in each.get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["reason"] == "SchedulerError":
            return str(condition["message"])
    return None


async def test_in_assist_pods_are_placed_by_the_hard_rules_alone(bench: Bench) -> None:
    await bench.add(*NODES)
    async with bench.scheduled_by(ASSIST):
        extender = bench.extender
        assert extender
        await extender.stop()
        bench.extender = None  # nobody to wait for

        placed = await bench.settle(*map(apart, ("w1", "w2", "w3", "w4")))

        await extender.start_again()

    assert sorted(filter(None, placed.values())) == ["n1", "n2", "n3"]
    assert placed["w4"] is None


async def test_in_replace_a_pod_waits_until_the_extender_is_back(bench: Bench) -> None:
    await bench.add(*NODES)
    async with bench.scheduled_by(REPLACE):
        extender = bench.extender
        assert extender
        await bench.settle(apart("w1"))
        await extender.stop()

        wanted = apart("w2")
        await bench.api.create(pods_path(wanted), wanted)
        await bench.pods.until(
            lambda: scheduler_fault(bench.pods.objects.get("default/w2", wanted)) is not None,
            SETTLE_S,
            "the scheduler to miss the extender",
        )
        assert not bench.pods.objects["default/w2"]["spec"].get("nodeName")

        await extender.start_again()
        await bench.bound("default/w2")

    await bench.assert_lawful()


@pytest.mark.parametrize("mode", [ASSIST, REPLACE])
async def test_the_extender_goes_on_after_a_restart_of_the_api_server(
    bench: Bench, mode: str
) -> None:
    await bench.add(*NODES)
    async with bench.scheduled_by(mode):
        await bench.settle(apart("w1"))

        await bench.control_plane.restart_apiserver()

        # Settling includes that the extender counts what was bound since.
        placed = await bench.settle(apart("w2"), apart("w3"), apart("w4"))

    assert bench.waiting() == ["w4"], placed
    await bench.assert_lawful()
