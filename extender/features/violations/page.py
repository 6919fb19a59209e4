"""Which placed pods break required rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from extender.core.cluster.counts.existing_term import Role
from extender.core.model.pod_affinity import Term
from extender.core.model.wording import plural, pods_of
from extender.core.web.offered import Asked, View
from extender.diagnosis.verbs.violations import Violation, Witnesses
from extender.features.violations.found import Found
from extender.features.violations.patrol import RULES, place

_Broken: TypeAlias = tuple[Violation, Witnesses]
_Rule: TypeAlias = tuple[tuple[str, str, str, str], _Broken, int]
"""Where it is broken first, by name, as it is sorted and shown, and in how many domains."""


def violations(found: Found, asked: Asked) -> View:
    """Return the page."""
    found.check_known()
    others = found.others
    above = list(chain.from_iterable(each.above(asked) for each in others))
    below = list(chain.from_iterable(each.below(asked) for each in others))
    values = {"wanted": asked.get("q"), "above": above, "below": below, **_rules(found, asked)}
    return View("violations/templates/violations.html", values)


def _rules(found: Found, asked: Asked) -> Mapping[str, Any]:
    wanted = asked.get("q").lower()
    rules: dict[tuple[Role, Term], _Rule] = {}
    for broken in found.watch.known.items():
        if not wanted or any(wanted in text.lower() for text in _texts(broken)):
            violation, _ = broken
            rule, where = (violation.role, violation.term), _place(broken)
            first, shown_first, domains = rules.get(rule, (where, broken, 0))
            if where <= first:
                first, shown_first = where, broken
            rules[rule] = first, shown_first, domains + 1
    orders = {"where": _by_place, "rule": _by_rule}
    chosen = asked.choose(rules.values(), lambda _: True, orders)
    caption = plural(chosen.found, "rule")
    return {"caption": caption, "chosen": chosen, "rows": list(map(_row, chosen.rows))}


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


def _row(rule: _Rule) -> Mapping[str, Any]:
    where, (violation, shown), domains = rule
    more = f" and {plural(domains - 1, 'more domain')}" if domains > 1 else ""
    return {
        "where": f"{where[0]}{more}",
        "rule": RULES[violation.role],
        "about": pods_of(violation.term.pods),
        "owner": shown.owner,
        "other": shown.other,
    }
