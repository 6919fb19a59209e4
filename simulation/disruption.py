"""kube-controller-manager's disruption controller, as far as it looks after marks of victims."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from simulation.apiserver.store import Change, Json, Store, is_live
from simulation.apiserver.verbs import DISRUPTION_TARGET, mark, mark_of
from simulation.caller import Caller
from simulation.loop import spawn

STALE_SECONDS: Final = 120.0
"""Its stalePodDisruptionTimeout."""


class DisruptionController:
    """Takes back the condition DisruptionTarget of pods that nobody deletes after all."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._store: Store = caller.server.store
        self._store.observers.append(self._look)

    def _look(self, change: Change) -> None:
        new, old = change.new, change.old
        if change.resource != "pods" or new is None or mark_of(new) is None:
            return
        if old is None or mark_of(old) != mark_of(new):
            loop = asyncio.get_running_loop()
            loop.call_later(STALE_SECONDS, self._take_back, change.key, new["metadata"]["uid"])

    def _take_back(self, key: str, uid: str) -> None:
        pod = self._store.all("pods").get(key)
        if pod is not None and pod["metadata"]["uid"] == uid and _is_stale(pod):
            condition = {"type": DISRUPTION_TARGET, "status": "False", "message": ""}
            act = partial(mark, self._store, key, [condition], "controllers", uid=uid)
            spawn(self._caller.try_to(act), "controllers")


def _is_stale(pod: Json) -> bool:
    leaves = "deletionTimestamp" in pod["metadata"] or not is_live(pod)
    return not leaves and mark_of(pod) is not None
