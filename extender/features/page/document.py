"""GET /domains: which rules placed pods carry, and where they hold, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

from extender.core.cluster.counts.existing_term import ExistingTerm, Role
from extender.core.cluster.state import ClusterState
from extender.core.ports import Check
from extender.core.web.limits import MOST
from extender.core.web.offered import Request, Response
from extender.core.web.turns import QueryError, Turns, answer_in_turn, check_known
from extender.core.wire.affinity import write_term
from extender.core.wire.broken_rules import write_broken_rules
from extender.core.wire.decoding import whole_number
from extender.core.wire.documents import Fields
from extender.features.page.census import (
    Carried,
    carried,
    carried_in,
    nodes_by_domain,
    nodes_in,
    of_term,
    shown,
    terms_by_topology,
)

PARAMETERS: Final = ("key", "value", "term", "after", "limit")

RULES: Final = {
    Role.REQUIRED: "affinity",
    Role.REQUIRED_ANTI: "antiAffinity",
    Role.PREFERRED: "preferred",
    Role.LIMIT: "maxMatchingPods",
}

Document: TypeAlias = dict[str, Any]
T = TypeVar("T")

_Part: TypeAlias = tuple[Document, str | None]
"""An answer, and its last row if there are more rows."""


class Domains:
    """Answers GET /domains from the live state, a page at a time; rows are written in slices.

    Without a question: topology keys and terms. `key`: the domains of a topology key. `key`
    and `value`: one domain, with the terms carried there. `term`: one term, with its domains. The
    cluster may change between two rows, as it may between two pages.
    """

    def __init__(self, state: ClusterState, unready: Check, turns: Turns) -> None:
        self._state = state
        self._unready = unready
        self._turns = turns

    async def get(self, request: Request) -> Response:
        return await answer_in_turn(self._turns, lambda: self._fields(request))

    def _fields(self, request: Request) -> Fields:
        query, state = _checked(request.query), self._state
        check_known(self._unready)
        limit = _number(query, "limit", MOST.usual_rows, range(1, MOST.rows + 1))
        if "term" in query:
            fields, last = _term(state, _number(query, "term", 0), query.get("after"), limit)
        elif "key" not in query:
            fields, last = _everything(state, _number(query, "after", 0), limit)
        elif "value" in query:
            after = _number(query, "after", 0)
            fields, last = _domain(state, query["key"], query["value"], after, limit)
        else:
            fields, last = _topology(state, query["key"], query.get("after"), limit)
        yield from fields.items()
        yield "next", None if last is None else str(request.rel_url.update_query(after=last))


def _everything(state: ClusterState, after: int, limit: int) -> _Part:
    broken, rows = state.broken_rules, list(islice(carried(state, after), limit + 1))
    used = terms_by_topology(state).most_common(MOST.usual_rows)
    examples = [write_broken_rules(each) for each in islice(broken, MOST.examples)]
    names = [each for each, _ in islice(broken.ignored_in, MOST.examples)]
    return {
        "topologies": (
            {"key": each.key, "domains": each.domains, "terms": terms} for each, terms in used
        ),
        "terms": (_summary(existing, state.scope.annotation) for existing, _ in rows[:limit]),
        "brokenAnnotations": {"pods": len(broken), "examples": examples},
        "ignoredAnnotations": {"pods": broken.ignored, "namespaces": names},
    }, _last_term(rows, limit)


def _topology(state: ClusterState, key: str, after: str | None, limit: int) -> _Part:
    nodes = nodes_by_domain(state, key)
    values, last = _values(nodes, after, limit)
    rows = ({"value": value, "nodes": _some(nodes[value])} for value in values)
    return {"key": key, "count": len(nodes), "domains": rows}, last


def _domain(state: ClusterState, key: str, value: str, after: int, limit: int) -> _Part:
    nodes = nodes_in(state, key, value)
    rows = list(islice(carried_in(state, key, value, after), limit + 1))
    terms = (
        _described(existing, state.scope.annotation) | _amount(existing, held)
        for existing, held in rows[:limit]
    )
    fields = {"key": key, "value": value, "nodes": _some(nodes), "terms": terms}
    return fields, _last_term(rows, limit)


def _term(state: ClusterState, number: int, after: str | None, limit: int) -> _Part:
    found = of_term(state, number)
    existing, owners, matched = found.existing, found.owners, found.matched
    values, last = _values(found.domains, after, limit)
    rows = (
        {"value": each, **_amount(existing, owners.get(each, 0)), "matched": matched[each]}
        for each in values
    )
    return {
        **_summary(existing, state.scope.annotation),
        "matched": matched.total(),
        "namespacesNow": _some(found.namespaces),
        "domains": rows,
    }, last


def _last_term(rows: Sequence[Carried], limit: int) -> str | None:
    return str(rows[limit - 1].existing.number) if len(rows) > limit else None


def _values(
    values: Iterable[str], after: str | None, limit: int
) -> tuple[Sequence[str], str | None]:
    """Return the values after one, in their order, and the last if there are more."""
    # A label may have an empty value, which is not the same as no value to start after.
    following = sorted(each for each in values if after is None or each > after)
    return following[:limit], following[limit - 1] if len(following) > limit else None


def _checked(query: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse what would otherwise be ignored without a word."""
    known = ", ".join(PARAMETERS)
    for name in query:
        if name not in PARAMETERS:
            raise QueryError(
                HTTPStatus.BAD_REQUEST, f"no parameter {shown(name)!r}; there are {known}"
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
            HTTPStatus.BAD_REQUEST, f"{name}: {shown(text)!r} is not a whole number{bounds}"
        )
    return number


def _described(existing: ExistingTerm, annotation: str) -> Document:
    described = {
        "term": existing.number,
        "rule": RULES[existing.role],
        **write_term(existing.term),
    }
    if existing.annotated:
        described["annotation"] = annotation
    return described


def _summary(existing: ExistingTerm, annotation: str) -> Document:
    counts = existing.owners.counts
    held = {"domainsWithOwners": len(counts)}
    return _described(existing, annotation) | _amount(existing, existing.amount) | held


def _amount(existing: ExistingTerm, amount: int) -> Document:
    return {"weight" if existing.role is Role.PREFERRED else "owners": amount}


def _some(names: Sequence[str]) -> Document:
    return {"count": len(names), "names": list(names[: MOST.examples])}
