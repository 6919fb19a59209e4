"""/violations: which placed pods break required rules, or would sit better elsewhere."""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from extender.core.model.wording import pods_of
from extender.core.web.offered import Request, Response
from extender.core.web.turns import QueryError, Turns, answer_in_turn
from extender.core.wire.decoding import whole_number
from extender.core.wire.documents import Fields
from extender.diagnosis.verbs.violations import Violation, Witnesses
from extender.features.violations.found import Found
from extender.features.violations.patrol import RULES, place

LIMIT: Final = 1_000
MOST: Final = 10_000
"""Pods, and rules, of one answer, unless `limit` says otherwise, and at most."""


class Violations:
    """Answers GET /violations: rules that are broken, by whoever placed the pods.

    `rules` has each required rule of pods that is broken in a topology domain, with two of the pods
    that show it. Other features add what they know of the pods.
    """

    def __init__(self, found: Found, turns: Turns) -> None:
        self._found = found
        self._turns = turns

    async def get(self, request: Request) -> Response:
        return await answer_in_turn(self._turns, lambda: self._fields(request))

    def _fields(self, request: Request) -> Fields:
        self._found.check_known()
        limit = _limit(request.query.get("limit", str(LIMIT)))
        if limit is None:
            raise QueryError(HTTPStatus.BAD_REQUEST, f"limit has to be in 1..{MOST}")
        # Whatever comes and goes meanwhile, these are all of one moment.
        known = self._found.watch.known
        shown = list(islice(known.items(), limit))
        yield "rules", (_rule(*each) for each in shown)
        yield "rulesCount", len(known)
        for each in self._found.others:
            yield from each.fields(limit)


def _rule(violation: Violation, shown: Witnesses) -> dict[str, Any]:
    return {
        "rule": RULES[violation.role],
        "pods": pods_of(violation.term.pods),
        "domain": place(violation),
        "owner": shown.owner,
        "other": shown.other,
    }


def _limit(text: str) -> int | None:
    number = whole_number(text)
    return number if number is not None and 1 <= number <= MOST else None
