"""Binds of gangs and of single pods, ended calls, deleted pods and time, in any order.

Beside the extender stands what each decision has to be: as many of a gang as it needs get their
places, or none. No place is left without a bind, and nothing is kept of a gang.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain
from typing import Final

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extender.core.cluster.ledgers.reservations import Claim
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod as ModelPod
from extender.core.ports import Attempt
from extender.features.binding.binds import _Attempt
from extender.features.binding.outcome import BindOutcome, Bound
from extender.features.groups import gangs as module
from extender.features.groups.gangs import Gangs
from extender.features.groups.ledger import members_of
from simulation.invariants.recount import mismatches
from tests.builders import ZONE, Pod, model_pod, pod, selector, term
from tests.features.binding.test_binds import BindRig, binding

HOLD_S = 0.02
WAIT_S = 10.0
FEW_TURNS = 20
SIZES: Final = (2, 4)
"""Members of each gang."""


def members(gang: int, needed: int) -> Iterator[Pod]:
    """Yield the leader of a gang, and workers that must be near it or may go anywhere."""
    for number in range(SIZES[gang]):
        each = pod(f"g{gang}-{number}").labels(app=f"g{gang}", role=f"r{min(number, 1)}")
        if number == 1 and needed > 1:
            each = each.affinity(term(ZONE, selector(app=f"g{gang}", role="r0")))
        yield each.in_group(f"g{gang}")


def single(gang: int) -> Pod:
    """Build a pod that is in no gang, and that excludes the pods of one."""
    return pod(f"s{gang}").anti_affinity(term(ZONE, selector(app=f"g{gang}")))


class Recorder:
    """Notes which members are to be bound by a decision."""

    def __init__(self, gangs: Gangs, state: ClusterState) -> None:
        self.gangs, self.state = gangs, state
        self.standing: dict[str, set[str]] = {}
        self.too_few: set[str] = set()
        """Groups that were refused because too few of them came."""
        self.has = gangs.has

    async def decide(self, pod: ModelPod, attempt: Attempt) -> str | None:
        why = await self.gangs.decide(pod, attempt)
        assert isinstance(attempt, _Attempt)
        group = str(pod.spec.group)
        if why is not None:
            if "are to be bound" in why:
                self.too_few.add(group)
        elif isinstance(attempt.decided, Claim) and self.state.pod(pod.key, pod.uid) is not None:
            self.standing.setdefault(group, set()).add(pod.key)
        return why


class World:
    def __init__(self, needed: list[int], *, readable: bool) -> None:
        self.needed = {f"default/g{gang}": number for gang, number in enumerate(needed)}
        self.pods = [*chain.from_iterable(members(*each) for each in enumerate(needed))]
        self.pods += [single(gang) for gang in range(len(SIZES))]
        self.rig = BindRig(*self.pods)
        self.readable, self.asks = readable, asyncio.Event()
        self.gangs = Gangs(members_of(self.rig.state), self.needs)
        self.recorder = Recorder(self.gangs, self.rig.state)
        self.rig.binds._company = self.recorder
        self.calls: dict[int, asyncio.Task[bytes]] = {}

    async def needs(self, group: str) -> int:
        if not self.readable:
            await self.asks.wait()
        return self.needed[group]

    def come(self, which: int, node: str) -> None:
        """Have the bind of a pod come, unless one is under way: the scheduler sends one."""
        which %= len(self.pods)
        if which not in self.calls or self.calls[which].done():
            body = orjson.dumps(binding(self.pods[which], node))
            self.calls[which] = asyncio.create_task(self.rig.binds.answer(body))

    def all_come(self, which: int, node: str) -> None:
        """Have the binds of all members of a gang come, but of one, in some order."""
        gang = which % len(SIZES)
        first, size = sum(SIZES[:gang]), SIZES[gang]
        for number in range(size - which // len(SIZES) % 2):
            self.come(first + (which + number) % size, node)

    def hang_up(self, which: int, _: str) -> None:
        which %= len(self.pods)
        if which in self.calls and not self.calls[which].done():
            self.calls[which].cancel()

    def delete(self, which: int, _: str) -> None:
        metadata = self.pods[which % len(self.pods)]["metadata"]
        self.rig.state.remove_pod(f"default/{metadata['name']}", metadata["uid"])

    def watch(self, which: int, _: str) -> None:
        """Have the watch show a pod that is bound."""
        each = self.pods[which % len(self.pods)]
        key = f"default/{each['metadata']['name']}"
        node = dict(self.rig.api.bound).get(key)
        if node is not None and key in self.rig.state.pods:
            self.rig.state.upsert_pod(model_pod(each.on(node)))

    def api(self, which: int, _: str) -> None:
        """Have the API server end what comes so from now on."""
        ends = (
            (BindOutcome.BOUND, ""),
            (BindOutcome.REFUSED, "no"),
            (BindOutcome.INDETERMINATE, "?"),
        )
        self.rig.api.end = Bound(*ends[which % len(ends)])

    async def turns(self) -> None:
        for _ in range(FEW_TURNS):
            await asyncio.sleep(0)

    async def over(self) -> None:
        """Wait until no call is left."""
        self.asks.set()
        if self.calls:
            await asyncio.wait(self.calls.values(), timeout=WAIT_S)
        assert all(each.done() for each in self.calls.values())

    def placed(self, group: str) -> set[str]:
        ledger = members_of(self.rig.state)
        return {key for key, each in ledger.of(group).items() if ledger.has_place(each)}

    def check(self, before: dict[str, set[str]], was_too_few: set[str]) -> None:
        """Look whether what was decided since is all that a gang needs, or nothing."""
        for group, standing in self.recorder.standing.items():
            if len(standing | before[group]) >= self.needed[group]:
                self.recorder.too_few.discard(group)
            elif self.readable:
                assert group in was_too_few, (group, standing, before[group])
        self.recorder.standing.clear()


OPERATIONS: Final = st.tuples(
    st.sampled_from(
        ["come"] * 6 + ["all_come"] * 3 + ["hang_up", "delete", "watch", "api", "over"]
    ),
    st.integers(0, sum(SIZES) + len(SIZES) - 1),
    st.sampled_from("aab"),
    st.booleans(),
)


async def run(
    needed: list[int], operations: list[tuple[str, int, str, bool]], *, readable: bool
) -> None:
    world = World(needed, readable=readable)
    groups = list(world.needed)
    before = {each: world.placed(each) for each in groups}
    for name, which, node, waits in operations:
        was_too_few = set(world.recorder.too_few)
        if name in {"over", "hang_up", "delete"} or waits:
            await world.turns()
        if name == "over":
            await world.over()
        else:
            getattr(world, name)(which, node)
        if waits or name == "over":
            await world.turns()
        world.check(before, was_too_few)
        for each in groups:
            before[each] |= world.placed(each)
    was_too_few = set(world.recorder.too_few)
    await world.over()
    world.check(before, was_too_few)
    assert world.gangs._gatherings == {}
    assert not [each for each in world.rig.state.reservations if each.under_way]
    assert mismatches(world.rig.state) == []


@pytest.fixture(autouse=True, scope="module")
def _short() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HOLD_SECONDS", HOLD_S)
        yield


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    needed=st.tuples(*(st.integers(size // 2, size) for size in SIZES)).map(list),
    operations=st.lists(OPERATIONS, min_size=5, max_size=50),
    readable=st.booleans(),
)
def test_any_gang(
    needed: list[int], operations: list[tuple[str, int, str, bool]], *, readable: bool
) -> None:
    asyncio.run(run(needed, operations, readable=readable))
