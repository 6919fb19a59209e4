"""/domains: which rules placed pods carry, and where they hold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, TypeAlias

from aiohttp import web

from extender.cluster.audits.overview import (
    amount_in,
    choosing_namespaces,
    counting_matched,
    grouping_nodes,
)
from extender.cluster.counts.existing_term import ExistingTerm, Role
from extender.cluster.state import ClusterState
from extender.ports import Check
from extender.web.limits import MOST
from extender.web.turns import QueryError, Turns, answer_in_turn
from extender.wire.affinity import write_term
from extender.wire.annotations import write_broken_annotation
from extender.wire.decoding import whole_number
from extender.wire.documents import Fields
from extender.wire.manifests import AFFINITY_ANNOTATION
from extender.wire.validation import LONGEST_KEY

PARAMETERS: Final = ("key", "value", "term", "after", "limit")

RULES: Final = {
    Role.REQUIRED: "affinity",
    Role.REQUIRED_ANTI: "antiAffinity",
    Role.PREFERRED: "preferred",
    Role.LIMIT: "maxMatchingPods",
}

Document: TypeAlias = dict[str, Any]


class Domains:
    """Answers GET /domains from the live state, a page at a time, put together in small slices.

    Without a question: topology keys and terms. `key`: the domains of a topology key. `key`
    and `value`: one domain, with the terms carried there. `term`: one term, with its domains. The
    cluster may change between two rows, as it may between two pages.
    """

    def __init__(self, state: ClusterState, unready: Check, turns: Turns) -> None:
        self._state = state
        self._unready = unready
        self._turns = turns

    async def get(self, request: web.Request) -> web.Response:
        """Answer a request."""
        return await answer_in_turn(self._turns, lambda: self._fields(request))

    def _fields(self, request: web.Request) -> Fields:
        query = _checked(request.query)
        if reason := self._unready():
            raise QueryError(HTTPStatus.SERVICE_UNAVAILABLE, reason)
        page = _Page(_number(query, "limit", MOST.usual_rows, range(1, MOST.rows + 1)))
        if "term" in query:
            yield from self._term(_number(query, "term", 0), query.get("after"), page)
        elif "key" not in query:
            yield from self._everything(_number(query, "after", 0), page)
        elif "value" in query:
            after = _number(query, "after", 0)
            yield from self._domain(query["key"], query["value"], after, page)
        else:
            yield from self._topology(query["key"], query.get("after"), page)
        following = request.rel_url.update_query(after=page.last or "")
        yield "next", str(following) if page.has_next else None

    def _everything(self, after: int, page: _Page) -> Fields:
        broken = self._state.broken_annotations
        yield "topologies", self._topologies()
        yield "terms", page.of_terms(self._state.existing_terms.after(after), _summary)
        yield (
            "brokenAnnotations",
            {
                "pods": len(broken),
                "examples": [
                    write_broken_annotation(each) for each in islice(broken, MOST.examples)
                ],
            },
        )
        names = [each for each, _ in islice(broken.ignored_in, MOST.examples)]
        yield "ignoredAnnotations", {"pods": broken.ignored, "namespaces": names}

    def _topologies(self) -> Iterator[Document | None]:
        """Tell of the keys that terms use, those of most terms first."""
        used = yield from self._state.existing_terms.counting_by_topology()
        for topology, terms in used.most_common(MOST.usual_rows):
            yield {"key": topology.key, "domains": topology.domains, "terms": terms}

    def _topology(self, key: str, after: str | None, page: _Page) -> Fields:
        nodes = yield from grouping_nodes(self._state, key)
        yield "key", key
        yield "count", len(nodes)
        values = page.of_values(nodes, after)
        yield "domains", ({"value": value, "nodes": _some(nodes[value])} for value in values)

    def _domain(self, key: str, value: str, after: int, page: _Page) -> Fields:
        nodes = (yield from grouping_nodes(self._state, key)).get(value)
        if nodes is None:
            label = f"{_shown(key)}={_shown(value)}"
            raise QueryError(HTTPStatus.NOT_FOUND, f"no node has the label {label}")
        yield "key", key
        yield "value", value
        yield "nodes", _some(nodes)
        carried_there = (
            existing if existing.term.topology_key == key and amount_in(existing, value) else None
            for existing in self._state.existing_terms.after(after)
        )
        yield (
            "terms",
            page.of_terms(
                carried_there, lambda each: _described(each) | _amount(each, amount_in(each, value))
            ),
        )

    def _term(self, number: int, after: str | None, page: _Page) -> Fields:
        existing = next(self._state.existing_terms.after(number - 1), None)
        if existing is None or existing.number != number:
            raise QueryError(
                HTTPStatus.NOT_FOUND,
                f"no term {number}; terms go with the last placed pod that carries them",
            )
        matched = yield from counting_matched(self._state, existing.term)
        covered = yield from choosing_namespaces(self._state, existing.term.pods)
        owners = existing.by_value()
        yield from _summary(existing).items()
        yield "matched", matched.total()
        yield "namespacesNow", _some(covered)
        yield (
            "domains",
            (
                {
                    "value": value,
                    **_amount(existing, owners.get(value, 0)),
                    "matched": matched[value],
                }
                for value in page.of_values({*matched, *owners}, after)
            ),
        )


class _Page:
    """Rows up to a limit, and where the next ones start."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.last: str | None = None
        self.has_next = False

    def of_terms(
        self,
        terms: Iterable[ExistingTerm | None],
        describe: Callable[[ExistingTerm], Document],
    ) -> Iterator[Document | None]:
        """Describe the first terms, in the order of numbers; pass over None in steps."""
        left = self._limit
        for existing in terms:
            if existing is None:
                yield None
                continue
            if not left:
                self.has_next = True
                return
            left -= 1
            self.last = str(existing.number)
            yield describe(existing)

    def of_values(self, values: Iterable[str], after: str | None) -> Sequence[str]:
        """Return the values after one, in their order."""
        ordered = sorted(values)
        # A label may have an empty value, which is not the same as no value to start after.
        start = 0 if after is None else bisect_right(ordered, after)
        page = ordered[start : start + self._limit]
        self.has_next = start + self._limit < len(ordered)
        self.last = page[-1] if page else None
        return page


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
    number = whole_number(text)
    if number is None or number not in allowed:
        bounds = f" in {allowed.start}..{allowed[-1]}" if allowed.stop <= MOST.rows + 1 else ""
        raise QueryError(
            HTTPStatus.BAD_REQUEST, f"{name}: {_shown(text)!r} is not a whole number{bounds}"
        )
    return number


def _shown(text: str) -> str:
    """Return what a question says, cut where it is longer than any label can be."""
    if len(text) <= LONGEST_KEY:
        return text
    return f"{text[:LONGEST_KEY]}... ({len(text)} characters)"


def _described(existing: ExistingTerm) -> Document:
    described = {
        "term": existing.number,
        "rule": RULES[existing.role],
        **write_term(existing.term),
    }
    if existing.annotated:
        described["annotation"] = AFFINITY_ANNOTATION
    return described


def _summary(existing: ExistingTerm) -> Document:
    counts = existing.owners.counts
    held = {"domainsWithOwners": len(counts)}
    return _described(existing) | _amount(existing, existing.amount) | held


def _amount(existing: ExistingTerm, amount: int) -> Document:
    """Say what an amount is: owners, or for preferred terms the sum of their weights."""
    return {"weight" if existing.role is Role.PREFERRED else "owners": amount}


def _some(names: Sequence[str]) -> Document:
    return {"count": len(names), "names": list(names[: MOST.examples])}
