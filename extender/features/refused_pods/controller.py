"""What all have in common who help pods that were refused on every node."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Generic, NoReturn

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.reconciling import Reconciler
from extender.core.model.objects import Pod
from extender.core.ports import Hook
from extender.features.refused_pods.record import Begun, Record
from extender.features.refused_pods.records import MOST_UNSHOWN, Bounds, Records
from extender.features.refused_pods.refusals import Refusal


class RefusedPodController(Reconciler, Hook, Generic[Begun]):
    """Helps refused pods in one way, in tasks of its own: no answer ever waits for it."""

    workers: ClassVar[int] = 1
    """Pods that are looked after at a time."""

    def __init__(self, context: ControllerContext, bounds: Bounds, most_kept: int) -> None:
        """`most_kept` is in records, beside those of pods that the watch does not show."""
        super().__init__(context, most_kept + MOST_UNSHOWN)
        self._records: Records[Begun] = Records(
            self._clock, self._queue.discard, bounds, self._is_shown
        )

    async def run(self) -> NoReturn:
        async with asyncio.TaskGroup() as workers:
            for _ in range(self.workers - 1):
                workers.create_task(self._work())
            await self._work()

    def _is_shown(self, pod: Pod) -> bool:
        return self._state.pod(pod.key, pod.uid) is not None

    def admitted(self, pod: Pod) -> None:
        if (record := self._records.get(pod.uid)) is not None:
            self._records.admit(record)

    def _waiting(self) -> Iterator[str]:
        now = self._clock()
        self._records.forget_claims(now)
        return (each.uid for each in self._records.refused if each.may_be_helped(now))

    def _has_begun(self, uid: str) -> bool:
        return uid in self._records.begun

    async def reconcile(self, uid: str) -> float | None:
        if (record := self._records.get(uid)) is None:
            return None
        now = self._clock()
        if record.begun is not None:
            after = await self._look_after(record, record.begun)
        elif record.refusal is not None:
            after = await self._help(record, record.refusal)
        else:
            return None
        return record.rest(now, self._clock()) if after is None else after

    @abstractmethod
    async def _help(self, record: Record[Begun], refusal: Refusal) -> float | None:
        """Begin something for a refused pod, if there is anything that helps it."""

    @abstractmethod
    async def _look_after(self, record: Record[Begun], begun: Begun) -> float | None:
        """See what became of what was begun for a pod."""
