"""What is known of one refused pod, from the refusal to the end of what was begun for it.

A pod is helped by a nomination: of a node that takes it as it is, which is a hint, or of one where
victims have to go first, which is a preemption. Either way has records of its own, of this form::

    state        what happens                                             the next state
    (none)       filter refuses it; or preempt has no candidate for it    REFUSED
    REFUSED      a node was found, the API server is asked to set it      NOMINATED
                 victims were chosen, it is asked to set their node       NOMINATING
                 preempt is answered for it                               CLAIMED
    NOMINATED    not set, or overwritten by somebody else                 REFUSED
                 cleared: it is set again                                 NOMINATED
                 its time is over, or the scheduler refused the node      WITHDRAWING
                 preempt is answered, or its victims are on their way     CLAIMED
    WITHDRAWING  removed, or somebody else's now                          WITHDRAWN, or REFUSED
                 preempt is answered, or its victims are on their way     CLAIMED
    NOMINATING   set                                                      EVICTING
                 overtaken, not allowed, or unclear whether it was set    REFUSED
    EVICTING     the API server has been asked to delete every victim     WAITING
                 no use any more, given up                                REFUSED
    WAITING      one of them is there after all                           EVICTING
                 all are gone, and it is refused                          REFUSED
    CLAIMED      CLAIM_SECONDS are over                                   REFUSED
    WITHDRAWN    preempt is answered for it                               CLAIMED
                 REMEMBERED_SECONDS are over                              (none)
    any          bound, or deleted                                        (none)

After the scheduler refused a node, no other is looked for until something changes (`Refusal.hold`).
A pod is REFUSED no more when filter admits it, when it is bound or deleted, or when others pushed
it out. What was withdrawn is remembered whatever the state is: the scheduler may not have seen it.
A withdrawal that was refused, or whose end is unclear, is asked for again after a while; until
then it is WITHDRAWING. From NOMINATING on, a pod has one set of victims, and gets no other before
that is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Generic, TypeVar

from extender.core.controllers.reconciling import LOOK_SECONDS
from extender.core.model.objects import Pod
from extender.core.timing import Pause
from extender.core.verbs.nominating import Observed
from extender.core.verbs.victims import Candidate
from extender.features.refused_pods.refusals import Refusal

REMEMBERED_SECONDS = 180.0
"""How long a withdrawal is remembered: as long as one whose end is unclear may still be carried
out, which is as for binds (`reservations.RESERVATION_SECONDS`)."""
LAG_SECONDS = 2.0
"""How long the watch may take to show a preemptor's nomination, or that a pod is being deleted."""
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 8.0
FIRST_RENEWAL_SECONDS = 0.05
LONGEST_RENEWAL_SECONDS = 1.0
"""Between two requests to set a preemptor's nomination that was wiped out."""


class State(Enum):
    REFUSED = "refused"
    """It waits, and nothing was begun."""
    NOMINATED = "nominated"
    """The API server has our hint, or was asked to set it."""
    WITHDRAWING = "withdrawing"
    """The API server was asked to remove it, and may not have done so."""
    NOMINATING = "nominating"
    """The API server is asked to nominate the node of the victims."""
    EVICTING = "evicting"
    """The API server is asked to delete them."""
    WAITING = "waiting"
    """They are on their way out, or gone."""
    CLAIMED = "claimed"
    """The scheduler preempts for the pod: what the field says is the scheduler's."""
    WITHDRAWN = "withdrawn"
    """A hint was removed, and the pod is not known to be refused any more."""
    OVER = "over"
    """Nothing is left to be done or remembered."""


@dataclass(slots=True, eq=False)
class Nomination:
    """A node that a pod is nominated for by us as it is."""

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

    @property
    def open_since(self) -> float | None:
        """Return when it began; it is to end soon."""
        return self.since

    @property
    def state(self) -> State:
        return State.NOMINATED if self.ending is None else State.WITHDRAWING


@dataclass(slots=True, eq=False)
class Preemption:
    """One set of victims for one pod, on a node that it is nominated for by us."""

    pod: Pod
    """Which they are evicted for."""
    node: str
    began: float
    victims: dict[str, Pod]
    """All that were to be evicted so far, by uid."""
    deadline: float
    """When it is given up to have them deleted."""
    state: State = State.NOMINATING
    nominated_at: float = 0.0
    """When the API server was told of the node last."""
    evicted_at: float = 0.0
    """When all of them were deleted, as far as the API server says."""
    gone_at: float = inf
    """When the watch showed the last of them gone."""
    tried_at: float = inf
    """When the deletion of the last of them was begun, or the scheduler was made to try the pod
    again. Who is refused later may have been so for what the watch had yet to show."""
    pause: Pause = field(default_factory=lambda: Pause(FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS))
    """Until the next try to have them deleted."""
    renewal: Pause = field(
        default_factory=lambda: Pause(FIRST_RENEWAL_SECONDS, LONGEST_RENEWAL_SECONDS)
    )
    """Until the node is nominated again, should that have been wiped out."""
    renewed: bool = False
    """Whether that was done while the victims were on their way out. The scheduler then waits for
    them as well, and wipes out nothing. More often, it would only wake the pod, which is tried in
    vain and backs off ever longer."""
    shown: bool = False
    """Whether the watch has shown the nomination, and with it whatever was marked before."""
    cleared: bool = False
    """Whether less important pods that were nominated to the node are so no more."""
    unwanted: bool = False
    """Whether filter has found a node for the pod meanwhile."""

    def over_as(self, seen: Observed, now: float) -> str | None:
        """Return as what it is over, None when it is not."""
        if seen.node is not None and seen.certain:
            return "bound" if seen.node == self.node else "elsewhere"
        if not seen.known:
            return "gone"
        if seen.nominated not in {None, self.node}:
            lagging = now - self.nominated_at < LAG_SECONDS
            return None if lagging and not self.shown else "overtaken"
        return None

    def is_ours(self, seen: Observed) -> bool:
        """Return whether no other node was nominated since the watch showed ours.

        The scheduler may have wiped it out, as it does at the end of an attempt that began before.
        """
        return seen.nominated == self.node or (seen.nominated is None and self.shown)

    def take_over(self, candidate: Candidate) -> list[Pod]:
        """Add the victims of a new look at the node; return those that are still to be deleted."""
        self.victims.update({victim.uid: victim for victim in candidate.victims})
        return [victim for victim in candidate.victims if not victim.status.deleting]

    def spare(self, left: Iterable[Pod]) -> None:
        """Leave out those of the victims that need not go any more."""
        for victim in left:
            if not victim.status.deleting:
                del self.victims[victim.uid]


class Patched(Enum):
    DONE = "done"
    OVERTAKEN = "overtaken"
    """The field was not, or the pod is not any more, what it was taken for."""
    REFUSED = "refused"
    """Certainly not done: the field is as it was."""
    INDETERMINATE = "unclear"
    """Perhaps it was done, perhaps not; it may be done yet."""


@dataclass(slots=True, eq=False)
class Withdrawal:
    node: str
    at: float
    fate: Patched | None = None
    """None while it is in flight."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def open_since(self) -> float | None:
        """Return when it began; None once it has ended."""
        return None if self.ended.is_set() else self.at

    def is_over(self, now: float) -> bool:
        return self.at + REMEMBERED_SECONDS <= now


@dataclass(frozen=True, slots=True)
class Claim:
    """Nodes of which the scheduler is about to nominate one, for a pod that it preempts for."""

    nodes: frozenset[str]
    priority: int
    until: float


Begun = TypeVar("Begun", Nomination, Preemption)


@dataclass(slots=True, eq=False)
class Record(Generic[Begun]):
    """What is known about a pod; each part for as long as it is of use."""

    uid: str
    refusal: Refusal | None = None
    begun: Begun | None = None
    claim: Claim | None = None
    withdrawals: dict[str, Withdrawal] = field(default_factory=dict)
    """The latest one for each node."""
    last_node: str | None = None
    """Where victims were to make room for it before: they do, if that is of any use yet."""
    last_at: float = 0.0
    """When that was heard of last."""

    def remember(self, node: str, now: float) -> None:
        self.last_node, self.last_at = node, now

    @property
    def is_blank(self) -> bool:
        return not (self.refusal or self.begun or self.claim or self.withdrawals)

    def state(self, now: float) -> State:
        if self.begun is not None:
            return self.begun.state
        if self.claim is not None and self.claim.until > now:
            return State.CLAIMED
        if self.refusal is not None:
            return State.REFUSED
        if any(not each.is_over(now) for each in self.withdrawals.values()):
            return State.WITHDRAWN
        return State.OVER

    def may_be_helped(self, now: float) -> bool:
        """Return whether a change may be of use to the pod, though nothing is due."""
        paused = self.refusal is None or self.refusal.pause.rest(now) is not None
        return self.begun is None and not paused

    def rest(self, since: float, now: float) -> float | None:
        """Return after how many seconds to look again though nothing happens until then, if at all.

        `since` is when the pod was looked at: a pause that began then may be over by now.
        """
        if self.begun is not None:
            return LOOK_SECONDS
        refusal = self.refusal
        if refusal is None:
            return None
        if self.claim is not None and self.claim.until > now:
            return self.claim.until - now
        return None if refusal.pause.rest(since) is None else refusal.pause.rest(now) or 0.0
