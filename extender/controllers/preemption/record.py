"""What is known about the pods for which others may be evicted: a record each.

::

                filter refuses it, or preempt has no candidate for it
     (none) ---------------------------------> REFUSED <-----------------------------+
                                                |   ^                                |
            victims were chosen: the API server |   | overtaken, not allowed, or     |
            is asked to nominate their node     v   | it is unclear whether it was   |
                                             NOMINATING                              |
                                                |         done                       |
                                                v                                    |
     (none) <--bound, deleted------------- EVICTING --(no use any more, given up)----+
                                                |  ^                                 |
          the API server has been asked to      |  | one of them is there after all  |
          delete every one of them              v  |                                 |
     (none) <--bound, deleted-------------- WAITING ---(all gone, and refused)-------+

A pod is REFUSED no more when filter admits it, when it is bound or deleted, or when others pushed
it out. From NOMINATING on, it has one set of victims, and gets no other before that is over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf

from extender.controllers import refusals
from extender.controllers.refusals import RefusalRecords
from extender.model import memory
from extender.model.objects import Pod
from extender.timing import Pause
from extender.verbs.plugins import Refused
from extender.verbs.victims import Candidate

PER_NAME = 8
"""Bytes of a place in a list."""
FIRST_PAUSE_SECONDS = 0.5
"""After victims that were of no use, or could not be had; it doubles each time."""
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 8.0
FIRST_RENEWAL_SECONDS = 0.05
LONGEST_RENEWAL_SECONDS = 1.0
"""Between two requests to set a nomination that was wiped out."""

MOST_REFUSED = 1024
"""Refused pods, within memory.PREEMPTORS."""
MOST_ACTIVE = 512
"""Pods that others are being evicted for at a time; the rest waits for its turn."""
MOST_CLAIMS = 1024
CLAIM_SECONDS = 2.0
"""From the answer to /preempt until we may evict anybody for the pod. By then the watch has shown
whom the scheduler evicts for it."""
CYCLE_SECONDS = 1.0
"""From filter's answer until the scheduler has asked /preempt in the same cycle."""
MOST_KEPT = MOST_REFUSED + MOST_ACTIVE


@dataclass(slots=True, eq=False)
class Refusal(refusals.Refusal):
    """A pod that was refused, and by which nodes."""

    refused: Refused | None = None
    """Until the pod is looked at."""
    unschedulable: bool = False
    """Whether nobody was found whose eviction would help, when it was looked at last."""
    pause: Pause = field(default_factory=lambda: Pause(FIRST_PAUSE_SECONDS))
    _ended: float = -inf
    _passed: frozenset[str] | None = None

    def take_up(self) -> None:
        """Keep of the nodes that refused the pod what a search needs."""
        refused, self.refused = self.refused, None
        if refused is None:
            return
        if refusals.is_whole_search(refused) or not self.pod.requirements.is_plain:
            self._passed = frozenset(name for _, names in refused for name in names)
        else:
            self._passed = None

    def note_end(self, now: float) -> None:
        """Note that the watch has shown the pod: the scheduler writes to it as its attempt ends.

        That wakes the pod, so one more refusal that comes at once is nothing new.
        """
        self._ended = now

    @property
    def settled_at(self) -> float:
        """Return when the scheduler has ended its attempt, for all we know."""
        settled = self.heard + refusals.SETTLING_SECONDS
        return self._ended if self._ended > self.heard - refusals.SETTLING_SECONDS else settled

    @property
    def passed(self) -> frozenset[str] | None:
        """Return the nodes that the scheduler's own plugins let through, None when unknown."""
        return self._passed

    @property
    def size(self) -> int:
        """Return about what it takes with the names of nodes, in bytes."""
        names = sum(len(names) for _, names in self.refused or ()) + len(self._passed or ())
        return refusals.PER_POD + self.pod.size + PER_NAME * names


class State(Enum):
    """What is to be done about a set of victims; a pod that is REFUSED has none."""

    NOMINATING = "nominating"
    """The API server is asked to nominate the node of the victims."""
    EVICTING = "evicting"
    """The API server is asked to delete them."""
    WAITING = "waiting"
    """They are on their way out, or gone."""


@dataclass(slots=True, eq=False)
class Preemption:
    """One set of victims for one pod."""

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
    shown: bool = False
    """Whether the watch has shown the nomination, and with it whatever was marked before."""
    cleared: bool = False
    """Whether less important pods that were nominated to the node are so no more."""
    unwanted: bool = False
    """Whether filter has found a node for the pod meanwhile."""

    def take_over(self, candidate: Candidate) -> list[Pod]:
        """Add the victims of a new look at the node; return those that are still to be deleted."""
        self.victims.update({victim.uid: victim for victim in candidate.victims})
        return [victim for victim in candidate.victims if not victim.deleting]

    def spare(self, left: Iterable[Pod]) -> None:
        """Leave out those of the victims that need not go any more: nobody waits for them."""
        for victim in left:
            if not victim.deleting:
                del self.victims[victim.uid]


@dataclass(slots=True, eq=False)
class Record(refusals.RefusalRecord[Refusal]):
    """What is known about a pod; each part for as long as it is of use."""

    preemption: Preemption | None = None
    last_node: str | None = None
    """Where victims were to make room for it before: they do, if that is of any use yet."""
    last_at: float = 0.0
    """When that was heard of last."""

    def remember(self, node: str, now: float) -> None:
        """Note where victims are to make room."""
        self.last_node, self.last_at = node, now

    def forget_node(self) -> None:
        """Note that there are no victims that would be wasted."""
        self.last_node = None

    @property
    def is_blank(self) -> bool:
        """Return whether nothing is left to be remembered."""
        return self.refusal is None and self.preemption is None


class Records(RefusalRecords[Record]):
    """The records of all pods that others are, or may be, evicted for."""

    def __init__(
        self,
        clock: Callable[[], float],
        forgotten: Callable[[str], None],
        *,
        most_refused: int = MOST_REFUSED,
    ) -> None:
        """`forgotten` is told the uid of each record that is dropped."""
        super().__init__(Record, forgotten, budget=memory.PREEMPTORS, most=most_refused)
        self._clock = clock
        self._active: dict[str, Preemption] = {}
        self._claims: OrderedDict[str, float] = OrderedDict()
        """Until when the scheduler is taken to preempt for a pod itself, the latest last."""

    @property
    def active(self) -> Mapping[str, Preemption]:
        """Return the sets of victims that are not over, by the uid of their preemptor."""
        return self._active

    def latest(self, uid: str) -> Refusal | None:
        """Return the refusal of a pod in the scheduling cycle that preempts for it now."""
        record = self._records.get(uid)
        refusal = None if record is None else record.refusal
        if refusal is None or self._clock() - refusal.heard >= CYCLE_SECONDS:
            return None
        return refusal

    # Refusals

    def refuse(self, pod: Pod, refused: Refused) -> Record:
        """Remember a refusal; those that nobody heard of for longest go when there are too many."""
        record = self._of(pod.uid)
        record.refusal = record.refusal or Refusal(pod, self._clock())
        record.refusal.hear(pod, self._clock())
        record.refusal.refused = refused
        self.keep_refusal(record)
        return record

    # Sets of victims

    def begin(self, record: Record, preemption: Preemption) -> None:
        """Note that others are evicted for a pod."""
        record.preemption = self._active[record.uid] = preemption

    def end(self, record: Record) -> None:
        """Note that nobody is evicted for a pod (any more)."""
        record.preemption = None
        self._active.pop(record.uid, None)
        self._do_deferred(record)

    # What the scheduler does by itself

    def claim(self, uid: str) -> None:
        """Note that the scheduler is about to evict others for a pod."""
        now = self._clock()
        self._claims[uid] = now + CLAIM_SECONDS
        self._claims.move_to_end(uid)
        while len(self._claims) > MOST_CLAIMS or next(iter(self._claims.values())) <= now:
            self._claims.popitem(last=False)

    def claimed_until(self, uid: str) -> float:
        """Return until when nobody is to be evicted for a pod."""
        return self._claims.get(uid, 0.0)
