"""What is said of pods that break rules: Events, log lines and metrics, each of them bounded."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from extender.controllers.eviction.record import Record
from extender.controllers.history import History, Kind
from extender.errors import ExtenderError
from extender.metrics import Metrics
from extender.model.keys import name_of
from extender.model.objects import Pod
from extender.ports import Occurrence, PodMover
from extender.timing import LogThrottle, TokenBucket
from extender.verbs.evicting import WORDS, Outcome, breach_in_words
from extender.wire.violations import time_of

REASON: Final = "RequiredDuringExecution"
"""The name under which evictions are counted, as of a plugin."""
EVENTS_PER_SECOND: Final = 1.0
EVENTS_AT_ONCE: Final = 25.0
"""Of pods that stay; whoever is evicted has an Event in any case. `/violations` has them all."""
LOG_SECONDS: Final = 60.0
LINES: Final = 20

_log = logging.getLogger(__name__)


class Teller:
    """Says what becomes of pods, each thing once."""

    def __init__(
        self, mover: PodMover, metrics: Metrics, clock: Callable[[], float], history: History
    ) -> None:
        self._mover = mover
        self._metrics = metrics
        self._history = history
        self._spare = TokenBucket(EVENTS_PER_SECOND, clock, EVENTS_AT_ONCE)
        self._lines = LogThrottle(_log, seconds=LOG_SECONDS, burst=LINES, clock=clock)
        self._faults = LogThrottle(_log, seconds=LOG_SECONDS, clock=clock)
        metrics.begin_moves(REASON, [each.value for each in Outcome])

    async def went(self, pod: Pod, record: Record, why_now: str, *, dry_run: bool) -> None:
        """Tell that a pod was evicted, or would have been."""
        reason, verb = ("WouldEvict", "would be evicted (dry run)") if dry_run else ("Evicted", "")
        note = f"{_what(pod, record)}; {verb or 'evicted'} now: {why_now}"
        self._lines.log(logging.INFO, reason, "%s: %s", pod.key, note)
        record.said = record.outcome
        await self._report(pod, Occurrence(f"{reason}ByAffinityRule", "Evicting", note))

    async def stays(self, pod: Pod, record: Record) -> None:
        """Tell once why a pod stays."""
        if record.said is record.outcome:
            return
        more = f" ({record.why})" if record.why else ""
        note = f"{_what(pod, record)}; it stays: {WORDS[record.outcome]}{more}"
        self._lines.log(logging.INFO, record.outcome.value, "%s: %s", pod.key, note)
        record.said = record.outcome
        if self._spare.take():
            occurrence = Occurrence("NotEvictedByAffinityRule", "Evicting", note, warns=True)
            await self._report(pod, occurrence)

    async def paused(self, affected: int, pods: int, allowed: int) -> None:
        """Tell that too many pods are affected."""
        note = (
            f"evictions are paused: {affected} of {pods} pods break rules that hold during "
            f"execution, and {allowed} may (requiredDuringExecution.maxAffected); undo what caused "
            "it, or annotate this Lease with affinity-extender.io/acknowledged-violations="
            f"{affected}"
        )
        _log.warning("%s", note)
        await self._report(None, Occurrence("EvictionsPaused", "Pausing", note, warns=True))

    async def resumed(self, affected: int) -> None:
        """Tell that evictions go on."""
        note = f"evictions go on: {affected} pods break rules that hold during execution"
        _log.info("%s", note)
        await self._report(None, Occurrence("EvictionsResumed", "Resuming", note))

    def complain(self, pod: Pod, error: ExtenderError) -> None:
        """Warn of an eviction that failed."""
        kind = str(error).replace(name_of(pod.key), "")
        self._faults.log(logging.WARNING, kind, "%s could not be evicted: %s", pod.key, error)

    def publish(self, records: Iterable[Record], *, paused: bool, leads: bool) -> None:
        """Have the gauges say how things are."""
        found = Counter(each.outcome.value for each in records)
        self._metrics.set_moves({each.value: found[each.value] for each in Outcome})
        self._metrics.set_eviction_state(paused=paused, leads=leads)

    def count(self, result: str, pod: Pod, record: Record) -> None:
        """Count an eviction, and remember whose it was."""
        self._metrics.count_eviction(REASON, result)
        note = record.why or _what(pod, record)
        self._history.note(Kind.EVICTION, result, pod.key, pod.node, note)

    async def _report(self, pod: Pod | None, occurrence: Occurrence) -> None:
        try:
            await self._mover.report(pod, occurrence)
        except ExtenderError as error:
            self._faults.log(logging.WARNING, type(error).__name__, "no Event: %s", error)


def _what(pod: Pod, record: Record) -> str:
    """Say which rule is broken since when, by whom."""
    ground = record.ground
    words = "a rule is broken" if ground is None else breach_in_words(pod, ground)
    return f"{words}, since {time_of(record.since_epoch)}"
