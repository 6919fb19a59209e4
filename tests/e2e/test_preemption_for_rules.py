"""What only affinity rules refuse: the same pods go, for the same places, as with stock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.conformance.asking import Release
from tests.e2e.api import key_of
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, node, pod, term
from tests.e2e.preempting import (
    DB,
    LOW,
    MIDDLE,
    QUIET_S,
    SPINNING,
    WEB,
    add_owned,
    ensure_classes,
    ranked,
    run,
    wants,
)
from tests.e2e.preemption_cases import CASES, EACH_TIME
from tests.e2e.sandbox import SETTLE_S, pods_path
from tests.e2e.scheduling import STOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.sandbox import Sandbox

NOISE_S = 2.0
"""What a busy machine may add to a placement that takes a tenth of a second. Whoever misses what
wakes it waits for 10 s and longer. On an idle machine: `bench/results/preemptors.md`."""
OWN_UNTIL = 38
"""From this minor version on, the scheduler preempts for the extender's rules."""
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.fixture(autouse=True)
async def _classes(sandbox: Sandbox) -> None:
    await ensure_classes(sandbox.api)


@pytest.mark.parametrize(
    "name",
    [name if name in EACH_TIME else pytest.param(name, marks=pytest.mark.long) for name in CASES],
)
async def test_the_same_pods_go_for_the_same_places_as_with_stock(
    sandbox: Sandbox, name: str, say: Callable[[str], None]
) -> None:
    case = CASES[name]
    seconds = {}
    for mode in (STOCK, REPLACE):
        outcome = await run(sandbox, case, mode)
        assert outcome.places in case.places, mode
        beside = case.by_stock_too if mode == STOCK else set()
        assert outcome.victims - beside == case.victims[case.places.index(outcome.places)], mode
        seconds[mode] = outcome.seconds
    say(f"{name}: stock {seconds[STOCK]:.2f} s, ours {seconds[REPLACE]:.2f} s")
    assert seconds[REPLACE] <= 2 * seconds[STOCK] + NOISE_S


async def test_condition_and_event_say_why(sandbox: Sandbox, kubernetes: str) -> None:
    by_scheduler = Release.parse(kubernetes).minor >= OWN_UNTIL
    slow = ranked(pod("on-a", labels=DB, on="a"), LOW, grace=3600)
    await add_owned(sandbox, node("a"), slow)
    important = wants()
    async with sandbox.scheduled_by(REPLACE):
        made = await sandbox.api.create(pods_path(important), important)
        preemptor = made["metadata"]["uid"]
        await sandbox.pods.until(lambda: leaving(sandbox) == ["on-a"], SETTLE_S, "the eviction")
        (condition,) = [
            each
            for each in sandbox.pods.objects["default/on-a"]["status"]["conditions"]
            if each["type"] == "DisruptionTarget"
        ]
        assert condition["reason"] == "PreemptionByScheduler"
        said = "default-scheduler: preempting to accommodate a higher priority pod"
        assert condition["message"] == (said if by_scheduler else f"{said} (uid {preemptor})")
        event = await preempted(sandbox, sandbox.pods.objects["default/on-a"])
        if not by_scheduler:
            assert event["related"]["uid"] == preemptor
            assert "default/important by kubernetes.io/hostname" in event["note"]


async def preempted(sandbox: Sandbox, victim: JSON) -> JSON:
    """Return the Event about the eviction of a pod, once it is there."""
    async with asyncio.timeout(SETTLE_S):
        while True:
            for each in (await sandbox.api.get(EVENTS))["items"]:
                found: JSON = each
                about = found["regarding"].get("uid") == victim["metadata"]["uid"]
                if about and found["reason"] == "Preempted":
                    return found
            await asyncio.sleep(0.05)


def leaving(sandbox: Sandbox) -> list[str]:
    """Return the names of the pods that are being deleted."""
    pods = sandbox.pods.objects.values()
    return sorted(p["metadata"]["name"] for p in pods if p["metadata"].get("deletionTimestamp"))


@pytest.mark.parametrize("mode", [STOCK, REPLACE])
async def test_nobody_more_goes_while_a_victim_takes_its_time(sandbox: Sandbox, mode: str) -> None:
    slow = [ranked(pod(f"on-{n}", labels=DB, on=n), LOW, grace=3600) for n in ("a", "b")]
    # Bare pods: a successor may take the other node, and what is left there is not to matter.
    await sandbox.add(node("a"), node("b"), *slow)
    important = wants()
    async with sandbox.scheduled_by(mode):
        await sandbox.api.create(pods_path(important), important)
        await sandbox.pods.until(lambda: len(leaving(sandbox)) == 1, SETTLE_S, "an eviction")
        (victim,) = leaving(sandbox)
        # A less important pod that excludes it is not let onto the node that is held for it.
        rival = ranked(pod("rival", apart=[term(HOSTNAME, WEB)]), MIDDLE)
        other = "b" if victim == "on-a" else "a"
        await sandbox.api.create(pods_path(rival), rival)
        assert await sandbox.decided("default/rival") in {other, None}
        await asyncio.sleep(QUIET_S)
        assert leaving(sandbox) == [victim]
        if sandbox.extender:
            assert await sandbox.extender.calls("filter") < SPINNING
        await sandbox.api.delete(f"{pods_path(important)}/{victim}")
        assert await sandbox.bound("default/important") == victim.removeprefix("on-")
    await sandbox.assert_lawful()


@pytest.mark.parametrize("mode", [STOCK, REPLACE])
async def test_nobody_more_goes_for_a_preemptor_that_was_deleted(
    sandbox: Sandbox, mode: str
) -> None:
    slow = [ranked(pod(f"on-{n}", labels=DB, on=n), LOW, grace=3600) for n in ("a", "b")]
    # Bare pods: a successor may take the other node, and what is left there is not to matter.
    await sandbox.add(node("a"), node("b"), *slow)
    important = wants()
    async with sandbox.scheduled_by(mode):
        await sandbox.api.create(pods_path(important), important)
        await sandbox.pods.until(lambda: len(leaving(sandbox)) == 1, SETTLE_S, "an eviction")
        await sandbox.api.delete(f"{pods_path(important)}/{key_of(important).partition('/')[2]}")
        await asyncio.sleep(QUIET_S)
        assert len(leaving(sandbox)) == 1
