"""kube-controller-manager's disruption controller, as far as it keeps count of budgets."""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random
from typing import Final

from simulation.apiserver.store import Change, Json, Store, is_live
from simulation.apiserver.verbs import is_about
from simulation.caller import Caller
from simulation.loop import spawn

SETTLE_SECONDS: Final = 0.5
"""Between an event and what becomes of budgets."""


class Budgets:
    """Says how many disruptions each budget allows: pods that are not ready count as disrupted."""

    def __init__(self, caller: Caller, chance: Random) -> None:
        self._caller = caller
        self._store: Store = caller.server.store
        self._chance = chance
        self._due = False
        self._store.observers.append(self._look)

    def _look(self, change: Change) -> None:
        if change.resource in {"pods", "poddisruptionbudgets"} and not self._due:
            self._due = True
            pause = SETTLE_SECONDS * self._chance.random()
            asyncio.get_running_loop().call_later(pause, self._start)

    def _start(self) -> None:
        self._due = False
        spawn(self._recount(), "controllers")

    async def _recount(self) -> None:
        for key, budget in [*self._store.all("poddisruptionbudgets").items()]:
            act = partial(self._store.update, "poddisruptionbudgets", key, self._counted, "budgets")
            if self._counted(budget) != budget:
                await self._caller.try_to(act)

    def _counted(self, budget: Json) -> Json:
        pods = [each for each in self._store.all("pods").values() if is_about(budget, each)]
        healthy = sum(map(_is_healthy, pods))
        wanted = sum(is_live(each) and "deletionTimestamp" not in each["metadata"] for each in pods)
        allowed = max(healthy - wanted + budget["spec"]["maxUnavailable"], 0)
        return {**budget, "status": {**budget["status"], "disruptionsAllowed": allowed}}


def _is_healthy(pod: Json) -> bool:
    going = "deletionTimestamp" in pod["metadata"]
    return not going and pod["status"].get("phase") == "Running"
