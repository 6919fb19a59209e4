"""Filter calls for pods whose victims are being evicted by this process."""

from __future__ import annotations

import asyncio

from extender.core.callbacks.named_victims import NamedVictims
from extender.core.model.objects import Pod
from tests.builders import model_pod
from tests.features.refused_pods.preempting import PreemptionRig
from tests.important_pods import db, important, server
from tests.verbs.judging import AFFINITY

ASKING = model_pod(important())
NOMINATED = model_pod(important().nominated("a"))


def rig_of(*, grace: bool = False) -> tuple[PreemptionRig, NamedVictims]:
    """Return a cluster in which one pod is in the way, and what filter asks."""
    rig = PreemptionRig([server("a")], db("on-a", "a"), important())
    rig.api.grace = grace
    return rig, NamedVictims(rig.state, AFFINITY, rig.controller, lambda: rig.now)


async def caught_up(held: NamedVictims, pod: Pod) -> bool:
    """Return whether a filter call goes on without waiting for anything."""
    call = asyncio.create_task(held.catch_up(pod))
    for _ in range(3):
        await asyncio.sleep(0)
    done = call.done()
    call.cancel()
    return done


async def test_a_call_that_comes_while_victims_are_evicted_waits_until_they_are_gone() -> None:
    rig, held = rig_of()
    rig.refuse()
    assert await caught_up(held, ASKING), "nobody is evicted yet"
    async with rig.held_at("mark"):
        call = asyncio.create_task(held.catch_up(ASKING))
        assert not await caught_up(held, ASKING)
    await call
    assert not rig.state.pods_on("a"), "so that the same call lets the pod in"


async def test_a_call_does_not_wait_for_pods_that_take_their_time() -> None:
    rig, held = rig_of(grace=True)
    rig.refuse()
    await rig.pass_time()
    assert [each.status.deleting for each in rig.state.pods_on("a")] == [True]
    assert await caught_up(held, NOMINATED)
    assert held.waits_on(NOMINATED) == "a"


async def test_a_scheduler_that_does_not_know_of_the_nomination_is_not_told_to_wait() -> None:
    # It would look for victims there, find none, and try again and again.
    rig, held = rig_of(grace=True)
    rig.refuse()
    await rig.pass_time()
    assert held.waits_on(ASKING) is None
