"""Which pods break rules that hold during execution, since when; kept up to date from events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from extender.cluster.audits.breaches import in_force, suspects, uncounted
from extender.cluster.state import ClusterState
from extender.controllers.eviction.record import Record
from extender.model.execution import Execution
from extender.model.keys import Identity

MOST_AT_ONCE: Final = 100
"""Pods that are judged between two turns for everybody else: some milliseconds."""


class BrokenRules:
    """One record for each pod that breaks such a rule."""

    def __init__(
        self,
        state: ClusterState,
        execution: Execution,
        clock: Callable[[], float],
        epoch: Callable[[], float],
    ) -> None:
        self._state = state
        self._execution = execution
        self._clock = clock
        self._epoch = epoch
        self._records: dict[str, Record] = {}

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> Mapping[str, Record]:
        """Return what is known of each pod, by uid."""
        return MappingProxyType(self._records)

    def news(self) -> Iterator[str | None]:
        """Judge the pods that events have named; yield the uid of each that breaks rules (still).

        None is yielded where everybody else should have a turn. O(pods that are concerned).
        """
        while self._state.rule_watch.pending:
            for identity in suspects(self._state, MOST_AT_ONCE):
                pod = self._state.pod(*identity)
                # Counted for the first time, the pods that a rule speaks of take a while.
                for _ in uncounted(self._state, pod) if pod is not None else ():
                    yield None
                if self.judge(identity) is not None:
                    yield identity.uid
            yield None

    def judge(self, identity: Identity) -> Record | None:
        """Judge a pod now; return what is remembered of it, None when it breaks no rule."""
        pod = self._state.pod(*identity)
        found = [] if pod is None else in_force(self._state, self._execution, pod)
        if not found:
            self._records.pop(identity.uid, None)
            return None
        record = self._records.get(identity.uid)
        if record is None:
            now, epoch = self._clock(), self._epoch()
            record = self._records[identity.uid] = Record(identity, now, epoch, found)
        record.breaches = found
        return record

    def begin_again(self) -> None:
        """Have all grace periods begin anew."""
        now = self._clock()
        for record in self._records.values():
            record.since = now
