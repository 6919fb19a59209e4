"""What happens to pods while the extender, or what it depends on, is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.objects import HOSTNAME, JSON, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pods_path
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

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


async def test_in_assist_pods_are_placed_by_the_hard_rules_alone(sandbox: Sandbox) -> None:
    await sandbox.add(*NODES)
    async with sandbox.scheduled_by(ASSIST):
        extender = sandbox.extender
        assert extender
        await extender.stop()
        sandbox.extender = None  # nobody to wait for

        placed = await sandbox.settle(*map(apart, ("w1", "w2", "w3", "w4")))

        await extender.start_again()

    assert sorted(filter(None, placed.values())) == ["n1", "n2", "n3"]
    assert placed["w4"] is None


async def test_in_replace_a_pod_waits_until_the_extender_is_back(sandbox: Sandbox) -> None:
    await sandbox.add(*NODES)
    async with sandbox.scheduled_by(REPLACE):
        extender = sandbox.extender
        assert extender
        await sandbox.settle(apart("w1"))
        await extender.stop()

        wanted = apart("w2")
        await sandbox.api.create(pods_path(wanted), wanted)
        await sandbox.pods.until(
            lambda: scheduler_fault(sandbox.pods.objects.get("default/w2", wanted)) is not None,
            SETTLE_S,
            "the scheduler to miss the extender",
        )
        assert not sandbox.pods.objects["default/w2"]["spec"].get("nodeName")

        await extender.start_again()
        await sandbox.bound("default/w2")

    await sandbox.assert_lawful()


@pytest.mark.parametrize("mode", [in_e2e_all(ASSIST), REPLACE])
async def test_the_extender_goes_on_after_a_restart_of_the_api_server(
    sandbox: Sandbox, mode: str
) -> None:
    await sandbox.add(*NODES)
    async with sandbox.scheduled_by(mode):
        await sandbox.settle(apart("w1"))

        await sandbox.control_plane.restart_apiserver()

        # Settling includes that the extender counts what was bound since.
        placed = await sandbox.settle(apart("w2"), apart("w3"), apart("w4"))

    assert sandbox.waiting() == ["w4"], placed
    await sandbox.assert_lawful()
