"""Hints that are neither taken nor withdrawn, and what becomes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from extender.cluster.whereabouts import Whereabouts
from extender.metrics import Metrics
from extender.model.objects import Pod
from extender.verbs.hinting import Promise
from extender.web.allowance import Allowance
from extender.web.nominations import Nominations

SEEN_SECONDS = 0.25
"""How long the watch may take to show a nomination before it counts as wiped out."""
MOST_RENEWALS = 3
"""Of one hint: who wipes it out more often does not want it."""


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
    """Sets hints, renews them and withdraws them; each is counted by how it ends."""

    def __init__(
        self,
        whereabouts: Whereabouts,
        nominations: Nominations,
        metrics: Metrics,
        allowance: Allowance,
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
            del self._hints[pod.uid]
            return False
        return True

    def drop(self, uid: str) -> None:
        """Forget a hint that somebody else has overwritten."""
        self._hints.pop(uid, None)

    async def end(self, hint: Hint, result: str) -> None:
        """Withdraw a hint; the scheduler may have wiped it out already."""
        pod, node = hint.promise.pod, hint.promise.node
        done = await self._nominations.change(pod, node, None, success=result, overtaken=result)
        if done is None:
            # Perhaps it was done, perhaps not: look again later.
            hint.deadline = self._clock() + self._patience
        else:
            del self._hints[pod.uid]

    async def ended(self) -> AsyncIterator[tuple[Promise, str]]:
        """Look at every hint; yield those that came to an end, or are about to, and how."""
        for hint in list(self._hints.values()):
            pod, node = hint.promise.pod, hint.promise.node
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
            if self._whereabouts.place(hint.promise.pod) is None:
                await self.end(hint, "withdrawn")

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
        if hint.renewals < MOST_RENEWALS and self._allowance.take():
            hint.since = self._clock()
            hint.renewals += 1
            await self._nominations.change(pod, None, node, success="renewed")
