"""Hints that are neither taken nor withdrawn, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass

from extender.cluster.whereabouts import Whereabouts
from extender.controllers.nomination.claims import Claims
from extender.controllers.nomination.nominations import Nominations
from extender.controllers.nomination.withdrawals import Fate, Withdrawal, Withdrawals
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.timing import TokenBucket
from extender.verbs.nominating import Promise

SEEN_SECONDS = 0.25
"""How long the watch may take to show a nomination before it counts as wiped out."""
MOST_RENEWALS = 3
"""Of one hint: who wipes it out more often does not want it."""
GIVE_WAY_SECONDS = 2.0
"""How long /preempt may wait for the end of a withdrawal; the scheduler waits for 5 s."""


@dataclass(slots=True, eq=False)
class Hint:
    """A pod that is nominated for a node by us."""

    promise: Promise
    since: float
    """When the API server was told last."""
    deadline: float
    refused: bool = False
    """The scheduler came back with the pod: it has tried the node in vain."""
    renewals: int = 0


class Outstanding:
    """Sets hints, renews them and withdraws them; each is counted by how it ends.

    Once the scheduler preempts for a pod, its nomination is no longer ours: the hint is forgotten
    and nothing is patched, by whatever way it would have ended (`give_way`, `_is_preempted_for`).
    """

    def __init__(
        self,
        whereabouts: Whereabouts,
        nominations: Nominations,
        metrics: Metrics,
        allowance: TokenBucket,
        *,
        patience: float,
        clock: Callable[[], float],
    ) -> None:
        """`patience` is in seconds: a hint that was not taken by then is withdrawn."""
        self._whereabouts = whereabouts
        self._nominations = nominations
        self._metrics = metrics
        self._allowance = allowance
        self._patience = patience
        self._clock = clock
        self._hints: dict[str, Hint] = {}
        self._claims = Claims(clock)
        self._withdrawals = Withdrawals(clock)

    def __len__(self) -> int:
        return len(self._hints)

    def of(self, uid: str) -> Hint | None:
        """Return the hint for a pod."""
        return self._hints.get(uid)

    def promises(self) -> list[Promise]:
        """Return the nodes that pods were pointed to and may be bound to any moment."""
        promises = [hint.promise for hint in self._hints.values()]
        return [promise for promise in promises if self._whereabouts.is_known(promise.pod)]

    async def set(self, pod: Pod, node: str) -> bool:
        """Point a pod to a node; False when it certainly was not done."""
        now = self._clock()
        # Before the request: the scheduler may come with its question before the answer is here.
        self._hints[pod.uid] = Hint(Promise(pod, node), now, now + self._patience)
        if await self._nominations.change(pod, None, node, success="set") is False:
            # Unless a preemption has taken it meanwhile.
            self._hints.pop(pod.uid, None)
            return False
        return True

    def drop(self, uid: str) -> None:
        """Forget a hint that somebody else has overwritten."""
        self._hints.pop(uid, None)

    def claimed_until(self, uid: str) -> float | None:
        """Return until when a pod is not to be pointed anywhere, None when it may be now."""
        return self._claims.until(uid)

    async def give_way(self, pod: Pod, nodes: Collection[str]) -> str | None:
        """Leave a pod's nomination to the scheduler, which preempts for it on one of these nodes.

        Nothing is set, renewed or withdrawn for the pod from now on. A withdrawal that is in
        flight already, or that the scheduler has not seen yet, is undone: its copy of the pod still
        has the node, so it would not nominate it once more. When that cannot be had in time, the
        node is returned: the scheduler must not be told to evict there.
        """
        self._claims.add(pod, nodes)
        hint = self._hints.get(pod.uid)
        if hint is not None:
            self._forget(pod, "preempted")
        withdrawal = self._withdrawals.of(pod.uid)
        if withdrawal is None or withdrawal.node not in nodes:
            # A nomination for another node overwrites it, before or after.
            return None
        if withdrawal.fate is Fate.DONE and pod.nominated != withdrawal.node:
            return None
        try:
            async with asyncio.timeout(GIVE_WAY_SECONDS):
                return None if await self._undo(pod, withdrawal) else withdrawal.node
        except TimeoutError:
            return withdrawal.node

    async def _undo(self, pod: Pod, withdrawal: Withdrawal) -> bool:
        """See to it that a nomination is not removed; False when it may be, or is."""
        await withdrawal.ended.wait()
        match withdrawal.fate:
            case Fate.NOT_DONE:
                return True
            case Fate.DONE:
                return await self._nominations.restore(pod, withdrawal.node)
            case _:
                return False

    async def end(self, hint: Hint, result: str) -> None:
        """Withdraw a hint; the scheduler may have wiped it out already, or made it its own."""
        pod, node = hint.promise.pod, hint.promise.node
        if self._is_preempted_for(hint):
            self._concede(hint)
            return
        with self._withdrawals.begin(pod.uid, node) as withdrawal:
            done = await self._nominations.change(pod, node, None, success=result, overtaken=result)
            if done is not None:
                withdrawal.fate = Fate.DONE if done else Fate.NOT_DONE
        if self._hints.get(pod.uid) is not hint:
            return
        if done is None:
            # Perhaps it was done, perhaps not: look again later.
            hint.deadline = self._clock() + self._patience
        else:
            del self._hints[pod.uid]

    async def ended(self) -> AsyncIterator[tuple[Promise, str]]:
        """Look at every hint; yield those that came to an end, or are about to, and how."""
        for hint in list(self._hints.values()):
            pod, node = hint.promise.pod, hint.promise.node
            if self._hints.get(pod.uid) is not hint:
                # A preemption has taken it while another one was seen to.
                continue
            place = self._whereabouts.place(pod)
            if place is not None:
                yield hint.promise, self._forget(pod, "taken" if place == node else "elsewhere")
            elif not self._whereabouts.is_known(pod):
                yield hint.promise, self._forget(pod, "gone")
            elif hint.deadline <= self._clock():
                yield hint.promise, "withdrawn"
                await self.end(hint, "withdrawn")
            elif not hint.refused and self._is_lost(hint):
                await self._renew(hint)

    async def withdraw_all(self) -> None:
        """Withdraw every hint that is still of use to nobody."""
        for hint in list(self._hints.values()):
            pod = hint.promise.pod
            if self._hints.get(pod.uid) is hint and self._whereabouts.place(pod) is None:
                await self.end(hint, "withdrawn")

    def _is_preempted_for(self, hint: Hint) -> bool:
        """Tell whether the scheduler relies on a nomination that we made.

        It may have asked another process, or us before we were restarted: pods that it evicts for
        this one are on their way out. That they may go for another reason costs a nomination that
        stays, until the scheduler's next attempt clears it.
        """
        pod, node = hint.promise.pod, hint.promise.node
        return self._claims.outranks(pod, node) or self._whereabouts.loses_victims(pod, node)

    def _concede(self, hint: Hint) -> None:
        self._claims.add(hint.promise.pod, {hint.promise.node})
        self._forget(hint.promise.pod, "preempted")

    def _forget(self, pod: Pod, result: str) -> str:
        self._metrics.count_hint(result)
        del self._hints[pod.uid]
        return result

    def _is_lost(self, hint: Hint) -> bool:
        """Tell whether a hint was wiped out.

        The scheduler does so when it ends an attempt, also one that began before it saw the hint.
        """
        pod = hint.promise.pod
        return (
            hint.since + SEEN_SECONDS <= self._clock()
            and self._whereabouts.is_known(pod)
            and self._whereabouts.nominated(pod) is None
        )

    async def _renew(self, hint: Hint) -> None:
        pod, node = hint.promise.pod, hint.promise.node
        if self._is_preempted_for(hint):
            self._concede(hint)
        elif hint.renewals < MOST_RENEWALS and self._allowance.take():
            hint.since = self._clock()
            hint.renewals += 1
            await self._nominations.change(pod, None, node, success="renewed")
