"""Hints: how they are set, renewed and withdrawn, left to the scheduler, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Hashable
from contextlib import suppress

from extender.core.controllers.context import ControllerContext
from extender.core.model.objects import Pod
from extender.core.timing import TokenBucket
from extender.core.verbs.nominating import ExpectedPlacement, Observed, loses_victims, observe
from extender.features.refused_pods.patches import Patches
from extender.features.refused_pods.record import Nomination, Patched, Record, Withdrawal
from extender.features.refused_pods.records import Records

SEEN_SECONDS = 0.25
"""How long the watch may take to show a nomination before it counts as wiped out."""
SHOWN_SECONDS = 2.0
"""How long a nomination counts that the watch does not show."""
MOST_RENEWALS = 3
"""Of one nomination: who wipes it out more often does not want it."""
FIRST_OPEN = 10
"""Hints that may be open at first, and at least."""
_TRIED = frozenset(("taken", "elsewhere", "refused"))
"""Results that say that the scheduler has come to the pod."""
RELEASE_SECONDS = 2.0
"""How long /preempt may wait for the end of a withdrawal; the scheduler waits for 5 s."""


class Window:
    """How many hints may be open: as many as the scheduler comes to while they last.

    It comes to a pod that it refused after all that had come before. Behind a backlog that takes
    longer than a hint's time, which then was of no use.
    """

    def __init__(self, most: int) -> None:
        self._least, self._most = min(FIRST_OPEN, most), most
        self.size = self._least

    def note(self, result: str) -> None:
        """Note how a hint ended: one more may be open, or half as many."""
        if result in _TRIED:
            self.size = min(self.size + 1, self._most)
        elif result == "withdrawn":
            self.size = max(self.size // 2, self._least)


class Nominations:
    """Sets nominations, renews them and withdraws them; each is counted by how it ends.

    Once the scheduler preempts for a pod, its nomination is no longer ours: it is forgotten and
    nothing is patched, by whatever way it would have ended (`release_nomination`, `loses_victims`).
    """

    def __init__(
        self,
        context: ControllerContext,
        patches: Patches,
        records: Records[Nomination],
        bucket: TokenBucket,
        *,
        patience: float,
        most: int,
    ) -> None:
        """`patience` is in seconds: a nomination that was not taken by then is withdrawn.

        At most `most` are open at a time.
        """
        self._state = context.state
        self._clock = context.clocks.clock
        self._patches = patches
        self._records = records
        self._bucket = bucket
        self._patience = patience
        self._window = Window(most)

    @property
    def has_room(self) -> bool:
        return len(self._records.begun) < self._window.size

    def placements(self) -> list[ExpectedPlacement]:
        """Return the nodes that pods are nominated for and may be bound to any moment."""
        return [
            ExpectedPlacement(each.pod, each.node)
            for uid, each in self._records.begun.items()
            if self._state.pod(each.pod.key, uid) is not None
        ]

    async def set(self, record: Record[Nomination], pod: Pod, node: str, outlook: Hashable) -> bool:
        """Nominate a node for a pod, chosen with some outlook; False when that was not done."""
        now = self._clock()
        # Before the request: the scheduler may come with its question before the answer is here.
        nomination = Nomination(pod, node, now, now + self._patience, outlook)
        self._records.begin(record, nomination)
        self._state.expect_nomination(pod, node, now + SHOWN_SECONDS)
        patched = await self._patches.change(pod, None, node, success="set")
        done = patched in {Patched.DONE, Patched.INDETERMINATE}
        # Unless a preemption has taken it meanwhile.
        if not done and record.begun is nomination:
            self._records.end(record)
            self._state.give_up_nomination(pod.uid)
        return done

    async def look_after(self, record: Record[Nomination], nomination: Nomination) -> None:
        """See what became of a nomination; renew it or withdraw it if need be."""
        seen = observe(self._state, nomination.pod)
        if seen.node is not None and not seen.certain:
            # Should the bind come to nothing, nobody but us would withdraw it.
            return
        if seen.node is not None or not seen.known:
            bound = "taken" if seen.node == nomination.node else "elsewhere"
            self._end(record, nomination, "gone" if seen.node is None else bound)
            self._records.admit(record)
            return
        now, refusal = self._clock(), record.refusal
        news = refusal is not None and refusal.has_news(now)
        settled = refusal is not None and refusal.settled_at <= now
        # A watch or a scheduler that lags still shows what we have withdrawn.
        ours = {nomination.node, *record.withdrawals}
        if refusal is not None and settled and refusal.is_elses(seen, ours, news=news):
            self.skip(news=news)
            self._records.end(record)
        elif nomination.deadline <= now:
            await self.withdraw(record, nomination, nomination.ending or "withdrawn")
        elif nomination.ending is None and nomination.refused:
            if settled:
                await self.withdraw(record, nomination, "refused")
        elif nomination.ending is None and self._is_cleared(nomination, seen):
            await self._renew(record, nomination)

    def _is_cleared(self, nomination: Nomination, seen: Observed) -> bool:
        """Return whether a nomination was wiped out.

        The scheduler does so when it ends an attempt, also one that began before it saw the
        nomination.
        """
        return seen.nominated is None and nomination.since + SEEN_SECONDS <= self._clock()

    async def _renew(self, record: Record[Nomination], nomination: Nomination) -> None:
        pod, node = nomination.pod, nomination.node
        if loses_victims(self._state, pod, node):
            self._concede(record, nomination)
        elif self._records.outranks(pod, node):
            # The scheduler clears it, unless it has decided before it saw it: then its end is ours.
            return
        elif nomination.renewals < MOST_RENEWALS and self._bucket.take():
            nomination.since = self._clock()
            nomination.renewals += 1
            await self._patches.change(pod, None, node, success="renewed")

    async def withdraw(
        self, record: Record[Nomination], nomination: Nomination, result: str
    ) -> None:
        """Withdraw a nomination; the scheduler may have cleared it already, or made it its own."""
        pod, node = nomination.pod, nomination.node
        if loses_victims(self._state, pod, node):
            self._concede(record, nomination)
            return
        if nomination.ending is None:
            self._window.note(result)
        if record.refusal is not None and nomination.ending is None:
            record.refusal.fail(node, self._clock())
            # Who ends several attempts without a place for the pod has tried the node as well.
            if result == "refused" or nomination.renewals >= MOST_RENEWALS:
                record.refusal.hold(nomination.outlook, self._clock())
        nomination.ending = result
        with self._records.withdrawing(record, node) as withdrawal:
            withdrawal.fate = patched = await self._patches.change(
                pod, node, None, success=result, overtaken=result
            )
        if record.begun is not nomination:
            return
        if patched in {Patched.DONE, Patched.OVERTAKEN}:
            self._records.end(record)
        else:
            # It is still there, or may be: look again later.
            nomination.deadline = self._clock() + self._patience

    async def withdraw_all(self) -> None:
        """Withdraw the nominations of pods that have no node and are not left to the scheduler.

        All at once: an answer that does not come costs the others nothing.
        """
        records = filter(None, map(self._records.get, self._records.begun))
        await asyncio.gather(
            *(
                self.withdraw(each, each.begun, "withdrawn")
                for each in records
                if each.begun is not None and observe(self._state, each.begun.pod).node is None
            )
        )

    async def release_nomination(self, pod: Pod, nodes: Collection[str]) -> frozenset[str]:
        """Leave a pod's nomination to the scheduler, which preempts for it on one of these nodes.

        Nothing is set, renewed or withdrawn for the pod from now on. A withdrawal that is in
        flight already, or that the scheduler has not seen yet, is undone: its copy of the pod still
        has the node, so it would not nominate it once more. When that cannot be had in time, the
        node is returned: the scheduler must not be told to evict there. A withdrawal from any other
        node harms nobody: a nomination overwrites it, before or after.
        """
        record = self._records.claim(pod, nodes)
        if record.begun is not None:
            self._end(record, record.begun, "preempted")
        now = self._clock()
        unsettled = {
            node: withdrawal
            for node, withdrawal in record.withdrawals.items()
            if node in nodes
            and not withdrawal.is_over(now)
            and (withdrawal.fate is not Patched.DONE or pod.status.nominated == node)
        }
        unsure = set(unsettled)
        with suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS):
                for node, withdrawal in unsettled.items():
                    if await self._undo(pod, withdrawal):
                        unsure.remove(node)
        return frozenset(unsure)

    async def _undo(self, pod: Pod, withdrawal: Withdrawal) -> bool:
        """See to it that a nomination is not removed; False when it may be, or is."""
        await withdrawal.ended.wait()
        if withdrawal.fate is Patched.DONE:
            # When somebody else has set the field meanwhile, that stands.
            patched = await self._patches.change(pod, None, withdrawal.node)
            return patched in {Patched.DONE, Patched.OVERTAKEN}
        return withdrawal.fate in {Patched.OVERTAKEN, Patched.REFUSED}

    def _concede(self, record: Record[Nomination], nomination: Nomination) -> None:
        """Leave a nomination to the scheduler, which seems to rely on it.

        It may have asked another process, or us before we were restarted: pods that it evicts for
        this one are on their way out. That they may go for another reason costs a nomination that
        stays, until the scheduler's next attempt clears it.
        """
        self._records.claim(nomination.pod, {nomination.node})
        self._end(record, nomination, "preempted")

    def _end(self, record: Record[Nomination], nomination: Nomination, result: str) -> None:
        self._patches.count(result, nomination.pod, nomination.node)
        self._window.note(result)
        self._records.end(record)

    async def wake(self, pod: Pod, node: str) -> None:
        """Have the scheduler try the node that it has nominated itself."""
        self._patches.count("woken", pod, node)
        await self._patches.wake(pod)

    def skip(self, *, news: bool) -> None:
        """Count a pod for which nothing is done, once for each refusal."""
        self._patches.skip(by=int(news))
