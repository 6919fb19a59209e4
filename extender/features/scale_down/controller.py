"""Gives pods the deletion costs that they lack, and puts ranks in order that have gaps.

Gaps come when pods go by something else than a scale-down: with their node, by eviction. Nodes that
are relabelled bring pods of one rank into one domain. In `assist` every new pod lacks a cost. A
controller's pods are looked at a while after a change.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from typing import Final, NoReturn, Protocol

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.rates import RateLimiter, Turn
from extender.core.controllers.reconciling import LOOK_SECONDS, Reconciler
from extender.core.errors import ApiError, ExtenderError
from extender.core.metrics.series import CounterRow
from extender.core.model.keys import Identity
from extender.core.model.objects import Controller
from extender.core.ports import Check, Leadership
from extender.features.scale_down.ledger import Replicas
from extender.features.scale_down.rules import Correction, corrections

MOST_WAITING: Final = 1_000_000
"""Controllers that are looked at later; there are no more than pods."""
MOST_AT_ONCE: Final = 1_000
"""Controllers that have changed, taken between two turns for other work."""
MOST_A_SECOND: Final = 200
"""Controllers that are looked at again, on average."""
MOST_A_TURN: Final = 20
"""Pods of one controller, before others have their turn."""
REST_SECONDS: Final = 5.0
"""Until the watch has shown what was written, or what another writer has changed."""
FAILED_SECONDS: Final = 60.0
"""After which is tried again what the API server has refused."""
OF_ONE_POD: Final = frozenset((HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY))
"""What admission answers about one pod, while the other pods of its controller may pass."""


class CostWriter(Protocol):
    async def write(self, pod: Identity, before: int | None, cost: int) -> bool:
        """Give a pod a cost in place of one that we gave; False when it is as it was no more."""


@dataclass(frozen=True, slots=True)
class CostLimits:
    """How much may be written, and how soon."""

    settle_seconds: float
    per_minute: int
    """Patches in any minute, in all. One namespace gets half of them, so that its churn cannot
    starve the others. Of its predecessor's, a new leader knows nothing: it first settles."""


class CostController(Reconciler):
    """Looks after the pods of one controller at a time; of several replicas one does."""

    too_costly = "the costs of a controller's pods stay as they are"
    failed = "the costs of a controller's pods could not be put in order"

    def __init__(
        self,
        context: ControllerContext,
        replicas: Replicas,
        writer: CostWriter,
        leadership: Leadership,
        limits: CostLimits,
        *,
        patches: CounterRow,
        unready: Check,
    ) -> None:
        """While `unready` says why, or the state is stale, nothing is written."""
        super().__init__(context, MOST_WAITING)
        self._writer = writer
        self._leadership = leadership
        self._limits = limits
        self._unready = unready
        self._replicas, self._patches = replicas, patches
        self._window = RateLimiter(limits.per_minute, self._clock)
        self._windows: dict[str, RateLimiter] = {}
        """By namespace, of those with patches in the last minute."""
        self._led = False

    async def run(self) -> NoReturn:
        await self._work()

    def _resync(self) -> float:
        """Note whose pods have changed, and all of them when this replica takes the lead."""
        led, self._led = self._led, self._leadership.leads
        if not self._led:
            return LOOK_SECONDS
        if not led:
            self._replicas.note_all()
        for owner in islice(self._replicas.take_changed(), MOST_AT_ONCE):
            self._queue.add_after(f"{owner.namespace}/{owner.uid}", self._limits.settle_seconds)
        return LOOK_SECONDS

    async def reconcile(self, uid: str) -> float | None:
        """Put the costs of a controller's pods in order; return when to look at them again.

        Of very many controllers, each is looked at less often.
        """
        namespace, _, owner = uid.partition("/")
        after = await self._reconcile(Controller(namespace, owner))
        return None if after is None else max(after, len(self._queue) / MOST_A_SECOND)

    async def _reconcile(self, owner: Controller) -> float | None:
        if not self._leadership.leads:
            # Its controllers are the leader's, which this replica may be before it is noticed.
            self._led = False
            return None
        if self._unready() is not None or self._state.stale is not None:
            return REST_SECONDS
        if (rest := self._rest(owner.namespace)) > 0:
            return rest
        found = corrections(self._state, self._replicas.of(owner))
        return await self._correct(owner.namespace, found)

    async def _correct(self, namespace: str, wrong: Sequence[Correction]) -> float | None:
        # What was written the watch will show, and with it the rest is looked at again.
        again = [REST_SECONDS] if len(wrong) > MOST_A_TURN else []
        for each in wrong[:MOST_A_TURN]:
            if not self._leadership.leads:
                self._led = False
                return None
            if (rest := self._rest(namespace)) > 0:
                return rest
            try:
                if not await self._write(namespace, each):
                    # What came first may be a status, of which the ledger hears nothing.
                    again.append(REST_SECONDS)
            except ExtenderError as error:
                again.append(FAILED_SECONDS)
                if not isinstance(error, ApiError) or error.status not in OF_ONE_POD:
                    break
        return max(again, default=None)

    def _rest(self, namespace: str) -> float:
        """Return the seconds until there may be a patch in a namespace."""
        window = self._windows.get(namespace)
        return max(self._window.rest(), 0.0 if window is None else window.rest())

    async def _write(self, namespace: str, change: Correction) -> bool:
        """Give a pod its cost; False when something else was written first."""
        taken = self._take(namespace)
        try:
            written = await self._writer.write(*change)
        except ExtenderError as error:
            self._patches.count("failed")
            says = "the deletion cost of %s could not be written: %s"
            self._throttle.log(logging.WARNING, "write", says, change.pod.key, error)
            raise
        finally:
            for window, turn in taken:
                window.done(turn)
        self._patches.count("written" if written else "changed")
        return written

    def _take(self, namespace: str) -> list[tuple[RateLimiter, Turn]]:
        """Take a turn of all patches, and one of the namespace's."""
        if namespace not in self._windows:
            recent = {name: each for name, each in self._windows.items() if each.recent}
            self._windows = {
                **recent,
                namespace: RateLimiter(self._limits.per_minute // 2, self._clock),
            }
        return [(each, each.take()) for each in (self._window, self._windows[namespace])]
