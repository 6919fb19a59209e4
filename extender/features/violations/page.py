"""Which placed pods break required rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from extender.cluster.audits.violations import Violation, Witnesses
from extender.cluster.counts.existing_term import Role
from extender.features.violations.found import Found
from extender.features.violations.patrol import RULES, place
from extender.model.pod_affinity import Term
from extender.model.wording import plural, pods_of
from extender.web.page.layout import explain_link, heading, soft
from extender.web.page.tables import (
    Asked,
    Column,
    Steps,
    choosing,
    paged,
    search,
    texts,
)

BROKEN: Final = (
    Column("Where", sort="where"),
    Column("Rule", sort="rule"),
    *texts("About", "Carried by", "Broken by"),
)

_Broken: TypeAlias = tuple[Violation, Witnesses]
_Rule: TypeAlias = tuple[tuple[str, str, str, str], _Broken, int]
"""Where it is broken first, by name, as it is sorted and shown, and in how many domains."""


def violations(found: Found, asked: Asked) -> Steps:
    """Yield the page."""
    found.check_known()
    for each in found.others:
        yield from each.above(asked)
    yield from _rules(found, asked)
    for each in found.others:
        yield from each.below(asked)


def _rules(found: Found, asked: Asked) -> Steps:
    yield heading("Required rules that are broken")
    yield search(asked, "Pod, labels or domain")
    wanted = asked.get("q").lower()

    rules: dict[tuple[Role, Term], _Rule] = {}
    for violation, pods in list(found.watch.known.items()):
        broken = violation, pods
        if not wanted or any(wanted in text.lower() for text in _texts(broken)):
            rule, where = (violation.role, violation.term), _place(broken)
            first, shown_first, domains = rules.get(rule, (where, broken, 0))
            if where <= first:
                first, shown_first = where, broken
            rules[rule] = first, shown_first, domains + 1
        yield None
    order = asked.order({"where": _by_place, "rule": _by_rule})
    page = yield from choosing(rules.values(), lambda _: True, order, asked.page)
    if not page.found:
        yield soft("None." if wanted else "No placed pod breaks a required rule.")
        return
    caption = plural(page.found, "rule")
    yield from paged(asked, "rules", caption, BROKEN, map(_rule_row, page.rows), page=page)


def _place(broken: _Broken) -> tuple[str, str, str, str]:
    violation, shown = broken
    return place(violation), RULES[violation.role], shown.owner, shown.other or ""


def _by_place(rule: _Rule) -> tuple[str, str, str, str]:
    return rule[0]


def _by_rule(rule: _Rule) -> tuple[str, str, str, str]:
    where, kind, owner, other = rule[0]
    return kind, where, owner, other


def _texts(broken: _Broken) -> Sequence[str]:
    violation, shown = broken
    return shown.owner, shown.other or "", pods_of(violation.term.pods), place(violation)


def _rule_row(rule: _Rule) -> Sequence[str]:
    where, (violation, shown), domains = rule
    more = f" and {plural(domains - 1, 'more domain')}" if domains > 1 else ""
    return (
        f"{where[0]}{more}",
        RULES[violation.role],
        pods_of(violation.term.pods),
        explain_link(shown.owner),
        "no such pod is there" if shown.other is None else explain_link(shown.other),
    )
