"""Which rules placed pods carry, and in which topology domains they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Final, TypeAlias

from extender.cluster.audits.overview import (
    amount_in,
    choosing_namespaces,
    counting_matched,
    grouping_nodes,
)
from extender.cluster.counts.existing_term import ExistingTerm, Role
from extender.cluster.state import ClusterState
from extender.model.wording import pods_of, some
from extender.web.page.html import Html, code, element, joined, named
from extender.web.page.layout import definitions, heading, soft
from extender.web.page.status import Shown
from extender.web.page.tables import (
    Asked,
    Column,
    Steps,
    choosing,
    numbers,
    paged,
    search,
    table,
    texts,
)
from extender.web.turns import QueryError

PATH: Final = "/page/domains"
PARAMETERS: Final = frozenset(("key", "value", "term", "q", "sort", "page"))

NAMED: Final = 5
"""Names where there may be thousands; a count stands beside them."""

KINDS: Final = {
    Role.REQUIRED: "affinity",
    Role.REQUIRED_ANTI: "anti-affinity",
    Role.PREFERRED: "preferred",
    Role.LIMIT: "anti-affinity with a limit",
}

TERMS: Final = (
    *texts("Term", "Rule", "About"),
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
TOPOLOGIES: Final = (*texts("Topology key"), *numbers("Domains", "Terms"))


_Term: TypeAlias = tuple[ExistingTerm, int]
"""A term with its carriers, or, of a preferred one, the sum of their weights."""


def domains(shown: Shown, asked: Asked) -> Steps:
    """Yield the page: all rules, one of them, the domains of a key, or one domain."""
    state = shown.known
    if asked.get("term"):
        yield from _one_term(state, asked)
    elif "value" in asked.query:
        yield from _one_domain(state, asked)
    elif asked.get("key"):
        yield from _topology(state, asked)
    else:
        yield from _everything(state, asked)


def _everything(state: ClusterState, asked: Asked) -> Steps:
    used = yield from state.existing_terms.counting_by_topology()
    if not used:
        yield soft("No placed pod has a rule about other pods.")
        return
    yield heading("Topology keys")
    rows = (
        (named(each.key, PATH, {"key": each.key}), f"{each.domains:,}", f"{number:,}")
        for each, number in used.most_common(20)
    )
    caption = "Keys that rules use, those of most rules first"
    yield from table("topologies", caption, TOPOLOGIES, rows)
    yield heading("Rules")
    yield search(asked, "Labels, namespaces or a topology key")
    counted = ((each, each.amount) for each in state.existing_terms.after(0))
    yield from _terms(asked, counted, "Terms that placed pods carry")


def _terms(asked: Asked, terms: Iterator[_Term], caption: str, *, held: bool = False) -> Steps:
    wanted = asked.get("q").lower()

    def fits(each: _Term) -> bool:
        existing, amount = each
        if not wanted or (held and not amount):
            return bool(amount) or not held
        about, key = pods_of(existing.term.pods), existing.term.topology_key
        return wanted in f"{KINDS[existing.role]} {about} {key}".lower()

    order = asked.order(
        {
            "key": lambda each: (each[0].term.topology_key, each[0].number),
            "carriers": lambda each: (-each[1], each[0].number),
            "domains": lambda each: (-len(each[0].owners.counts), each[0].number),
        }
    )
    page = yield from choosing(terms, fits, order, asked.page)
    said = f"{caption}: {page.found:,}" + (" that match" if wanted else "")
    yield from paged(asked, "terms", said, TERMS, map(_term_row, page.rows), page=page)


def _term_row(each: _Term) -> Sequence[str]:
    existing, amount = each
    weight = " (weight)" if existing.role is Role.PREFERRED else ""
    return (
        element("a", f"{existing.number}", href=f"{PATH}?term={existing.number}"),
        KINDS[existing.role] + (", by annotation" if existing.annotated else ""),
        pods_of(existing.term.pods),
        code(existing.term.topology_key),
        f"{amount:,}{weight}",
        f"{len(existing.owners.counts):,}",
    )


def _topology(state: ClusterState, asked: Asked) -> Steps:
    key, wanted = asked.get("key"), asked.get("q").lower()
    nodes = yield from grouping_nodes(state, key)
    yield joined(_back(), heading(f"Domains of {key}"))
    yield search(asked, "Name of a domain", "key")
    order = asked.order(
        {"name": lambda value: value, "nodes": lambda value: (-len(nodes[value]), value)}
    )
    page = yield from choosing(nodes, lambda value: wanted in value.lower(), order, asked.page)
    caption = f"{page.found:,} of {len(nodes):,} values that nodes have"
    rows = (
        (
            named(each, PATH, {"key": key, "value": each}),
            f"{len(nodes[each]):,}",
            some(nodes[each], len(nodes[each]), NAMED),
        )
        for each in page.rows
    )
    yield from paged(asked, "domains", caption, DOMAINS, rows, page=page)


def _one_domain(state: ClusterState, asked: Asked) -> Steps:
    key, value = asked.get("key"), asked.get("value")
    nodes = (yield from grouping_nodes(state, key)).get(value)
    if nodes is None:
        raise QueryError(HTTPStatus.NOT_FOUND, f"no node has the label {key}={value}")
    yield joined(_back(), heading(f"{key}={value}"))
    yield element("p", f"{len(nodes):,} nodes: ", some(nodes, len(nodes), NAMED))
    yield search(asked, "Labels, namespaces or a topology key", "key", "value")
    there = (
        (each, amount_in(each, value) if each.term.topology_key == key else 0)
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
    unit = " (sum of weights)" if existing.role is Role.PREFERRED else ""
    title = f"Term {number}: {KINDS[existing.role]} over {term.topology_key}"
    yield joined(_back(), heading(title))
    yield definitions(
        (
            ("About", pods_of(term.pods)),
            ("Namespaces now", some(spaces, len(spaces), NAMED)),
            ("Source", "annotation" if existing.annotated else "spec"),
            ("Carriers", f"{sum(owners.values()):,}{unit}"),
            ("Matched", f"{matched.total():,} placed pods"),
        )
    )
    yield search(asked, "Name of a domain", "term")
    yield from _domains_of(asked, owners, matched)


def _domains_of(asked: Asked, owners: dict[str, int], matched: Counter[str]) -> Steps:
    wanted = asked.get("q").lower()
    values = {*owners, *matched}
    order = asked.order(
        {
            "name": lambda value: value,
            "carriers": lambda value: (-owners.get(value, 0), value),
            "matched": lambda value: (-matched[value], value),
        }
    )
    page = yield from choosing(values, lambda value: wanted in value.lower(), order, asked.page)
    caption = f"{page.found:,} of {len(values):,} domains"
    rows = ((code(v), f"{owners.get(v, 0):,}", f"{matched[v]:,}") for v in page.rows)
    yield from paged(asked, "domains", caption, OF_TERM, rows, page=page)


def _back() -> Html:
    return element("p", element("a", "All rules and domains", href=PATH))
