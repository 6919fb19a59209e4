"""Whether there is another node for a pod, as far as somebody knows the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from simulation.apiserver.store import Change, Json, Store
from simulation.invariants.execution import Picture, Standing

MOST_PODS: Final = 110
SLACK_SECONDS: Final = 2.0


class Rooms:
    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._closed: dict[str, float] = {}
        """Since when no pods may come, by name."""
        self._cpu: dict[str, int] = {}
        store.observers.append(self._take)

    def _take(self, change: Change) -> None:
        if change.resource != "nodes" or change.new is None:
            return
        self._cpu[change.key] = 1000 * int(change.new["status"]["allocatable"]["cpu"])
        if is_open(change.new):
            self._closed.pop(change.key, None)
        else:
            self._closed.setdefault(change.key, self._clock())

    def somewhere(
        self, one: Standing, picture: Picture, behind: float, among: Collection[str] | None = None
    ) -> bool:
        """Return whether another node would take a pod, were the last `behind` seconds unknown."""
        since = self._clock() - behind - SLACK_SECONDS
        return any(
            name != one.node
            and self._closed.get(name, since) >= since
            and self._has_room(name, one, picture)
            and picture.takes(one, name)
            for name in (picture.nodes if among is None else among)
        )

    def _has_room(self, name: str, one: Standing, picture: Picture) -> bool:
        there = [each for each in picture.pods.values() if each.node == name]
        used = sum(milli(each.pod) for each in there if not each.expected)
        return used + milli(one.pod) <= self._cpu[name] and len(there) < MOST_PODS


def is_open(node: Json) -> bool:
    return not node["spec"].get("unschedulable") and not node["spec"].get("taints")


def milli(pod: Mapping[str, Any]) -> int:
    """Return how much a pod requests, in thousandths of a processor."""
    asked = [each.get("resources", {}).get("requests", {}) for each in pod["spec"]["containers"]]
    return sum(int(each.get("cpu", "0m").removesuffix("m")) for each in asked)
