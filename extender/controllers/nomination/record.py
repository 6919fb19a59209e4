"""What is known about one pod, from the refusal to the end of its nomination.

::

                  filter refuses it
     (none) ----------------------------> REFUSED <------------------------------+
                                          |     ^                                |
         a node was found: the API server |     | not set, or overwritten by     |
         is asked to nominate it          v     | somebody else                  |
     (none) <---bound, deleted--------- NOMINATED ---(cleared: set again)        |
                                          |     |                                |
          its time is over, or the        |     | preempt is answered for it, or |
          scheduler refused the node      v     | its victims are on their way   |
     (none) <---bound, deleted------- WITHDRAWING ------------> CLAIMED ---------+
                                          |       the same         ^    30 s are over
                           removed, or    |                        |
                      somebody else's now v                        |
                            WITHDRAWN, or REFUSED -----------------+
                                 |                preempt is answered for it
                                 +---180 s are over---> (none)

After the scheduler refused a node, no other is looked for until something changes (`Refusal.hold`).
A pod is REFUSED no more when filter admits it, when it is bound or deleted, or when others pushed
it out. What was withdrawn is remembered whatever the state is: the scheduler may not have seen it.
A withdrawal that was refused, or whose end is unclear, is asked for again after a while; until
then it is WITHDRAWING.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum

from extender.controllers import refusals
from extender.controllers.reconciling import LOOK_SECONDS
from extender.model.objects import Pod
from extender.timing import LONGEST_PAUSE_SECONDS, Pause

TRIED = 8
"""Nodes remembered that a pod was nominated for in vain."""
FIRST_PAUSE_SECONDS = 0.25
"""After a nomination that was of no use; it doubles each time."""
REMEMBERED_SECONDS = 180.0
"""How long a withdrawal is remembered: as long as one whose end is unclear may still be carried
out, which is as for binds (`binding.RESERVATION_SECONDS`)."""


class State(Enum):
    """What is to be done about a pod's nomination."""

    REFUSED = "refused"
    """The pod waits without a nomination of ours."""
    NOMINATED = "nominated"
    """The API server has our nomination, or was asked to set it."""
    WITHDRAWING = "withdrawing"
    """The API server was asked to remove it, and may not have done so."""
    WITHDRAWN = "withdrawn"
    """It was removed, and the pod is not known to be refused any more."""
    CLAIMED = "claimed"
    """The scheduler preempts for the pod: what the field says is the scheduler's."""
    OVER = "over"
    """Nothing is left to be done or remembered."""


@dataclass(slots=True, eq=False)
class Refusal(refusals.Refusal):
    """A pod that was refused, and the nodes that it was pointed to in vain."""

    tried: deque[str] = field(default_factory=lambda: deque(maxlen=TRIED))
    pause: Pause = field(default_factory=lambda: Pause(FIRST_PAUSE_SECONDS))
    outlook: Hashable = None
    """What the pod's chances hung on when a node was chosen that the scheduler then refused."""
    _held_until: float = 0.0
    _is_news: bool = False

    def hear(self, pod: Pod, now: float) -> None:
        """Take over what the latest request says."""
        refusals.Refusal.hear(self, pod, now)
        self._is_news = True

    def take_up(self) -> bool:
        """Return whether the latest request is news, and from now on it is not."""
        is_news, self._is_news = self._is_news, False
        return is_news

    def fail(self, node: str, now: float) -> None:
        """Note that a nomination for a node was of no use."""
        self.tried.append(node)
        self.pause.begin(now)

    def hold(self, outlook: Hashable, now: float) -> None:
        """Note that the scheduler refused a node that was chosen with this outlook.

        For reasons that we do not see. So all nodes have to wait for another outlook: an autoscaler
        takes a nominated pod for one that has its place. Or until the scheduler, too, tries again
        what nothing wakes.
        """
        self.outlook, self._held_until = outlook, now + LONGEST_PAUSE_SECONDS

    def held(self, outlook: Hashable, now: float) -> float | None:
        """Return for how many seconds to point the pod nowhere, None when it may be."""
        if self._held_until <= now or self.outlook != outlook:
            self.outlook, self._held_until = None, 0.0
            return None
        return self._held_until - now


@dataclass(slots=True, eq=False)
class Nomination:
    """A node that a pod is nominated for by us."""

    pod: Pod
    node: str
    since: float
    """When the API server was told last."""
    deadline: float
    """When it is withdrawn, or once more if that was refused or ended unclearly."""
    outlook: Hashable
    """What the pod's chances hung on when the node was chosen."""
    refused: bool = False
    """The scheduler came back with the pod: it has tried the node in vain."""
    renewals: int = 0
    ending: str | None = None
    """As what its end is counted, once it is withdrawn."""


class Fate(Enum):
    """What became of a request to withdraw a nomination."""

    IN_FLIGHT = "in flight"
    DONE = "done"
    NOT_DONE = "not done"
    INDETERMINATE = "unclear"


@dataclass(slots=True, eq=False)
class Withdrawal:
    """A request to withdraw a nomination."""

    node: str
    at: float
    fate: Fate = Fate.IN_FLIGHT
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def is_over(self, now: float) -> bool:
        """Return whether it matters no more."""
        return self.at + REMEMBERED_SECONDS <= now


@dataclass(frozen=True, slots=True)
class Claim:
    """Nodes of which the scheduler is about to nominate one, for a pod that it preempts for."""

    nodes: frozenset[str]
    priority: int
    until: float


@dataclass(slots=True, eq=False)
class Record(refusals.RefusalRecord[Refusal]):
    """What is known about a pod; each part for as long as it is of use."""

    nomination: Nomination | None = None
    withdrawals: dict[str, Withdrawal] = field(default_factory=dict)
    """The latest one for each node."""
    claim: Claim | None = None

    @property
    def is_blank(self) -> bool:
        """Return whether nothing is left to be remembered."""
        return not (self.refusal or self.nomination or self.claim or self.withdrawals)

    def state(self, now: float) -> State:
        """Return what is to be done about the pod."""
        if self.nomination is not None:
            return State.NOMINATED if self.nomination.ending is None else State.WITHDRAWING
        if self.claim is not None and self.claim.until > now:
            return State.CLAIMED
        if self.refusal is not None:
            return State.REFUSED
        if any(not each.is_over(now) for each in self.withdrawals.values()):
            return State.WITHDRAWN
        return State.OVER

    def may_be_helped(self, now: float) -> bool:
        """Return whether a change may be of use to the pod, though nothing is due."""
        if self.state(now) is State.CLAIMED:
            return self.refusal is not None and self.refusal.pause.rest(now) is None
        return self.rest(now, now) is None

    def rest(self, since: float, now: float) -> float | None:
        """Return after how many seconds to look again though nothing happens until then, if at all.

        `since` is when the pod was looked at: a pause that began then may be over by now.
        """
        state, refusal = self.state(now), self.refusal
        if state in {State.NOMINATED, State.WITHDRAWING}:
            return LOOK_SECONDS
        if refusal is None:
            return None
        if state is State.CLAIMED and self.claim is not None:
            return self.claim.until - now
        return None if refusal.pause.rest(since) is None else refusal.pause.rest(now) or 0.0
