"""/violations: which placed pods break required rules, or would sit better elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from extender.cluster.audits.violations import Violation, Witnesses
from extender.cluster.state import ClusterState
from extender.controllers.eviction.record import Record
from extender.controllers.eviction.repair_mover import Prospect
from extender.features.violations.found import Found
from extender.features.violations.patrol import RULES, place
from extender.model.wording import pods_of
from extender.verbs.evicting import Finding
from extender.verbs.repair import Improvement
from extender.web.offered import Request, Response
from extender.web.turns import QueryError, Turns, answer_in_turn
from extender.wire.decoding import whole_number
from extender.wire.documents import Fields
from extender.wire.violations import write_finding, write_improvement

LIMIT: Final = 1_000
MOST: Final = 10_000
"""Pods, and rules, of one answer, unless `limit` says otherwise, and at most."""


class Violations:
    """Answers GET /violations: rules that are broken, by whoever placed the pods.

    `rules` has each required rule of pods that is broken in a topology domain, with two of the pods
    that show it. `pods` has the pods that break a rule which holds during execution, with what
    becomes of each; only where requiredDuringExecution is enabled. `improvable` has one pod of each
    controller of which one would sit better elsewhere by preferred rules, and what keeps it; only
    where preferredDuringExecution is.
    """

    def __init__(self, found: Found, turns: Turns) -> None:
        self._found = found
        self._turns = turns

    async def get(self, request: Request) -> Response:
        """Answer a request."""
        return await answer_in_turn(self._turns, lambda: self._fields(request))

    def _fields(self, request: Request) -> Fields:
        state, eviction, repair = self._found.known, self._found.eviction, self._found.repair
        limit = _limit(request.query.get("limit", str(LIMIT)))
        if limit is None:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"limit has to be in 1..{MOST}")
        # Whatever comes and goes meanwhile, these are all of one moment.
        known = self._found.watch.known
        shown = list(islice(known.items(), limit))
        yield "rules", (_rule(*each) for each in shown)
        yield "rulesCount", len(known)
        if eviction is not None:
            yield "evicting", {"leads": eviction.leads, "paused": eviction.paused}
            records = list(eviction.broken.records.values())
            yield "pods", map(write_finding, islice(findings(state, records), limit))
            yield "podsCount", len(eviction.broken)
        if repair is not None:
            prospects = repair.prospects
            yield "improvable", (_improvable(*each) for each in islice(prospects, limit))
            yield "improvableCount", len(prospects)


def findings(state: ClusterState, records: Iterable[Record]) -> Iterator[Finding]:
    """Yield what is known of pods that break rules, without those that have gone."""
    for each in records:
        pod = state.pod(*each.identity)
        if pod is not None:
            yield Finding(pod, each.breaches, each.outcome, each.cause, each.since_epoch, each.why)


def _rule(violation: Violation, shown: Witnesses) -> dict[str, Any]:
    return {
        "rule": RULES[violation.role],
        "pods": pods_of(violation.term.pods),
        "domain": place(violation),
        "owner": shown.owner,
        "other": shown.other,
    }


def _improvable(found: Improvement, known: Prospect) -> dict[str, Any]:
    return write_improvement(found, known.outcome, known.why)


def _limit(text: str) -> int | None:
    number = whole_number(text)
    return number if number is not None and 1 <= number <= MOST else None
