"""Which rules placed pods carry, and in which topology domains they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from extender.core.cluster.counts.existing_term import Role
from extender.core.cluster.state import ClusterState
from extender.core.model.wording import pods_of, some
from extender.core.web.offered import View
from extender.features.page.address import Address
from extender.features.page.census import (
    Carried,
    carried,
    carried_in,
    nodes_by_domain,
    nodes_in,
    of_term,
    terms_by_topology,
)
from extender.features.page.status import Shown

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
    return View("rules.html", {"used": used, **_terms(asked, carried(state))})


def _terms(asked: Address, terms: Iterable[Carried]) -> Mapping[str, Any]:
    wanted = asked.get("q").lower()

    def fits(each: Carried) -> bool:
        term = each.existing.term
        said = f"{KINDS[each.existing.role]} {pods_of(term.pods)} {term.topology_key}"
        return wanted in said.lower()

    chosen = asked.choose(
        terms,
        fits if wanted else lambda _: True,
        {
            "key": lambda each: (each.existing.term.topology_key, each.existing.number),
            "carriers": lambda each: (-each.amount, each.existing.number),
            "domains": lambda each: (-len(each.existing.owners.counts), each.existing.number),
        },
    )
    return {"chosen": chosen, "terms": list(map(_row, chosen.rows))}


def _row(each: Carried) -> Mapping[str, Any]:
    existing = each.existing
    return {
        "number": existing.number,
        "kind": KINDS[existing.role] + (", by annotation" if existing.annotated else ""),
        "about": pods_of(existing.term.pods),
        "key": existing.term.topology_key,
        "amount": each.amount,
        "is_weight": existing.role is Role.PREFERRED,
        "domains": len(existing.owners.counts),
    }


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
    nodes = nodes_in(state, key, value)
    values = {
        "label": f"{key}={value}",
        "count": len(nodes),
        "names": some(nodes, len(nodes), NAMED),
        **_terms(asked, carried_in(state, key, value)),
    }
    return View("domain.html", values)


def _one_term(state: ClusterState, asked: Address) -> View:
    found = of_term(state, asked.number("term", 0))
    existing, owners, matched = found.existing, found.owners, found.matched
    term, wanted = existing.term, asked.get("q").lower()
    chosen = asked.choose(
        found.domains,
        lambda value: wanted in value.lower(),
        {
            "name": lambda value: value,
            "carriers": lambda value: (-owners.get(value, 0), value),
            "matched": lambda value: (-matched[value], value),
        },
    )
    values = {
        "title": f"Term {existing.number}: {KINDS[existing.role]} over {term.topology_key}",
        "about": pods_of(term.pods),
        "namespaces": some(found.namespaces, len(found.namespaces), NAMED),
        "annotated": existing.annotated,
        "carriers": sum(owners.values()),
        "is_weight": existing.role is Role.PREFERRED,
        "matched": matched.total(),
        "count": len(found.domains),
        "chosen": chosen,
        "rows": [(value, owners.get(value, 0), matched[value]) for value in chosen.rows],
    }
    return View("term.html", values)
