"""/domains: which rules placed pods carry, where they hold, and which have been left behind."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, TypeAlias

from aiohttp import web

from extender.cluster.audits.drift import DriftedPods, DriftWatch
from extender.cluster.audits.overview import (
    amount_in,
    covered_namespaces,
    matched_by_domain,
    nodes_by_domain,
)
from extender.cluster.counts.existing_term import ExistingTerm, Role
from extender.cluster.state import ClusterState
from extender.ports import Check
from extender.web.turns import QueryError
from extender.wire.affinity import write_term
from extender.wire.manifests import AFFINITY_ANNOTATION
from extender.wire.violations import write_broken_annotation
from extender.wire.whole_numbers import whole_number

LIMIT: Final = 100
MOST: Final = 1000
"""Entries of one page, unless `limit` says otherwise, and at most."""
EXAMPLES: Final = 10
"""Names where there may be thousands; a count stands beside them."""

MOST_DIGITS: Final = 19
"""Of the numbers of terms, which are counted up from 1."""
MOST_SHOWN: Final = 317
"""Characters of a label's key at most: 253 of its prefix, a slash, 63 of its name."""

PARAMETERS: Final = ("key", "value", "term", "after", "limit")

RULES: Final = {
    Role.REQUIRED: "affinity",
    Role.REQUIRED_ANTI: "antiAffinity",
    Role.PREFERRED: "preferred",
}

Document: TypeAlias = dict[str, Any]


class Domains:
    """Answers GET /domains from the live state, a page at a time; each is one whole state.

    Without a question: topology keys, terms and drift. `key`: the domains of a topology key. `key`
    and `value`: one domain, with the terms carried there. `term`: one term, with its domains.
    """

    def __init__(self, state: ClusterState, drift: DriftWatch, unready: Check) -> None:
        self._state = state
        self._drift = drift
        self._unready = unready

    async def get(self, request: web.Request) -> web.Response:
        """Answer a request."""
        try:
            document, after = self._answer(_checked(request.query))
        except QueryError as error:
            return web.Response(status=error.status, text=f"{error}\n")
        following = None if after is None else str(request.rel_url.update_query(after=after))
        text = json.dumps(document | {"next": following}, indent=2)
        return web.Response(text=text + "\n", content_type="application/json")

    def _answer(self, query: Mapping[str, str]) -> tuple[Document, str | None]:
        """Return the page, and where the next one starts."""
        if reason := self._unready():
            raise QueryError(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        limit = _number(query, "limit", LIMIT, range(1, MOST + 1))
        if "term" in query:
            return self._term(_number(query, "term", 0), query.get("after"), limit)
        if "key" not in query:
            return self._everything(_number(query, "after", 0), limit)
        key = query["key"]
        if "value" in query:
            return self._domain(key, query["value"], _number(query, "after", 0), limit)
        return self._topology(key, query.get("after"), limit)

    def _everything(self, after: int, limit: int) -> tuple[Document, str | None]:
        terms, following = _page_of_terms(self._state.existing_terms.after(after), limit)
        document = {
            "topologies": self._topologies(),
            "terms": [_summary(existing) for existing in terms],
            "drift": {
                "pods": self._drift.pods,
                "examples": [_drifted(each) for each in islice(self._drift.known, EXAMPLES)],
            },
            "brokenAnnotations": {
                "pods": len(self._state.broken_annotations),
                "examples": [
                    write_broken_annotation(each)
                    for each in islice(self._state.broken_annotations, EXAMPLES)
                ],
            },
        }
        return document, following

    def _topologies(self) -> list[Document]:
        """Tell of the keys that terms use, those of most terms first."""
        used = self._state.existing_terms.by_topology()
        return [
            {"key": topology.key, "domains": topology.domains, "terms": terms}
            for topology, terms in used.most_common(LIMIT)
        ]

    def _topology(self, key: str, after: str | None, limit: int) -> tuple[Document, str | None]:
        nodes = nodes_by_domain(self._state, key)
        values, following = _page_of_values(nodes, after, limit)
        domains = [{"value": value, "nodes": _some(nodes[value])} for value in values]
        return {"key": key, "count": len(nodes), "domains": domains}, following

    def _domain(self, key: str, value: str, after: int, limit: int) -> tuple[Document, str | None]:
        nodes = nodes_by_domain(self._state, key).get(value)
        if nodes is None:
            label = f"{_shown(key)}={_shown(value)}"
            raise QueryError(HTTPStatus.NOT_FOUND, f"no node has the label {label}")
        carried_there = (
            existing
            for existing in self._state.existing_terms.after(after)
            if existing.term.topology_key == key and amount_in(existing, value)
        )
        terms, following = _page_of_terms(carried_there, limit)
        document = {
            "key": key,
            "value": value,
            "nodes": _some(nodes),
            "terms": [_described(each) | _amount(each, amount_in(each, value)) for each in terms],
        }
        return document, following

    def _term(self, number: int, after: str | None, limit: int) -> tuple[Document, str | None]:
        existing = next(self._state.existing_terms.after(number - 1), None)
        if existing is None or existing.number != number:
            raise QueryError(
                HTTPStatus.NOT_FOUND,
                f"no term {number}; terms go with the last placed pod that carries them",
            )
        matched, owners = (
            matched_by_domain(self._state, existing.term),
            existing.by_value(),
        )
        values, following = _page_of_values({*matched, *owners}, after, limit)
        covered = covered_namespaces(self._state, existing.term.pods)
        document = _summary(existing) | {
            "matched": matched.total(),
            "namespacesNow": _some(covered),
            "domains": [
                {
                    "value": value,
                    **_amount(existing, owners.get(value, 0)),
                    "matched": matched[value],
                }
                for value in values
            ],
        }
        return document, following


def _checked(query: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse what would otherwise be ignored without a word."""
    known = ", ".join(PARAMETERS)
    for name in query:
        if name not in PARAMETERS:
            raise QueryError(
                HTTPStatus.BAD_REQUEST, f"no parameter {_shown(name)!r}; there are {known}"
            )
    if "term" in query and query.keys() & {"key", "value"}:
        raise QueryError(HTTPStatus.BAD_REQUEST, "term goes without key and value")
    if "value" in query and "key" not in query:
        raise QueryError(HTTPStatus.BAD_REQUEST, "value needs key, the label that it is a value of")
    return query


def _number(
    query: Mapping[str, str], name: str, default: int, allowed: range = range(1 << 63)
) -> int:
    text = query.get(name)
    if text is None:
        return default
    number = whole_number(text, MOST_DIGITS)
    if number is None or number not in allowed:
        bounds = f" in {allowed.start}..{allowed[-1]}" if allowed.stop <= MOST + 1 else ""
        raise QueryError(
            HTTPStatus.BAD_REQUEST, f"{name}: {_shown(text)!r} is not a whole number{bounds}"
        )
    return number


def _shown(text: str) -> str:
    """Return what a question says, cut where it is longer than any label can be."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}... ({len(text)} characters)"


def _page_of_terms(
    terms: Iterable[ExistingTerm], limit: int
) -> tuple[Sequence[ExistingTerm], str | None]:
    """Return the first terms, in the order of numbers, and where the next page starts."""
    page = list(islice(terms, limit + 1))
    return page[:limit], str(page[limit - 1].number) if len(page) > limit else None


def _page_of_values(
    values: Iterable[str], after: str | None, limit: int
) -> tuple[Sequence[str], str | None]:
    """Return the values after one, in their order, and where the next page starts."""
    ordered = sorted(values)
    # A label may have an empty value, which is not the same as no value to start after.
    start = 0 if after is None else bisect_right(ordered, after)
    page = ordered[start : start + limit]
    return page, page[-1] if start + limit < len(ordered) else None


def _described(existing: ExistingTerm) -> Document:
    described = {
        "term": existing.number,
        "rule": RULES[existing.role],
        **write_term(existing.term),
    }
    return described | ({"annotation": AFFINITY_ANNOTATION} if existing.annotated else {})


def _summary(existing: ExistingTerm) -> Document:
    counts = existing.owners.counts
    held = {"domainsWithOwners": len(counts)}
    return _described(existing) | _amount(existing, existing.amount) | held


def _amount(existing: ExistingTerm, amount: int) -> Document:
    """Say what an amount is: owners, or for preferred terms the sum of their weights."""
    return {"weight" if existing.role is Role.PREFERRED else "owners": amount}


def _some(names: Sequence[str]) -> Document:
    return {"count": len(names), "names": list(names[:EXAMPLES])}


def _drifted(found: DriftedPods) -> Document:
    keys = [
        {"key": each.key, "merged": sorted(each.merged), "label": found.labels.get(each.key)}
        for each in found.drift
    ]
    return {"pod": found.example, "podsAlike": found.pods, "labelKeys": keys}
