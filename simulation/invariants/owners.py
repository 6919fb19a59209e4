"""Of each controller's pods one is moved at a time: by what the API server has carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simulation.apiserver.store import Change, Json, Store, is_live

REPLACED_SECONDS: Final = 60.0
"""Within which a replacement has a node, or is not waited for any more."""


@dataclass(slots=True, eq=False)
class Going:
    """A pod that was evicted, until its owner may lose the next one."""

    key: str
    uid: str
    by: str
    late: bool
    placed: int
    """Pods of its owner that had a node, itself among them."""
    gone: float | None = None


class Owners:
    """The pod that was evicted last, of each owner."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._going: dict[str, Going] = {}
        store.observers.append(self._take)

    def _take(self, change: Change) -> None:
        pod = change.new or change.old
        if change.resource != "pods" or pod is None:
            return
        owner = owner_of(pod) or ""
        going = self._going.get(owner)
        if going is None:
            return
        if change.new is None and going.uid == pod["metadata"]["uid"]:
            going.gone = self._clock()
        if going.gone is not None and self._placed(owner) >= going.placed:
            del self._going[owner]

    def begin(self, pod: Json, by: str, *, late: bool) -> None:
        """Note that a pod was evicted; it is being deleted already."""
        owner = owner_of(pod)
        if owner is not None:
            metadata = pod["metadata"]
            key = f"{metadata['namespace']}/{metadata['name']}"
            self._going[owner] = Going(key, metadata["uid"], by, late, self._placed(owner) + 1)

    def busy(self, pod: Json, by: str) -> str | None:
        """Say whom a pod of the same owner would have to wait for that was evicted before."""
        owner = owner_of(pod) or ""
        going = self._going.get(owner)
        if going is None or going.late:
            return None
        if going.gone is None:
            return f"{going.key} is leaving"
        # Of its predecessor's evictions, a new leader sees those that are leaving.
        if going.by != by or self._clock() - going.gone >= REPLACED_SECONDS:
            return None
        # The one that goes now is not counted any more.
        if self._placed(owner) + 1 < going.placed:
            return f"{going.key} is not replaced"
        return None

    def _placed(self, owner: str) -> int:
        return sum(
            owner_of(each) == owner
            and is_live(each)
            and bool(each["spec"].get("nodeName"))
            and "deletionTimestamp" not in each["metadata"]
            for each in self._store.all("pods").values()
        )


def owner_of(pod: Json) -> str | None:
    for each in pod["metadata"].get("ownerReferences", ()):
        if each.get("controller"):
            return f"{pod['metadata']['namespace']}/{each['name']}"
    return None
