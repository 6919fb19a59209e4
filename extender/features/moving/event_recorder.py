"""What is said of pods that break rules: Events, log lines and metrics, each of them bounded."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Final

from extender.core.controllers.context import ControllerContext
from extender.core.controllers.history import EVICTION
from extender.core.errors import ExtenderError
from extender.core.model.keys import name_of, namespace_of
from extender.core.model.objects import Pod
from extender.core.model.wording import plural
from extender.core.ports import Occurrence
from extender.core.timing import LogThrottle, TokenBucket
from extender.features.moving.findings import time_of
from extender.features.moving.limits import Pauses
from extender.features.moving.moves import End, Move
from extender.features.moving.record import Record
from extender.features.moving.rows import MOVES
from extender.features.moving.rules.evicting import Outcome, breach_in_words
from extender.features.moving.shared import Shared

REASON: Final = "RequiredDuringExecution"
"""The name under which evictions are counted, as of a plugin."""
EVENTS_PER_SECOND: Final = 1.0
EVENTS_AT_ONCE: Final = 25.0
"""Of pods that stay, and as many of pauses; a pod that is evicted has an Event in any case, and
`/violations` has them all."""
LINES: Final = 20

_log = logging.getLogger(__name__)


class EventRecorder:
    """Says what becomes of pods, each thing once."""

    def __init__(self, context: ControllerContext, shared: Shared) -> None:
        clock = context.clocks.clock
        self._port, self._rows = shared.port, shared.rows
        self._evictions = context.metrics.evictions
        self._history = context.history
        self._spare = TokenBucket(EVENTS_PER_SECOND, clock, EVENTS_AT_ONCE)
        self._pauses = TokenBucket(EVENTS_PER_SECOND, clock, EVENTS_AT_ONCE)
        self._lines = LogThrottle(_log, burst=LINES, clock=clock)
        self._faults = LogThrottle(_log, clock=clock)
        self._evictions.begin((REASON,), MOVES)
        self._rows.violating_pods.begin([each.value for each in Outcome])

    async def went(self, pod: Pod, record: Record, target: str, *, dry_run: bool) -> None:
        reason, verb = ("WouldEvict", "would be evicted (dry run)") if dry_run else ("Evicted", "")
        said = f"; {verb or 'evicted'} now: its grace period is over and"
        note = f"{_what(pod, record)}{said} node {target} would take it"
        self._lines.log(logging.INFO, reason, "%s: %s", pod.key, note)
        record.said = record.outcome
        note = f"{_what(pod, record, for_tenant=True)}{said} another node would take it"
        await self._report(pod, Occurrence(f"{reason}ByAffinityRule", "Evicting", note))

    async def stays(self, pod: Pod, record: Record) -> None:
        """Tell once why a pod stays."""
        if record.said is record.outcome:
            return
        more = f" ({record.why})" if record.why else ""
        said = f"; it stays: {record.outcome.words}{more}"
        self._lines.log(
            logging.INFO, record.outcome.value, "%s: %s%s", pod.key, _what(pod, record), said
        )
        record.said = record.outcome
        if self._spare.take():
            note = f"{_what(pod, record, for_tenant=True)}{said}"
            occurrence = Occurrence("NotEvictedByAffinityRule", "Evicting", note, warns=True)
            await self._report(pod, occurrence)

    async def paused(self, going: int, pods: int, allowed: int) -> None:
        await self._tell_of_pause(
            f"evictions are paused: {going} of {plural(pods, 'pod')} {_break(going)} "
            f"and would go, and {allowed} may (requiredDuringExecution.maxAffected)",
            going,
        )

    async def paused_in(self, namespace: str, going: int, allowed: int) -> None:
        await self._tell_of_pause(
            f"evictions are paused in namespace {namespace}: {going} of its pods {_break(going)} "
            f"and would go, and {allowed} of one namespace may (half of "
            "requiredDuringExecution.maxAffected)",
            going,
        )

    async def _tell_of_pause(self, what: str, going: int) -> None:
        note = (
            f"{what}; undo what caused it, or annotate this Lease with "
            f"affinity-extender.io/acknowledged-violations={going}"
        )
        self._lines.log(logging.WARNING, "paused", "%s", note)
        if self._pauses.take():
            await self._report(None, Occurrence("EvictionsPaused", "Pausing", note, warns=True))

    async def resumed(self, going: int, namespace: str | None = None) -> None:
        where = "" if namespace is None else f" in namespace {namespace}"
        note = f"evictions go on{where}: {plural(going, 'pod')} {_break(going)}"
        self._lines.log(logging.INFO, "resumed", "%s", note)
        if self._pauses.take():
            await self._report(None, Occurrence("EvictionsResumed", "Resuming", note))

    def complain(self, pod: Pod, error: ExtenderError) -> None:
        kind = str(error).replace(name_of(pod.key), "")
        self._faults.log(logging.WARNING, kind, "%s could not be evicted: %s", pod.key, error)

    def ended(self, move: Move, end: End) -> None:
        """Remember what has become of a pod that was evicted, if it came to nothing."""
        if end.misses:
            self._history.note(EVICTION, "missed", move.pod.key, move.target, end.words)

    def publish(self, records: Iterable[Record], pauses: Pauses, *, leads: bool) -> None:
        found = Counter(each.outcome.value for each in records)
        for each in Outcome:
            self._rows.violating_pods.set(found[each.value], each.value)
        self._rows.paused.set(pauses.all)
        self._rows.paused_namespaces.set(len(pauses.namespaces))
        self._rows.leader.set(leads)

    def count(self, result: str, pod: Pod, record: Record) -> None:
        self._evictions.count(REASON, result)
        note = record.why or _what(pod, record)
        self._history.note(EVICTION, result, pod.key, pod.node, note)

    async def _report(self, pod: Pod | None, occurrence: Occurrence) -> None:
        try:
            await self._port.report(pod, occurrence)
        except ExtenderError as error:
            self._faults.log(logging.WARNING, type(error).__name__, "no Event: %s", error)


def _what(pod: Pod, record: Record, *, for_tenant: bool = False) -> str:
    """Say which rule is broken since when, by which pods.

    Readers of a namespace's Events are not told of pods of others; operators are, in the log.
    """
    cause = record.cause
    within = namespace_of(pod.key) if for_tenant else None
    words = "a rule is broken" if cause is None else breach_in_words(pod, cause, within=within)
    return f"{words}, since {time_of(record.since_epoch)}"


def _break(pods: int) -> str:
    return f"{'breaks' if pods == 1 else 'break'} rules that hold during execution"
