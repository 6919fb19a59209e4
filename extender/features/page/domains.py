"""Which rules placed pods carry, and in which topology domains they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from extender.cluster.counts.existing_term import ExistingTerm, Role
from extender.cluster.state import ClusterState
from extender.features.page.address import Address, Choice
from extender.features.page.census import (
    amount_in,
    matched_by_domain,
    namespaces_of,
    nodes_by_domain,
    terms_by_topology,
)
from extender.features.page.status import Shown
from extender.model.wording import pods_of, some
from extender.web.offered import View
from extender.web.turns import QueryError

PATH: Final = "/page/domains"
PARAMETERS: Final = frozenset(("key", "value", "term", "q", "sort", "page"))

NAMED: Final = 5
"""Names where there may be thousands; a count stands beside them."""
MOST_KEYS: Final = 20

KINDS: Final = {
    Role.REQUIRED: "affinity",
    Role.REQUIRED_ANTI: "anti-affinity",
    Role.PREFERRED: "preferred",
    Role.LIMIT: "anti-affinity with a limit",
}

_Term: TypeAlias = tuple[ExistingTerm, int]
"""A term with its carriers, or, of a preferred one, the sum of their weights."""


def domains(shown: Shown, asked: Address) -> View:
    """Return the page: all rules, one of them, the domains of a key, or one domain."""
    state = shown.known
    if asked.get("term"):
        return _one_term(state, asked)
    if "value" in asked.query:
        return _one_domain(state, asked)
    if asked.get("key"):
        return _topology(state, asked)
    return _everything(state, asked)


def _everything(state: ClusterState, asked: Address) -> View:
    used = terms_by_topology(state).most_common(MOST_KEYS)
    if not used:
        return View("rules.html", {"used": used})
    counted = ((each, each.amount) for each in state.existing_terms.after(0))
    chosen = _terms(asked, counted)
    return View("rules.html", {"used": used, "chosen": chosen, "terms": _rows(chosen)})


def _terms(asked: Address, terms: Iterable[_Term], *, held: bool = False) -> Choice[_Term]:
    wanted = asked.get("q").lower()

    def fits(each: _Term) -> bool:
        existing, amount = each
        if not wanted or (held and not amount):
            return bool(amount) or not held
        about, key = pods_of(existing.term.pods), existing.term.topology_key
        return wanted in f"{KINDS[existing.role]} {about} {key}".lower()

    return asked.choose(
        terms,
        fits,
        {
            "key": lambda each: (each[0].term.topology_key, each[0].number),
            "carriers": lambda each: (-each[1], each[0].number),
            "domains": lambda each: (-len(each[0].owners.counts), each[0].number),
        },
    )


def _rows(chosen: Choice[_Term]) -> list[Mapping[str, Any]]:
    return [
        {
            "number": existing.number,
            "kind": KINDS[existing.role] + (", by annotation" if existing.annotated else ""),
            "about": pods_of(existing.term.pods),
            "key": existing.term.topology_key,
            "amount": amount,
            "is_weight": existing.role is Role.PREFERRED,
            "domains": len(existing.owners.counts),
        }
        for existing, amount in chosen.rows
    ]


def _topology(state: ClusterState, asked: Address) -> View:
    key, wanted = asked.get("key"), asked.get("q").lower()
    nodes = nodes_by_domain(state, key)
    chosen = asked.choose(
        nodes,
        lambda value: wanted in value.lower(),
        {"name": lambda value: value, "nodes": lambda value: (-len(nodes[value]), value)},
    )
    rows = [
        (value, len(nodes[value]), some(nodes[value], len(nodes[value]), NAMED))
        for value in chosen.rows
    ]
    values = {"key": key, "count": len(nodes), "chosen": chosen, "rows": rows}
    return View("topology.html", values)


def _one_domain(state: ClusterState, asked: Address) -> View:
    key, value = asked.get("key"), asked.get("value")
    nodes = nodes_by_domain(state, key).get(value)
    if nodes is None:
        raise QueryError(HTTPStatus.NOT_FOUND, f"no node has the label {key}={value}")
    there = (
        (each, amount_in(each, value) if each.term.topology_key == key else 0)
        for each in state.existing_terms.after(0)
    )
    chosen = _terms(asked, there, held=True)
    values = {
        "label": f"{key}={value}",
        "count": len(nodes),
        "names": some(nodes, len(nodes), NAMED),
        "chosen": chosen,
        "terms": _rows(chosen),
    }
    return View("domain.html", values)


def _one_term(state: ClusterState, asked: Address) -> View:
    number = asked.number("term", 0)
    existing = next(state.existing_terms.after(number - 1), None)
    if existing is None or existing.number != number:
        why = f"no term {number}; terms go with the last placed pod that carries them"
        raise QueryError(HTTPStatus.NOT_FOUND, why)
    term = existing.term
    matched = matched_by_domain(state, term)
    spaces = namespaces_of(state, term.pods)
    owners, wanted = existing.by_value(), asked.get("q").lower()
    held = {*owners, *matched}
    chosen = asked.choose(
        held,
        lambda value: wanted in value.lower(),
        {
            "name": lambda value: value,
            "carriers": lambda value: (-owners.get(value, 0), value),
            "matched": lambda value: (-matched[value], value),
        },
    )
    values = {
        "title": f"Term {number}: {KINDS[existing.role]} over {term.topology_key}",
        "about": pods_of(term.pods),
        "namespaces": some(spaces, len(spaces), NAMED),
        "annotated": existing.annotated,
        "carriers": sum(owners.values()),
        "is_weight": existing.role is Role.PREFERRED,
        "matched": matched.total(),
        "count": len(held),
        "chosen": chosen,
        "rows": [(value, owners.get(value, 0), matched[value]) for value in chosen.rows],
    }
    return View("term.html", values)
