"""The records of all pods, and how many of what is remembered.

A nomination and a preemption write the same field, status.nominatedNodeName. When both name the
same node, the scheduler patches nothing, because the field already says what it wants to say: from
kube-scheduler's updatePod, which compares with its own copy of the pod. Nothing in the object then
tells the two apart, and whoever removed the field would make the scheduler look for other victims.
But it asks /preempt first: before it evicts anybody and before it nominates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from extender.controllers.nomination.record import (
    Claim,
    Fate,
    Nomination,
    Record,
    Refusal,
    Withdrawal,
)
from extender.controllers.refusals import RefusalRecords
from extender.model import memory
from extender.model.objects import Pod

MOST_REFUSED = 512
"""Refused pods, within memory.REFUSALS."""
CLAIM_SECONDS = 30.0
"""From the answer to /preempt until we may nominate a node for the pod again. By then the scheduler
has asked for all evictions, or has failed to, and the watch has shown its nomination."""
MOST_CLAIMS = 1024
"""A claim that was forgotten early is still covered by the victims that are on their way out, and
by the test in every patch."""
MOST_WITHDRAWALS = 4096
"""More than there are in REMEMBERED_SECONDS at 20 a second; the oldest is forgotten first."""
MOST_KEPT = MOST_REFUSED + MOST_CLAIMS + MOST_WITHDRAWALS
"""Records, beside those of pods that have a nomination of ours."""


class Records(RefusalRecords[Record]):
    """The records of all pods that hints are, or may be, about."""

    def __init__(
        self,
        clock: Callable[[], float],
        forgotten: Callable[[str], None],
        *,
        most_refused: int = MOST_REFUSED,
    ) -> None:
        """`forgotten` is told the uid of each record that is dropped."""
        super().__init__(Record, forgotten, budget=memory.REFUSALS, most=most_refused)
        self._clock = clock
        self._nominated: dict[str, Record] = {}
        self._claimed: OrderedDict[str, Record] = OrderedDict()
        self._withdrawn: OrderedDict[tuple[str, str], Withdrawal] = OrderedDict()
        """By uid and node; the latest last, as with claims."""

    @property
    def nominated(self) -> dict[str, Record]:
        """Return the pods that have a nomination of ours, by uid."""
        return self._nominated

    # Refusals

    def refuse(self, pod: Pod) -> Record:
        """Remember a refusal; those that nobody heard of for longest go when there are too many."""
        record = self._of(pod.uid)
        record.refusal = record.refusal or Refusal(pod, self._clock())
        record.refusal.hear(pod, self._clock())
        self.keep_refusal(record)
        return record

    def has_news(self, record: Record) -> bool:
        """Return whether the latest request is news, and from now on it is not."""
        refusal = record.refusal
        if refusal is None or refusal.settled_at > self._clock():
            return False
        return refusal.take_up()

    # Nominations

    def nominate(self, record: Record, nomination: Nomination) -> None:
        """Note that a pod has a nomination of ours, or may have it any moment."""
        record.nomination = nomination
        self._nominated[record.uid] = record

    def end(self, record: Record) -> None:
        """Note that a pod's nomination is there no more, or is not ours."""
        record.nomination = None
        self._nominated.pop(record.uid, None)
        self._do_deferred(record)

    # Claims

    def claim(self, pod: Pod, nodes: Collection[str]) -> Record:
        """Note that the scheduler is about to nominate one of these nodes for a pod."""
        now, record = self._clock(), self._of(pod.uid)
        record.claim = Claim(frozenset(nodes), pod.priority, now + CLAIM_SECONDS)
        self._claimed[pod.uid] = record
        self._claimed.move_to_end(pod.uid)
        claimed = self._claimed
        while len(claimed) > MOST_CLAIMS or _is_free(next(iter(claimed.values())), now):
            _, old = claimed.popitem(last=False)
            old.claim = None
            self._do_deferred(old)
        return record

    def outranks(self, pod: Pod, node: str) -> bool:
        """Return whether a more important pod is about to be nominated for a node.

        The scheduler then clears the nominations of less important ones there.
        """
        now = self._clock()
        claims = [each.claim for each in self._claimed.values() if each.claim is not None]
        return any(
            claim.until > now and node in claim.nodes and claim.priority > pod.priority
            for claim in claims
        )

    # Withdrawals

    @contextmanager
    def withdrawing(self, record: Record, node: str) -> Iterator[Withdrawal]:
        """Note a withdrawal while it is in flight; unless told what became of it, that is unclear.

        Whoever is cancelled in between does not know either. And whatever becomes of this one, an
        earlier one that ended unclearly may still be carried out.
        """
        now, before = self._clock(), record.withdrawals.get(node)
        haunted = (
            before is not None and before.fate is Fate.INDETERMINATE and not before.is_over(now)
        )
        withdrawal = record.withdrawals[node] = Withdrawal(node, now)
        self._withdrawn[record.uid, node] = withdrawal
        self._withdrawn.move_to_end((record.uid, node))
        self._forget_withdrawals(now)
        try:
            yield withdrawal
        finally:
            if haunted or withdrawal.fate is Fate.IN_FLIGHT:
                withdrawal.fate = Fate.INDETERMINATE
            withdrawal.at = self._clock()
            withdrawal.ended.set()

    def _forget_withdrawals(self, now: float) -> None:
        """Forget those that are over or too many, oldest first."""
        withdrawn = self._withdrawn
        while len(withdrawn) > MOST_WITHDRAWALS or next(iter(withdrawn.values())).is_over(now):
            (uid, node), _ = withdrawn.popitem(last=False)
            record = self._records[uid]
            del record.withdrawals[node]
            self._do_deferred(record)


def _is_free(record: Record, now: float) -> bool:
    return record.claim is None or record.claim.until <= now
