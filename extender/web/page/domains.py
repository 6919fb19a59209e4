"""Which rules placed pods carry, and in which topology domains they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from extender.cluster.audits.overview import (
    amount_in,
    choosing_namespaces,
    counting_matched,
    grouping_nodes,
)
from extender.cluster.counts.existing_term import ExistingTerm, Role
from extender.cluster.state import ClusterState
from extender.model.wording import pods_of
from extender.web.page.html import Html, code, element, joined, named
from extender.web.page.layout import heading, soft
from extender.web.page.overview import definitions
from extender.web.page.tables import Asked, Column, Steps, choosing, pager, search, table
from extender.web.turns import QueryError

PATH: Final = "/page/domains"
PARAMETERS: Final = frozenset(("key", "value", "term", "q", "sort", "page"))

NAMED: Final = 5
"""Names where there may be thousands; a count stands beside them."""

KINDS: Final = {
    Role.REQUIRED: "affinity",
    Role.REQUIRED_ANTI: "anti-affinity",
    Role.PREFERRED: "preferred",
}

TERMS: Final = (
    Column("Term"),
    Column("Rule"),
    Column("About"),
    Column("Topology key", sort="key"),
    Column("Carriers", number=True, sort="carriers"),
    Column("Domains", number=True, sort="domains"),
)
DOMAINS: Final = (
    Column("Domain", sort="name"),
    Column("Nodes", number=True, sort="nodes"),
    Column("Names"),
)
OF_TERM: Final = (
    Column("Domain", sort="name"),
    Column("Carriers", number=True, sort="carriers"),
    Column("Pods matched", number=True, sort="matched"),
)
TOPOLOGIES: Final = (
    Column("Topology key"),
    Column("Domains", number=True),
    Column("Terms", number=True),
)


@dataclass(frozen=True, slots=True)
class _Term:
    """A term with what it is sorted by."""

    existing: ExistingTerm
    amount: int
    """Carriers, or for preferred terms the sum of their weights."""


def domains(state: ClusterState, asked: Asked) -> Steps:
    """Yield the page: all rules, one of them, the domains of a key, or one domain."""
    if asked.get("term"):
        yield from _one_term(state, asked)
    elif "value" in asked.query:
        yield from _one_domain(state, asked)
    elif asked.get("key"):
        yield from _topology(state, asked)
    else:
        yield from _everything(state, asked)


def _everything(state: ClusterState, asked: Asked) -> Steps:
    used: Counter[str] = Counter()
    sizes: dict[str, int] = {}
    terms = []
    for each in state.existing_terms.after(0):
        terms.append(each)
        topology = each.owners.topology
        used[topology.key] += 1
        sizes[topology.key] = topology.domains
        yield None
    if not terms:
        yield soft("No placed pod has a rule about other pods.")
        return
    yield heading("Topology keys")
    rows = (
        (_key_link(key), f"{sizes[key]:,}", f"{number:,}") for key, number in used.most_common(20)
    )
    caption = "Keys that rules use, those of most rules first"
    yield from table("topologies", caption, TOPOLOGIES, rows)
    yield heading("Rules")
    yield search(asked, "Labels, namespaces or a topology key")
    counted = ((_Term(each, each.amount)) for each in terms)
    yield from _terms(asked, counted, "Terms that placed pods carry")


def _terms(asked: Asked, terms: Iterator[_Term], caption: str, *, held: bool = False) -> Steps:
    wanted = asked.get("q").lower()
    by = asked.one_of("sort", ("key", "carriers", "domains"))
    order = {
        "key": lambda each: (each.existing.term.topology_key, each.existing.number),
        "carriers": lambda each: (-each.amount, each.existing.number),
        "domains": lambda each: (-len(each.existing.owners.counts), each.existing.number),
    }[by]

    def fits(each: _Term) -> bool:
        if held and not each.amount:
            return False
        return not wanted or wanted in _words(each.existing).lower()

    page = yield from choosing(terms, fits, order, asked.number("page", 1))
    said = f"{caption}: {page.found:,}" + (" that match" if wanted else "")
    yield from table("terms", said, TERMS, map(_term_row, page.rows), asked)
    yield pager(asked, page)


def _term_row(each: _Term) -> Sequence[str]:
    existing = each.existing
    weight = " (weight)" if existing.role is Role.PREFERRED else ""
    return (
        element("a", f"{existing.number}", href=f"{PATH}?term={existing.number}"),
        KINDS[existing.role] + (", by annotation" if existing.annotated else ""),
        pods_of(existing.term.pods),
        code(existing.term.topology_key),
        f"{each.amount:,}{weight}",
        f"{len(existing.owners.counts):,}",
    )


def _words(existing: ExistingTerm) -> str:
    return f"{KINDS[existing.role]} {pods_of(existing.term.pods)} {existing.term.topology_key}"


def _topology(state: ClusterState, asked: Asked) -> Steps:
    key, wanted = asked.get("key"), asked.get("q").lower()
    by = asked.one_of("sort", ("name", "nodes"))
    nodes = yield from grouping_nodes(state, key)
    yield joined(_back(), heading(f"Domains of {key}"))
    yield search(asked, "Name of a domain", "key")

    def order(each: tuple[str, list[str]]) -> tuple[int, str]:
        return (-len(each[1]) if by == "nodes" else 0), each[0]

    chosen = choosing(
        nodes.items(), lambda each: wanted in each[0].lower(), order, asked.number("page", 1)
    )
    page = yield from chosen
    caption = f"{page.found:,} of {len(nodes):,} values that nodes have"
    rows = ((_domain_link(key, value), f"{len(of):,}", _some(of)) for value, of in page.rows)
    yield from table("domains", caption, DOMAINS, rows, asked)
    yield pager(asked, page)


def _one_domain(state: ClusterState, asked: Asked) -> Steps:
    key, value = asked.get("key"), asked.get("value")
    nodes = (yield from grouping_nodes(state, key)).get(value)
    if nodes is None:
        raise QueryError(HTTPStatus.NOT_FOUND, f"no node has the label {key}={value}")
    yield joined(_back(), heading(f"{key}={value}"))
    yield element("p", f"{len(nodes):,} nodes: ", _some(nodes))
    yield search(asked, "Labels, namespaces or a topology key", "key", "value")
    there = (
        _Term(each, amount_in(each, value) if each.term.topology_key == key else 0)
        for each in state.existing_terms.after(0)
    )
    yield from _terms(asked, there, "Terms that pods carry there", held=True)


def _one_term(state: ClusterState, asked: Asked) -> Steps:
    number = asked.number("term", 0)
    existing = next(state.existing_terms.after(number - 1), None)
    if existing is None or existing.number != number:
        why = f"no term {number}; terms go with the last placed pod that carries them"
        raise QueryError(HTTPStatus.NOT_FOUND, why)
    term = existing.term
    matched = yield from counting_matched(state, term)
    spaces = yield from choosing_namespaces(state, term.pods)
    owners = existing.by_value()
    yield joined(_back(), heading(_title(existing)))
    yield definitions(
        (
            ("About", pods_of(term.pods)),
            ("Namespaces now", _some(spaces)),
            ("Source", "annotation" if existing.annotated else "spec"),
            ("Carriers", f"{sum(owners.values()):,}" + _unit(existing)),
            ("Matched", f"{matched.total():,} placed pods"),
        )
    )
    yield search(asked, "Name of a domain", "term")
    yield from _domains_of(asked, owners, matched)


def _domains_of(asked: Asked, owners: dict[str, int], matched: Counter[str]) -> Steps:
    wanted = asked.get("q").lower()
    order = {
        "name": lambda value: (0, value),
        "carriers": lambda value: (-owners.get(value, 0), value),
        "matched": lambda value: (-matched[value], value),
    }[asked.one_of("sort", ("name", "carriers", "matched"))]
    values = {*owners, *matched}
    chosen = choosing(values, lambda value: wanted in value.lower(), order, asked.number("page", 1))
    page = yield from chosen
    rows = ((code(v), f"{owners.get(v, 0):,}", f"{matched[v]:,}") for v in page.rows)
    yield from table("domains", f"{page.found:,} of {len(values):,} domains", OF_TERM, rows, asked)
    yield pager(asked, page)


def _title(existing: ExistingTerm) -> str:
    return f"Term {existing.number}: {KINDS[existing.role]} over {existing.term.topology_key}"


def _unit(existing: ExistingTerm) -> str:
    return " (sum of weights)" if existing.role is Role.PREFERRED else ""


def _back() -> Html:
    return element("p", element("a", "All rules and domains", href=PATH))


def _key_link(key: str) -> Html:
    return named(key, PATH, {"key": key})


def _domain_link(key: str, value: str) -> Html:
    return named(value, PATH, {"key": key, "value": value})


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
