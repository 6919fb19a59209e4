"""Binds of a gang's members are decided together: as many as it needs get their places, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from math import inf

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod as ModelPod
from extender.features.groups import gangs as module
from extender.features.groups.gangs import MOST_AGAIN, Gangs, _Gathering
from extender.features.groups.ledger import members_of
from extender.features.groups.part import Groups
from tests.builders import Pod, model_pod, node, pod, state_of
from tests.wired import context_over

FEW_TURNS = 10
SHORT_S = 0.05
"""How long members are held where a test waits until that is over."""


def member(name: str, group: str = "gang") -> Pod:
    return pod(name).in_group(group)


class Attempt:
    """A bind that stands once what it lacks is there, and unless something is in its way."""

    def __init__(self, world: Sequence[Attempt], lacks: str = "", *, fits: bool = True) -> None:
        self.world, self.lacks, self.fits = world, lacks, fits
        self.name = ""
        self.has_place = False
        self.tries = 0

    def stands(self) -> bool:
        self.tries += 1
        placed = {each.name for each in self.world if each.has_place}
        self.has_place = self.fits and (not self.lacks or self.lacks in placed)
        return self.has_place

    def undo(self) -> None:
        self.has_place = False


class World:
    """A group of some members, of which the gang needs a number."""

    def __init__(self, *pods: Pod, needed: int | None, asks: asyncio.Event | None = None) -> None:
        self.state: ClusterState = state_of([node("a")], [], pods)
        self.asked: list[str] = []

        async def needs(group: str) -> int | None:
            self.asked.append(group)
            if asks is not None:
                await asks.wait()
            return needed

        self.gangs = Gangs(members_of(self.state), needs)
        self.attempts: list[Attempt] = []

    def come(self, name: str, lacks: str = "", *, fits: bool = True) -> asyncio.Task[str | None]:
        """Have the bind of a member come."""
        attempt = Attempt(self.attempts, lacks, fits=fits)
        attempt.name = name
        self.attempts.append(attempt)
        return asyncio.create_task(self.gangs.decide(self.pod(name), attempt))

    def pod(self, name: str) -> ModelPod:
        return self.state.pods[f"default/{name}"]

    @property
    def placed(self) -> list[str]:
        return [each.name for each in self.attempts if each.has_place]


async def ends(*binds: Awaitable[str | None]) -> list[str | None]:
    """Return for the sake of which others they were refused, if at all."""
    return [*await asyncio.gather(*binds)]


async def turns() -> None:
    for _ in range(FEW_TURNS):
        await asyncio.sleep(0)


FOUR = [member(name) for name in "abcd"]


async def test_the_first_waits_for_as_many_as_the_gang_needs() -> None:
    world = World(*FOUR, needed=3)
    first, second = world.come("a"), world.come("b")
    await turns()
    assert (first.done(), second.done(), world.placed) == (False, False, [])
    third = world.come("c")
    assert await ends(first, second, third) == [None, None, None]
    assert world.placed == ["a", "b", "c"]
    assert world.gangs._gatherings == {}


async def test_the_time_counts_from_the_first_that_came() -> None:
    world = World(*FOUR, needed=4)
    binds = [world.come("a")]
    await turns()
    (gathering,) = world.gangs._gatherings.values()
    until = gathering.until
    binds += [world.come("b"), world.come("c")]
    await turns()
    assert gathering.until == until
    assert await ends(world.come("d"), *binds) == [None] * 4


async def test_all_are_refused_where_one_that_the_gang_needs_is() -> None:
    world = World(*FOUR[:3], needed=3)
    found = await ends(world.come("a"), world.come("b", fits=False), world.come("c"))
    assert found == ["its gang lacks 3, and only 2 can be bound", None, found[0]]
    assert world.placed == []


async def test_one_that_the_gang_does_not_need_is_refused_alone() -> None:
    world = World(*FOUR, needed=3)
    binds = [world.come(name, fits=name != "b") for name in "abcd"]
    assert await ends(*binds) == [None] * 4
    assert world.placed == ["a", "c", "d"]


async def test_the_order_in_which_binds_come_does_not_matter() -> None:
    world = World(*FOUR, needed=4)
    lacks = {"a": "b", "b": "c", "c": "d", "d": ""}
    assert await ends(*(world.come(*each) for each in lacks.items())) == [None] * 4
    assert world.placed == ["a", "b", "c", "d"]


async def test_members_that_have_their_places_count_for_the_gang() -> None:
    world = World(*FOUR[:2], member("c").on("a"), member("d").on("a"), needed=3)
    bind = world.come("a")
    await turns()
    assert bind.done()
    assert world.placed == ["a"]


async def test_one_that_lacks_another_waits_for_it_where_each_may_be_alone() -> None:
    world = World(*FOUR, needed=0)
    worker = world.come("a", "b")
    await turns()
    assert not worker.done()
    assert await ends(world.come("b"), worker) == [None, None]
    assert world.placed == ["a", "b"]


async def test_one_that_no_other_can_help_any_more_is_told_at_once() -> None:
    world = World(member("a"), member("b").on("a"), needed=0)
    assert await world.come("a", fits=False) is None
    assert world.placed == []


async def test_members_that_the_watch_does_not_show_yet_are_waited_for() -> None:
    world = World(*FOUR[:2], needed=3)
    binds = [world.come("a"), world.come("b")]
    await turns()
    assert not any(each.done() for each in binds)
    world.state.upsert_pod(model_pod(FOUR[2]))
    assert await ends(*binds, world.come("c", fits=False)) == [
        *["its gang lacks 3, and only 2 can be bound"] * 2,
        None,
    ]


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOLD_SECONDS", SHORT_S)


@pytest.mark.usefixtures("_short")
async def test_members_whose_others_do_not_come_in_time_are_refused_once_and_then_bound() -> None:
    world = World(*FOUR, needed=4)
    assert (
        await ends(world.come("a"), world.come("b"), world.come("c"))
        == ["its gang needs 4 more, and 3 are to be bound"] * 3
    )
    assert world.placed == []
    assert await ends(world.come("a"), world.come("b")) == [None] * 2
    assert world.placed == ["a", "b"]
    assert world.gangs._gatherings == {}


@pytest.mark.usefixtures("_short")
async def test_and_are_refused_again_where_one_of_them_is() -> None:
    world = World(*FOUR, needed=4)
    await ends(world.come("a"))
    found = await ends(world.come("a"), world.come("b", fits=False))
    assert found == ["its gang lacks 4, and only 1 can be bound", None]
    assert world.placed == []


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize(
    "needed", [pytest.param(4, id="one of them fits nowhere"), pytest.param(5, id="one is late")]
)
async def test_a_refused_gang_comes_back_in_an_order_in_which_it_can_be_bound(needed: int) -> None:
    # In this order kube-scheduler tries them from then on, up to the first that lacks another.
    world = World(*FOUR, member("e"), needed=needed)
    came: list[str] = []

    async def back(name: str, bind: Awaitable[str | None]) -> None:
        await bind
        came.append(name)

    lacks = {"a": "b", "b": "c", "d": "", "c": ""}
    binds = {name: world.come(name, of, fits=name != "d") for name, of in lacks.items()}
    await asyncio.gather(*(back(*each) for each in binds.items()))
    assert came == ["c", "b", "a", "d"]
    assert world.placed == []


@pytest.mark.usefixtures("_short")
async def test_a_gang_that_was_there_as_a_whole_is_refused_once_more() -> None:
    world = World(*FOUR, needed=2)
    await ends(world.come("a"))
    assert await ends(world.come("a"), world.come("b", fits=False)) != [None, None]
    assert await ends(world.come("a")) == ["its gang needs 2 more, and 1 are to be bound"]


@pytest.mark.usefixtures("_short")
async def test_a_group_that_is_created_again_under_its_name_is_another_one() -> None:
    world = World(*FOUR, needed=4)
    await ends(world.come("a"))
    for gone in map(model_pod, FOUR):
        world.state.remove_pod(gone.key, gone.uid)
    for number, each in enumerate(FOUR):
        world.state.upsert_pod(model_pod(each.uid(f"next-{number}")))
    assert await ends(world.come("a")) == ["its gang needs 4 more, and 1 are to be bound"]


@pytest.mark.usefixtures("_short")
async def test_a_group_that_cannot_be_read_in_time_keeps_no_member() -> None:
    world = World(*FOUR, needed=4, asks=asyncio.Event())
    assert await ends(world.come("a"), world.come("b")) == [None, None]
    assert world.placed == ["a", "b"]


@pytest.mark.usefixtures("_short")
async def test_of_a_group_that_cannot_be_read_all_that_have_come_are_bound_or_none() -> None:
    world = World(*FOUR, needed=None)
    found = await ends(world.come("a"), world.come("b", fits=False), world.come("c"))
    assert found == ["its gang lacks 3, and only 2 can be bound", None, found[0]]
    assert world.placed == []


@pytest.mark.parametrize("which", [0, 1], ids=["the first", "another"])
async def test_nothing_is_kept_of_a_caller_that_gives_up(which: int) -> None:
    world = World(*FOUR, needed=3)
    binds = [world.come("a"), world.come("b")]
    await turns()
    given_up = world.attempts[which]
    binds[which].cancel()
    with suppress(asyncio.CancelledError):
        await binds[which]
    binds += [world.come("c"), world.come("d")]
    assert await ends(*(each for each in binds if not each.cancelled())) == [None] * 3
    assert world.placed == [each.name for each in world.attempts if each is not given_up]
    assert world.gangs._gatherings == {}


async def test_the_work_for_a_large_group_with_refused_members_is_bounded() -> None:
    names = [str(number) for number in range(400)]
    world = World(*map(member, names), needed=300)
    binds = [world.come(name, fits=int(name) % 3 > 0) for name in names]
    await ends(*binds)
    assert world.placed == []
    assert sum(each.tries for each in world.attempts) < 20 * len(names)


async def test_the_work_for_a_long_chain_of_members_is_bounded() -> None:
    names = [str(number) for number in range(200)]
    world = World(*map(member, names), needed=len(names))
    await ends(*(world.come(name, str(int(name) + 1)) for name in names[:-1]), world.come("199"))
    assert world.placed == []
    assert sum(each.tries for each in world.attempts) <= MOST_AGAIN + len(names)


async def test_two_binds_of_one_pod_are_one_of_the_gang() -> None:
    world = World(*FOUR[:3], needed=3)
    binds = [world.come("a"), world.come("a"), world.come("b"), world.come("c", fits=False)]
    assert (await ends(*binds))[0] == "its gang lacks 3, and only 2 can be bound"
    assert world.placed == []


async def test_a_pod_does_not_count_twice_where_the_watch_shows_its_namesake() -> None:
    world = World(*FOUR[:2], needed=2)
    new = world.pod("a")
    world.state.upsert_pod(model_pod(member("a").uid("old").on("a")))
    attempt = Attempt(world.attempts)
    world.attempts.append(attempt)
    bind = asyncio.create_task(world.gangs.decide(new, attempt))
    await turns()
    assert not bind.done()
    assert await ends(bind, world.come("b")) == [None, None]


async def test_another_asks_if_the_call_of_the_first_ends() -> None:
    asks = asyncio.Event()
    world = World(*FOUR, needed=3, asks=asks)
    first, second, third = world.come("a"), world.come("b"), world.come("c")
    await turns()
    first.cancel()
    await turns()
    asks.set()
    await turns()
    assert world.asked == ["default/gang"] * 2
    assert not second.done()
    assert await ends(second, third, world.come("d")) == [None] * 3


async def test_where_too_many_are_held_the_largest_group_is() -> None:
    names = [str(number) for number in range(8)]
    world = World(*map(member, names), *(member(name, "other") for name in "xyz"), needed=3)
    world.gangs._most_held = 4
    small = world.come("x")
    binds = [world.come(name, fits=name != "2") for name in names[:3]]
    assert (await ends(*binds))[0] == "its gang lacks 3, and only 2 can be bound"
    assert not small.done()
    assert await ends(small, world.come("y"), world.come("z")) == [None] * 3


async def test_gangs_hold_half_of_the_connections_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    async def needs(_: str) -> int:
        return 9

    monkeypatch.setattr(Groups, "_needed", lambda *_: needs)
    state = state_of([], [], FOUR)
    profiles = [{"schedulerName": "groups", "mode": "bind"}]
    fields = {"mode": "replace", "profiles": profiles, "serving": {"maxConnections": 5}}
    company = Groups(context_over(state, fields=fields)).company
    assert company is not None
    one, two = (
        asyncio.create_task(company.decide(model_pod(each), Attempt([]))) for each in FOUR[:2]
    )
    async with asyncio.timeout(module.HOLD_SECONDS / 2):
        await asyncio.gather(one, two)


async def test_a_group_that_is_being_read_is_held_however_many_are() -> None:
    asks = asyncio.Event()
    world = World(*FOUR, *(member(name, "other") for name in "xy"), needed=2, asks=asks)
    world.gangs._most_held = 3
    binds = [world.come(name) for name in "abc"]
    await turns()
    world.gangs._gatherings["default/other"] = _Gathering(until=inf, needed=2)
    other = world.come("x")
    await turns()
    assert other.done()
    assert not any(each.done() for each in binds)
    asks.set()
    assert await ends(*binds) == [None] * 3


async def test_groups_do_not_wait_for_each_other() -> None:
    world = World(*FOUR[:1], *(member(name, "other") for name in "xy"), needed=2)
    lonely = world.come("a")
    assert await ends(world.come("x"), world.come("y")) == [None, None]
    assert not lonely.done()
    lonely.cancel()
    assert world.asked == ["default/gang", "default/other"]


def test_a_pod_without_a_group_is_no_member() -> None:
    gangs = World(pod("lone"), *FOUR, needed=2).gangs
    assert not gangs.has(model_pod(pod("lone")))
    assert gangs.has(model_pod(FOUR[0]))
