"""What comes of evictions whose end is unclear, and of what changes while one is on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from extender.core.errors import ApiError
from extender.features.moving.ports import Eviction
from tests.features.moving.evicting import GRACE, ON_SSD, Mover, Rig

if TYPE_CHECKING:
    from extender.core.model.objects import Pod


def one_a_minute(*names: str) -> Rig:
    """Place pods of different owners on a node that none of them may stay on."""
    rig = Rig(per_minute=1)
    for name in ("a", "b"):
        rig.node(name, disk="ssd")
    for name in names:
        rig.place(ON_SSD, "a", name, owner=f"ReplicaSet/{name}")
    rig.node("a")
    return rig


@pytest.mark.parametrize(
    ("status", "tried"),
    [
        pytest.param(504, 1, id="it may be carried out yet"),
        pytest.param(403, 2, id="it is not"),
    ],
)
async def test_an_eviction_counts_that_the_api_server_may_yet_carry_out(
    status: int, tried: int
) -> None:
    rig = one_a_minute("first", "second")
    rig.mover.answer = lambda _: ApiError(status, "Reason", "message")
    await rig.after(GRACE + 5)
    assert len(rig.mover.tried) == tried


async def test_who_comes_to_lead_knows_of_the_last_minute_before_anybody_goes() -> None:
    rig = one_a_minute("first")
    rig.leader.leads = False
    await rig.controller.look()
    rig.now += GRACE + 1
    # Before the next look at who leads, a pod is due.
    rig.turns.window.fill(1)
    rig.leader.leads = True
    while await rig.controller.process_next():
        pass
    assert rig.mover.tried == []
    assert rig.outcomes() == {"first": "waitsForTurn"}


async def test_who_comes_to_lead_waits_for_those_that_the_last_leader_has_evicted() -> None:
    rig = one_a_minute("other")
    leaving = ON_SSD.uid("leaving").owned_by("ReplicaSet/other").on("b").being_deleted()
    rig.put(leaving)
    await rig.after(GRACE + 5)
    assert rig.outcomes() == {"other": "ownerBusy"}
    rig.state.remove_pod("default/disk", "leaving")
    await rig.after(2)
    assert rig.mover.evicted == ["other"]


class Waiting(Mover):
    """Has to wait until an eviction can be sent."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    async def evict(
        self, pod: Pod, *, version: str, dry_run: bool, may_go: Callable[[], bool]
    ) -> Eviction:
        """Evict a pod, if that is still to be."""
        self.meanwhile()
        return await super().evict(pod, version=version, dry_run=dry_run, may_go=may_go)


async def test_what_is_undone_while_an_eviction_waits_to_be_sent_evicts_nobody() -> None:
    rig = one_a_minute("first")
    waiting = Waiting(rig.state)
    rig.mover.evict = waiting.evict  # type: ignore[method-assign]
    waiting.meanwhile = lambda: rig.node("a", disk="ssd")
    await rig.after(GRACE + 5)
    assert waiting.tried == []
    waiting.meanwhile = lambda: None
    rig.node("a")
    await rig.after(GRACE + 1)
    # What was not sent has taken nobody's turn.
    assert waiting.evicted == ["first"]
