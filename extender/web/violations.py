"""/violations: which placed pods break required rules, since when, and what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from aiohttp import web

from extender.cluster.audits.violations import Watch
from extender.cluster.state import ClusterState
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.violations import RULES, place
from extender.model.wording import pods_of
from extender.ports import Check
from extender.verbs.violation_survey import Finding
from extender.wire.violations import write_finding
from extender.wire.whole_numbers import whole_number

LIMIT: Final = 1_000
MOST: Final = 10_000
"""Pods, and rules, of one answer, unless `limit` says otherwise, and at most."""
MOST_DIGITS: Final = 5


class Violations:
    """Answers GET /violations: rules that are broken, by whoever placed the pods.

    `rules` has each required rule of pods that is broken in a topology domain, with two of the pods
    that show it. `pods` has the pods that break a rule which holds during execution, with what
    becomes of each; only where requiredDuringExecution is enabled.
    """

    def __init__(
        self,
        state: ClusterState,
        watch: Watch,
        eviction: EvictionController | None,
        unready: Check,
    ) -> None:
        self._state = state
        self._watch = watch
        self._eviction = eviction
        self._unready = unready

    async def get(self, request: web.Request) -> web.Response:
        """Answer a request."""
        if reason := self._unready():
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=f"{reason}\n")
        limit = _limit(request.query.get("limit", str(LIMIT)))
        if limit is None:
            text = f"limit has to be in 1..{MOST}\n"
            return web.Response(status=HTTPStatus.BAD_REQUEST, text=text)
        text = json.dumps(self._document(limit), indent=2) + "\n"
        return web.Response(text=text, content_type="application/json")

    def _document(self, limit: int) -> dict[str, Any]:
        known = self._watch.known
        document: dict[str, Any] = {
            "rules": [
                {
                    "rule": RULES[violation.role],
                    "pods": pods_of(violation.term.pods),
                    "domain": place(violation),
                    "owner": shown.owner,
                    "other": shown.other,
                }
                for violation, shown in islice(known.items(), limit)
            ],
            "rulesCount": len(known),
        }
        if self._eviction is not None:
            document |= self._eviction_part(self._eviction, limit)
        return document

    def _eviction_part(self, eviction: EvictionController, limit: int) -> dict[str, Any]:
        return {
            "evicting": {"leads": eviction.leads, "paused": eviction.paused},
            "pods": [write_finding(each) for each in islice(self._findings(eviction), limit)],
            "podsCount": len(eviction.broken),
        }

    def _findings(self, eviction: EvictionController) -> Iterator[Finding]:
        for record in eviction.broken.records.values():
            pod = self._state.pod(*record.identity)
            if pod is not None:
                yield Finding(
                    pod,
                    record.breaches,
                    record.outcome,
                    record.ground,
                    record.since_epoch,
                    record.why,
                )


def _limit(text: str) -> int | None:
    number = whole_number(text, MOST_DIGITS)
    return number if number is not None and 1 <= number <= MOST else None
