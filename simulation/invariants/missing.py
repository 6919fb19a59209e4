"""Of no controller two pods are missing because of extenders, and its only ready one stays.

Judged by what is stored when an eviction is carried out, whichever extender has sent it. A pod that
an extender has evicted is missing until one that was made since is ready, or as many are ready as
there were, for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from simulation.apiserver.store import Change, Json, Store, is_live
from simulation.apiserver.verbs import is_about
from simulation.invariants.owners import owner_of

PROVEN_SECONDS: Final = 10.0
"""For how long a successor has to be ready."""
MOMENT: Final = 0.01
SLACK_SECONDS: Final = 6.0
"""Between what is decided and what is carried out, beside all that watches have not shown."""
REPLACED_SECONDS: Final = 60.0
HOUR: Final = 3600.0
MOST_FAILED: Final = 3


@dataclass(slots=True, eq=False)
class _Gone:
    """The pod of an owner that was evicted last."""

    key: str
    at: float
    ready: int
    """Pods of the owner that were ready, itself among them if it was."""
    known: frozenset[str]
    """Uids of the pods that there were."""
    whole_since: float | None = None
    made_good: bool = False


class Missing:
    """Follows the pods of each owner that has lost one to an extender."""

    def __init__(
        self, store: Store, clock: Callable[[], float], behind: Callable[[], float]
    ) -> None:
        """`behind` says for how long watches may have shown nothing, at most."""
        self._store = store
        self._clock = clock
        self._behind = behind
        self._gone: dict[str, _Gone] = {}
        self._alone_since: dict[str, float] = {}
        """Since when an owner has one ready pod, or none."""
        self._changed: dict[str, float] = {}
        """When the pods of an owner have changed last."""
        self._late: dict[str, float] = {}
        """When a pod of an owner was evicted that was not made good within a minute."""
        store.observers.append(self._take)

    def _take(self, change: Change) -> None:
        pod = change.new or change.old
        if change.resource == "pods" and pod is not None and (owner := owner_of(pod)):
            self._changed[owner] = self._clock()
            self._look_at(owner)

    def _look_at(self, owner: str) -> None:
        now, ready = self._clock(), list(map(_uid, self._ready(owner)))
        if len(ready) > 1:
            self._alone_since.pop(owner, None)
        else:
            self._alone_since.setdefault(owner, now)
        gone = self._gone.get(owner)
        if gone is None:
            return
        if {*ready} - gone.known or len(ready) >= gone.ready:
            if gone.whole_since is None:
                gone.whole_since = now
        else:
            gone.made_good |= self._is_made_good(gone)
            gone.whole_since = None

    def _is_made_good(self, gone: _Gone) -> bool:
        since = gone.whole_since
        waited = since is not None and self._clock() - since >= PROVEN_SECONDS - MOMENT
        return gone.made_good or waited

    def faults(self, pod: Json, old: Json) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with an eviction that is carried out now; `old` is as it was."""
        owner, now = owner_of(pod) or "", self._clock()
        gone = self._gone.get(owner)
        if gone is not None and not self._is_made_good(gone):
            yield "another is missing", f"while {gone.key} is, for {now - gone.at:.0f} s"
        alone = now - self._alone_since.get(owner, now)
        if is_ready(old) and alone > self._behind() + SLACK_SECONDS:
            budgets = self._store.all("poddisruptionbudgets").values()
            if not self._ready(owner) and not any(is_about(each, pod) for each in budgets):
                yield "the only replica", f"alone for {alone:.0f} s"

    def begin(self, pod: Json, old: Json) -> None:
        owner, metadata = owner_of(pod), pod["metadata"]
        if owner is None:
            return
        known = frozenset(
            _uid(each) for each in self._store.all("pods").values() if owner_of(each) == owner
        )
        key = f"{metadata['namespace']}/{metadata['name']}"
        ready = len(self._ready(owner)) + is_ready(old)
        self._gone[owner] = _Gone(key, self._clock(), ready, known)

    def forget(self, pod: Json) -> None:
        """Note that a pod was evicted after the extender had given up the request."""
        self._gone.pop(owner_of(pod) or "", None)

    def look(self) -> None:
        now = self._clock()
        for owner, gone in self._gone.items():
            if now - gone.at > REPLACED_SECONDS and not self._is_made_good(gone):
                self._late[owner] = gone.at

    def changed(self, owner: str) -> float:
        """Return when a pod of an owner has come, gone or become ready last."""
        return self._changed.get(owner, 0.0)

    def hold_up(self, owner: str) -> bool:
        """Return whether a pod of an owner may be left alone because of what was not made good."""
        now = self._clock()
        gone = self._gone.get(owner)
        late = [at for at in self._late.values() if at > now - HOUR]
        return (
            owner in self._late
            or len(late) >= MOST_FAILED
            or (gone is not None and not self._is_made_good(gone))
            or owner in self._alone_since
        )

    def _ready(self, owner: str) -> list[Json]:
        return [
            each
            for each in self._store.all("pods").values()
            if owner_of(each) == owner
            and is_live(each)
            and is_ready(each)
            and "deletionTimestamp" not in each["metadata"]
        ]


def is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _uid(pod: Json) -> str:
    return str(pod["metadata"]["uid"])
