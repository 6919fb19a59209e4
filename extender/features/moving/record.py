"""Which pods break rules that hold during execution, since when: a record each, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from extender.core.model.keys import Identity, namespace_of
from extender.core.model.signed import shift
from extender.core.timing import Pause
from extender.features.moving.moves import FIRST_PAUSE_SECONDS
from extender.features.moving.rules.breaches import Breach, in_force, suspects, uncounted
from extender.features.moving.rules.evicting import Assessment, EvictionCause, Outcome, fate
from extender.features.moving.rules.execution import Execution
from extender.features.moving.rules.rule_watch import RuleWatch

MOST_AT_ONCE: Final = 100
"""Pods that are judged between two turns for other work: some milliseconds. One that breaks a rule
is a turn by itself, for there may be many pods in its way."""


@dataclass(slots=True, eq=False)
class Record:
    identity: Identity
    since: float
    """When that began, as far as this replica knows; on the controller's clock."""
    since_epoch: float
    """The same in seconds since 1970."""
    breaches: Sequence[Breach]
    goes: bool = False
    """Whether it would be evicted, when judged last: the circuit breaker counts those."""
    outcome: Outcome = Outcome.GRACE
    cause: EvictionCause | None = None
    """Why it goes or stays, when that was looked at last."""
    said: Outcome | None = None
    """Of which outcome an Event has told."""
    why: str = ""
    """What the API server said, if it was asked; or what spares the pod."""
    evicted_at: float | None = None
    pause: Pause = field(default_factory=lambda: Pause(FIRST_PAUSE_SECONDS))

    def take_over(self, found: Assessment) -> None:
        self.outcome, self.cause, self.why = found.outcome, found.cause, found.why


class BrokenRules:
    """One record for each pod that breaks such a rule."""

    def __init__(
        self,
        watch: RuleWatch,
        execution: Execution,
        clock: Callable[[], float],
        epoch: Callable[[], float],
    ) -> None:
        self._watch, self._state = watch, watch.state
        self._execution = execution
        self._clock = clock
        self._epoch = epoch
        self._records: dict[str, Record] = {}
        self.records: Final = MappingProxyType(self._records)
        """What is known of each pod, by uid."""
        self._going: dict[str, int] = {}
        self.going: Final = MappingProxyType(self._going)
        """How many of the pods would be evicted, by namespace."""

    def __len__(self) -> int:
        return len(self._records)

    def news(self) -> Iterator[str | None]:
        """Judge the pods that events have named; yield the uid of each that breaks rules (still).

        None is yielded where other work should have a turn. O(pods that are concerned).
        """
        self._watch.changes.look()
        while self._watch.pending:
            for identity in suspects(self._watch, MOST_AT_ONCE):
                pod = self._state.pod(*identity)
                # Counted for the first time, the pods that a rule speaks of take a while.
                for _ in uncounted(self._watch, pod) if pod is not None else ():
                    yield None
                if self.judge(identity) is not None:
                    yield identity.uid
                    yield None
            yield None

    def judge(self, identity: Identity) -> Record | None:
        """Judge a pod now; return what is remembered of it, None when it breaks no rule."""
        pod = self._state.pod(*identity)
        found = [] if pod is None else in_force(self._watch, self._execution, pod)
        if pod is None or not found:
            record = self._records.pop(identity.uid, None)
            if record is not None:
                self._count(record, goes=False)
            return None
        record = self._records.get(identity.uid)
        if record is None:
            now, epoch = self._clock(), self._epoch()
            record = self._records[identity.uid] = Record(identity, now, epoch, found)
        record.breaches = found
        decided = fate(self._watch, self._execution, pod, found)
        self._count(record, goes=decided.outcome is Outcome.GOES)
        return record

    def _count(self, record: Record, *, goes: bool) -> None:
        shift(self._going, namespace_of(record.identity.key), goes - record.goes)
        record.goes = goes

    def begin_again(self, resumed: Callable[[str], bool]) -> Iterator[str]:
        """Have grace periods in some namespaces begin anew; yield the uids of their pods."""
        now = self._clock()
        for uid, record in self._records.items():
            if resumed(namespace_of(record.identity.key)):
                record.since = now
                yield uid
