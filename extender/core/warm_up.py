"""Counting for questions that take long, in slices between which other requests are answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from time import monotonic
from typing import Final, TypeVar

from extender.core.cluster.state import ClusterState
from extender.core.errors import ExtenderError
from extender.core.metrics import Metrics
from extender.core.model.node_selection import NodeRule
from extender.core.model.objects import Pod
from extender.core.wire.limits import OF_REQUESTS


@dataclass(frozen=True, slots=True)
class WarmUpLimits:
    """How long a question may take, and how much at a time."""

    slice: int = 2_000
    """Comparisons between two turns of the event loop: a few milliseconds."""
    slice_seconds: float = 0.002
    """The same, where it is not known beforehand how much a step compares."""
    budget: int = 1_000_000
    """Comparisons for one call, a second or so of processor time; then it gets an error. What was
    counted is kept, so the next attempt of the pod goes on where this one stopped."""
    patience: float = 3.0
    """Seconds that one call may take to prepare, its turns waited for; the scheduler gives up after
    5 s."""
    waiting: int = 32
    """Calls that are prepared at a time: each holds its body, a megabyte or two at worst."""
    beside: int = 4
    """Questions that are prepared at a time though no call waits for them."""
    tries: int = 3
    """Times that a question is prepared again because what it needs was given up meanwhile."""


AT_MOST: Final = WarmUpLimits()

T = TypeVar("T")


class OverBudgetError(ExtenderError):
    """A pod whose rules take too long to compare with the cluster."""


class WarmUp:
    """Prepares questions, one slice in each turn of the event loop, however many are waiting.

    Who has had the least so far is next. So a question that takes a few slices is through soon
    beside others that take thousands, and those share evenly. Of questions that come at once, each
    is answered in a turn of its own: 16 pods of 64 terms would hold the loop up 16 times as long.
    """

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics,
        *,
        budget: int = AT_MOST.budget,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._state = state
        self._metrics = metrics
        self._budget = budget
        self._clock = clock
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []
        self._number = 0
        self._waiting = 0
        self._is_taken = False
        """Whether a question is answered in this turn of the event loop already."""
        self._beside: set[asyncio.Task[None]] = set()
        """What prepares questions that no call waits for."""

    def prepares_at_once(self, pod: Pod) -> bool:
        """Count what a question needs, if that takes a moment; return whether it can be asked."""
        return not _asks_too_much_of_nodes(pod) and self._state.prepares_at_once(
            self._state.class_of(pod), AT_MOST.slice
        )

    def prepares_beside(self, pod: Pod) -> bool:
        """Return whether a question can be asked now; else have it prepared for the next time."""
        if self.prepares_at_once(pod):
            return True
        if len(self._beside) < AT_MOST.beside:
            task = asyncio.get_running_loop().create_task(self._prepare_beside(pod))
            self._beside.add(task)
            task.add_done_callback(self._beside.discard)
        return False

    async def _prepare_beside(self, pod: Pod) -> None:
        with suppress(OverBudgetError):
            await self.prepare(pod)

    async def prepare(self, pod: Pod, within: float = AT_MOST.patience) -> None:
        """Return when the question can be asked at once, or raise OverBudgetError.

        Most can from the beginning; `within` is in seconds, for those that cannot. Nothing is
        awaited between the last look at the state and the return: the caller may ask, and act on
        the answer, in one step.
        """
        if self._is_taken:
            await self._turn(0)
        self._is_taken = True
        asyncio.get_running_loop().call_soon(self._free)
        if self.prepares_at_once(pod):
            return
        self._check_size(pod)
        if self._waiting >= AT_MOST.waiting:
            self._refuse(pod, "too many pods with costly affinity rules at a time")
        self._waiting += 1
        try:
            await self._prepare(pod, min(within, AT_MOST.patience))
        finally:
            self._waiting -= 1

    async def in_turns(self, pod: Pod, steps: Iterable[T], seconds: float) -> AsyncIterator[T]:
        """Yield what the steps of a prepared question come to, a slice of them in each turn.

        What is left after `seconds` is left out, or where the question can no longer be prepared in
        time; the first slice never is.
        """
        spent, began = 0, self._clock()
        until = began + seconds
        for each in steps:
            yield each
            if self._clock() - began < AT_MOST.slice_seconds:
                continue
            spent += AT_MOST.slice
            await self._turn(spent)
            try:
                await self.prepare(pod, until - self._clock())
            except OverBudgetError:
                return
            began = self._clock()
            if began >= until:
                return

    def _check_size(self, pod: Pod) -> None:
        """Refuse a pod that is not judged at all."""
        if _asks_too_much_of_nodes(pod):
            self._refuse(
                pod, f"its node affinity has more than {OF_REQUESTS.conditions} conditions"
            )

    async def _prepare(self, pod: Pod, within: float) -> None:
        deadline = self._clock() + within
        spent = 0
        for _ in range(AT_MOST.tries):
            steps = self._state.preparing(self._state.class_of(pod), AT_MOST.slice)
            while True:
                await self._turn(spent)
                step = next(steps, None)
                if step is None:
                    break
                spent += step
                self._metrics.slices.count()
                if spent > self._budget or self._clock() > deadline:
                    self._refuse(
                        pod,
                        f"{spent} comparisons were not enough, the next attempt goes on from here",
                    )
            if self._state.is_prepared(self._state.class_of(pod), AT_MOST.slice):
                return
        self._refuse(pod, "results were dropped from memory again and again")

    def _refuse(self, pod: Pod, why: str) -> None:
        self._metrics.over_budget.count()
        raise OverBudgetError(
            f"the affinity rules of {pod.key} take long to compare with the pods of this cluster: "
            f"{why}"
        )

    async def _turn(self, spent: int) -> None:
        """Wait for a turn of the event loop; questions that have had less go first."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._number += 1
        heappush(self._queue, (spent, self._number, turn))
        if len(self._queue) == 1:
            loop.call_soon(self._next)
        await turn

    def _free(self) -> None:
        self._is_taken = False

    def _next(self) -> None:
        while self._queue:
            _, _, turn = heappop(self._queue)
            if not turn.done():
                turn.set_result(None)
                break
        if self._queue:
            asyncio.get_running_loop().call_soon(self._next)


def _asks_too_much_of_nodes(pod: Pod) -> bool:
    """Return whether a pod has more conditions on nodes than a request may have; O(terms).

    It is judged for all nodes in one step. A watch shows what there is, and pods that run may have
    to be moved.
    """
    return pod.node_selection is not None and any(map(_is_too_long, pod.node_selection.rules))


def _is_too_long(rule: NodeRule) -> bool:
    conditions = len(rule.common) + sum(len(term.conditions) for term, _ in rule.terms)
    return conditions > OF_REQUESTS.conditions
