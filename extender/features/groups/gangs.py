"""Decides about the binds of a pod group's members together, so that no gang is bound in part.

The scheduler decides about a gang as a whole, and then sends the bind of each member by itself. In
between, single pods may be bound that exclude one of them. So the members wait for each other until
as many are here as the gang needs; then all of these get their places, in one step, or none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from extender.core.model.lru_cache import CountedCache
from extender.core.model.objects import Pod
from extender.core.ports import Attempt
from extender.features.groups.ledger import Members

HOLD_SECONDS: Final = 1.5
"""How long the first of them waits for the others, at most; a bind and its answer come after that.
The scheduler starts their binds within milliseconds, save for members whose volumes have to be
prepared first."""
MOST_REMEMBERED: Final = 1_024
"""Groups that are known to have had too few members."""
MOST_HELD: Final = 500
"""Binds that wait at a time, half of the connections that there may be by default."""
MOST_AGAIN: Final = 2_000
"""Times that members of a gathering are tried again for what others have got: some 0.2 s in all.
A leader and its workers need two for each. Of a chain in which each pod must be near the next one,
as a tenant may write it, each may need as many as there are members."""

MOST_APART_SECONDS: Final = 0.02
MOST_SPREAD_SECONDS: Final = 0.5
"""Between answers to two members of a gang that is refused, and between the first and the last.
The scheduler tries members of one priority in the order in which they came back to it
(PodGroupMemberPodsOrderingFunc), and gives up at the first that fits nowhere, each time: a worker
before the leader that it has to be near would keep the gang waiting forever."""

NeededMembers = Callable[[str], Awaitable[int | None]]
"""Returns how many members of a group have to be placed together, 0 where each may be alone; None
where it cannot be known now. Then all that have come in time are."""


@dataclass(eq=False, slots=True)
class _Member:
    key: str
    attempt: Attempt
    refused: str | None = None
    answered_after: float = 0.0
    """Seconds after the decision."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False, slots=True)
class _Gathering:
    """The members of one group whose binds have come and are not decided."""

    until: float
    """On the event loop's clock."""
    needed: int | None = None
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    members: list[_Member] = field(default_factory=list)
    looked_at_from: int = 0
    """How many have to be here before it is looked at again."""
    again: int = MOST_AGAIN
    """How many more times members may be tried again."""


class Gangs:
    """Decides about the binds of members.

    Of a group without an undecided bind it is only kept, for some, that its last gathering was too
    small. Then all of it were refused, and the gang is tried again as a whole. Where that happens
    twice, members may take long to prepare each time, and those that are there are bound.
    """

    def __init__(self, members: Members, needed: NeededMembers, most_held: int = MOST_HELD) -> None:
        """Hold `most_held` binds at a time: each has a connection, which other calls need too."""
        self._members = members
        self._needed = needed
        self._most_held = most_held
        self._gatherings: dict[str, _Gathering] = {}
        self._coming_back = 0
        """Members that are refused and wait for their turns to be answered."""
        self._too_few: CountedCache[str, bool] = CountedCache(MOST_REMEMBERED)
        members.ended.append(self._too_few.pop)

    def has(self, pod: Pod) -> bool:
        return pod.spec.group is not None

    async def decide(self, pod: Pod, attempt: Attempt) -> str | None:
        """Decide about the bind of a member, beside the others of its group.

        Returns why it is refused for the sake of others; None where its attempt says what it is.
        """
        group, member = str(pod.spec.group), _Member(pod.key, attempt)
        gathering = self._gatherings.get(group)
        if gathering is None:
            until = asyncio.get_running_loop().time() + HOLD_SECONDS
            gathering = self._gatherings[group] = _Gathering(until)
        gathering.members.append(member)
        try:
            async with asyncio.timeout_at(gathering.until):
                async with gathering.asking:  # another asks if the call of the one that does ends
                    if gathering.needed is None:
                        gathering.needed = await self._needed(group)
                self._look(group, gathering)
                self._make_room()
                await member.ended.wait()
        except TimeoutError:
            if not member.ended.is_set():
                self._look(group, gathering, over=True)
        finally:
            if member in gathering.members:
                gathering.members.remove(member)
            if not gathering.members and self._gatherings.get(group) is gathering:
                del self._gatherings[group]
        if member.answered_after and self._held() < self._most_held:
            self._coming_back += 1
            try:
                await asyncio.sleep(member.answered_after)
            finally:
                self._coming_back -= 1
        return member.refused

    def _held(self) -> int:
        return self._coming_back + sum(len(each.members) for each in self._gatherings.values())

    def _make_room(self) -> None:
        """Wait no longer for the others of the largest group if too many binds wait."""
        if self._held() < self._most_held:
            return
        sizes = {group: len(each.members) for group, each in self._gatherings.items()}
        known = [group for group, size in sizes.items() if size and self._is_known(group)]
        if known:
            largest = max(known, key=sizes.__getitem__)
            self._look(largest, self._gatherings[largest], over=True)

    def _is_known(self, group: str) -> bool:
        return self._gatherings[group].needed is not None

    def _look(self, group: str, gathering: _Gathering, *, over: bool = False) -> None:
        """Decide about those that are here, if they are enough or no more are waited for."""
        here = gathering.members
        if len(here) < gathering.looked_at_from and not over:
            return
        keys = {each.key for each in here}
        others = [each for key, each in self._members.of(group).items() if key not in keys]
        placed = sum(map(self._members.has_place, others))
        lacking = len(keys) if gathering.needed is None else gathering.needed - placed
        if gathering.needed is not None and len(keys) >= lacking:
            self._too_few.pop(group)
            to_come = len(others) - placed
            _settle(gathering, lacking, is_last=over or not to_come)
            # So a large group whose members are refused is tried a few dozen times in all.
            gathering.looked_at_from = len(here) + max(1, min(to_come, len(here) // 8))
        elif over and lacking > len(keys) and self._too_few.get(group) is None:
            self._too_few.put(group, value=True)
            standing, refused = _tried(gathering)
            why = f"its gang needs {lacking} more, and {len(keys)} are to be bound"
            _refuse(standing, why, refused, why)
            here.clear()
        elif over:
            _settle(gathering, lacking, is_last=True)
        else:
            # Half of what is missing: the watch may show that others have their places.
            gathering.looked_at_from = len(here) + max(1, (lacking - len(keys)) // 2)


def _settle(gathering: _Gathering, lacking: int, *, is_last: bool) -> None:
    """Give their places to all that can have them, if the gang lacks no more; else to none.

    Those that are refused wait for others that may help them, unless these are the last.
    """
    here = gathering.members
    standing, refused = _tried(gathering)
    number = len({each.key for each in standing})
    if refused and number < lacking:
        if is_last:
            _refuse(standing, f"its gang lacks {lacking}, and only {number} can be bound", refused)
        else:
            _undo(standing)
    else:
        _end(standing)
        if is_last:
            _end(refused)
    here[:] = [each for each in here if not each.ended.is_set()]


def _undo(standing: Collection[_Member]) -> None:
    for each in standing:
        each.attempt.undo()


def _refuse(
    standing: Sequence[_Member],
    why: str,
    refused: Sequence[_Member],
    of_refused: str | None = None,
) -> None:
    """Refuse all, in the order in which they can be bound."""
    _undo(standing)
    members = [*standing, *refused]
    apart = min(MOST_APART_SECONDS, MOST_SPREAD_SECONDS / len(members))
    for place, each in enumerate(members):
        each.answered_after = place * apart
    _end(standing, why)
    _end(refused, of_refused)


def _end(members: Collection[_Member], why: str | None = None) -> None:
    for each in members:
        each.refused = why
        each.ended.set()


def _tried(gathering: _Gathering) -> tuple[list[_Member], list[_Member]]:
    """Try each, those that are refused again after others stand, since these may be what they lack.

    Returns those that stand, and those that do not.
    """
    standing: list[_Member] = []
    left = [*gathering.members]
    while left:
        refused: list[_Member] = []
        for each in left:
            (standing if each.attempt.stands() else refused).append(each)
        if len(refused) in {len(left), 0} or len(refused) > gathering.again:
            return standing, refused
        gathering.again -= len(refused)
        left = refused
    return standing, left
