"""The records of all pods that are, or may be, helped in one way, and how many are remembered.

A nomination and a preemption write the same field, status.nominatedNodeName. When both name the
same node, the scheduler patches nothing, because the field already says what it wants to say: from
kube-scheduler's updatePod, which compares with its own copy of the pod. Nothing in the object then
tells the two apart, and whoever removed the field would make the scheduler look for other victims.
But it asks /preempt first: before it evicts anybody and before it nominates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Final, Generic

from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import Pod
from extender.core.timing import Pause
from extender.core.verbs.plugins import Refused
from extender.features.refused_pods.record import Begun, Claim, Patched, Record, Withdrawal
from extender.features.refused_pods.refusals import Refusal

MOST_CLAIMS = 1024
"""A claim that was forgotten early is still covered by the victims that are on their way out, and
by the test in every patch."""
MOST_WITHDRAWALS = 4096
"""More than there are in REMEMBERED_SECONDS at 20 a second; the oldest is forgotten first."""
MOST_UNSHOWN = 128
"""Refused pods that the watch does not show. It is behind by a few, if at all; but simulations of a
scheduler ask about thousands that never exist, and these push out no pod that does."""
UNSHOWN_SHARE = 8
"""They get this part of the budget."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is remembered of refused pods, and for how long."""

    budget: int
    """In bytes."""
    most_refused: int
    """Refused pods, within the budget."""
    first_pause: float
    """Seconds for which a pod is left alone after what was of no use; it doubles each time."""
    claim_seconds: float
    """From the answer to /preempt until a pod may be helped again."""


class Records(Generic[Begun]):
    """One record a pod, by uid, for as long as any part of it is of use."""

    def __init__(
        self,
        clock: Callable[[], float],
        forgotten: Callable[[str], None],
        bounds: Bounds,
        known: Callable[[Pod], bool],
    ) -> None:
        """`forgotten` is told the uid of each record that is dropped.

        `known` says whether the watch shows a pod.
        """
        self._clock = clock
        self._forgotten = forgotten
        self._bounds = bounds
        self._known = known
        self._records: dict[str, Record[Begun]] = {}
        unshown = bounds.budget // UNSHOWN_SHARE
        self._refused: LruCache[str, Record[Begun]] = LruCache(
            bounds.budget - unshown, most=bounds.most_refused, dropped=self._drop_refusal
        )
        self._unshown: LruCache[str, Record[Begun]] = LruCache(
            unshown, most=MOST_UNSHOWN, share=1, dropped=self._make_room
        )
        """Those that the watch did not show when they were refused last."""
        self._begun: dict[str, Begun] = {}
        self.begun: Final[Mapping[str, Begun]] = self._begun
        """What was begun and is not over, by the uid of the pod."""
        self._claimed: OrderedDict[str, Record[Begun]] = OrderedDict()
        self._withdrawn: OrderedDict[tuple[str, str], Withdrawal] = OrderedDict()
        """By uid and node; the latest last, as with claims."""

    def __len__(self) -> int:
        return len(self._records)

    def get(self, uid: str) -> Record[Begun] | None:
        return self._records.get(uid)

    def _of(self, uid: str) -> Record[Begun]:
        return self._records.setdefault(uid, Record(uid))

    def _drop_if_blank(self, record: Record[Begun]) -> None:
        if record.is_blank and self._records.get(record.uid) is record:
            del self._records[record.uid]
            self._forgotten(record.uid)

    # Refusals

    @property
    def refused(self) -> Iterator[Record[Begun]]:
        """Return the pods that were refused, the one that was heard of longest ago first.

        Those that the watch does not show come before all others.
        """
        return (self._records[uid] for uid in chain(self._unshown, self._refused))

    def refuse(self, pod: Pod, refused: Refused | None = None) -> Record[Begun]:
        """Remember a refusal; when there are too many, those heard of longest ago go."""
        now, record = self._clock(), self._of(pod.uid)
        if record.refusal is None:
            record.refusal = Refusal(pod, now, Pause(self._bounds.first_pause))
        record.refusal.hear(pod, refused, now)
        self.keep_refusal(record, record.refusal)
        return record

    def keep_refusal(self, record: Record[Begun], refusal: Refusal) -> None:
        """Measure a refusal that is new or has changed; the oldest go when there are too many."""
        kept, other = self._unshown, self._refused
        if self._known(refusal.pod):
            kept, other = other, kept
        other.pop(record.uid)
        if not kept.put(record.uid, record, refusal.size):
            self._drop_refusal(record)

    def admit(self, record: Record[Begun]) -> None:
        self._refused.pop(record.uid)
        self._unshown.pop(record.uid)
        self._drop_refusal(record)

    def _make_room(self, record: Record[Begun]) -> None:
        """Drop a pod that was not shown, unless it is by now."""
        if record.refusal is not None and self._known(record.refusal.pod):
            self.keep_refusal(record, record.refusal)
        else:
            self._drop_refusal(record)

    def _drop_refusal(self, record: Record[Begun]) -> None:
        record.refusal = None
        self._drop_if_blank(record)

    # What was begun

    def begin(self, record: Record[Begun], begun: Begun) -> None:
        record.begun = self._begun[record.uid] = begun

    def end(self, record: Record[Begun]) -> None:
        """Note that what was begun for a pod is over, or is not ours any more."""
        record.begun = None
        self._begun.pop(record.uid, None)
        self._drop_if_blank(record)

    # Claims

    def claim(self, pod: Pod, nodes: Collection[str] = ()) -> Record[Begun]:
        """Note that the scheduler is about to nominate one of these nodes for a pod."""
        now, record = self._clock(), self._of(pod.uid)
        until = now + self._bounds.claim_seconds
        record.claim = Claim(frozenset(nodes), pod.spec.priority, until)
        self._claimed[pod.uid] = record
        self._claimed.move_to_end(pod.uid)
        self.forget_claims(now)
        return record

    def forget_claims(self, now: float) -> None:
        """Forget those that are over or too many, oldest first."""
        while self._claimed:
            claim = next(iter(self._claimed.values())).claim
            if len(self._claimed) <= MOST_CLAIMS and claim is not None and claim.until > now:
                return
            _, old = self._claimed.popitem(last=False)
            old.claim = None
            self._drop_if_blank(old)

    def outranks(self, pod: Pod, node: str) -> bool:
        """Return whether a more important pod is about to be nominated for a node.

        The scheduler then clears the nominations of less important ones there.
        """
        now = self._clock()
        claims = [each.claim for each in self._claimed.values() if each.claim is not None]
        return any(
            claim.until > now and node in claim.nodes and claim.priority > pod.spec.priority
            for claim in claims
        )

    # Withdrawals

    @contextmanager
    def withdrawing(self, record: Record[Begun], node: str) -> Iterator[Withdrawal]:
        """Note a withdrawal while it is in flight; unless told what became of it, that is unclear.

        A caller that is cancelled in between does not know either. And whatever becomes of this
        one, an earlier one that ended unclearly may still be carried out.
        """
        now, before = self._clock(), record.withdrawals.get(node)
        haunted = (
            before is not None and before.fate is Patched.INDETERMINATE and not before.is_over(now)
        )
        withdrawal = record.withdrawals[node] = Withdrawal(node, now)
        self._withdrawn[record.uid, node] = withdrawal
        self._withdrawn.move_to_end((record.uid, node))
        self._forget_withdrawals(now)
        try:
            yield withdrawal
        finally:
            if haunted or withdrawal.fate is None:
                withdrawal.fate = Patched.INDETERMINATE
            withdrawal.at = self._clock()
            withdrawal.ended.set()

    def _forget_withdrawals(self, now: float) -> None:
        """Forget those that are over or too many, oldest first."""
        withdrawn = self._withdrawn
        while len(withdrawn) > MOST_WITHDRAWALS or next(iter(withdrawn.values())).is_over(now):
            (uid, node), _ = withdrawn.popitem(last=False)
            record = self._records[uid]
            del record.withdrawals[node]
            self._drop_if_blank(record)
