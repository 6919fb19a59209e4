"""Which placed pods break required rules, which would sit better elsewhere, and what keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from extender.cluster.audits.violations import Violation, Witnesses
from extender.cluster.counts.existing_term import Role
from extender.cluster.state import ClusterState
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.eviction.record import Record
from extender.controllers.eviction.repair import RepairController
from extender.controllers.eviction.repair_mover import Prospect
from extender.features.violations.answer import findings
from extender.features.violations.found import Found
from extender.features.violations.patrol import RULES, place
from extender.model.pod_affinity import Term
from extender.model.wording import plural, pods_of
from extender.verbs.evicting import Finding
from extender.verbs.repair import Improvement
from extender.web.page.html import element
from extender.web.page.layout import clock_time, explain_link, heading, notice, soft
from extender.web.page.tables import (
    Asked,
    Column,
    Page,
    Steps,
    choosing,
    numbers,
    paged,
    search,
    texts,
)

BROKEN: Final = (
    Column("Where", sort="where"),
    Column("Rule", sort="rule"),
    *texts("About", "Carried by", "Broken by"),
)
PODS: Final = tuple(texts("Pod", "Node", "Broken", "Since", "What becomes of it"))
IMPROVABLE: Final = (
    *texts("Pod", "Node", "Better node"),
    *numbers("Gain by its own rules", "By all rules"),
    *texts("What keeps it"),
)

_Broken: TypeAlias = tuple[Violation, Witnesses]
_Rule: TypeAlias = tuple[tuple[str, str, str, str], _Broken, int]
"""Where it is broken first, by name, as it is sorted and shown, and in how many domains."""


def violations(found: Found, asked: Asked) -> Steps:
    """Yield the page."""
    state, eviction = found.known, found.eviction
    if eviction is not None:
        yield from _pods(state, eviction, asked)
    yield from _rules(found, asked)
    if found.repair is not None:
        yield from _improvable(found.repair, asked)


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


def _pods(state: ClusterState, eviction: EvictionController, asked: Asked) -> Steps:
    wanted = asked.get("q")
    yield heading("Pods that break a rule which holds during execution")
    if eviction.paused:
        why = "Too many pods are affected: see requiredDuringExecution.maxAffected."
        yield notice("Evictions are paused", element("p", why))
    elif not eviction.leads:
        yield soft("Another replica evicts.")
    page: Page[Record] = yield from choosing(
        list(eviction.broken.records.values()),
        lambda each: wanted in each.identity.key,
        lambda each: (each.since_epoch, each.identity),
        asked.page,
    )
    caption = f"{page.found:,} pods, the one that has done so for longest first"
    rows = (_pod_row(each) for each in findings(state, page.rows))
    yield from paged(asked, "pods", caption, PODS, rows, page=page)


def _pod_row(found: Finding) -> Sequence[str]:
    return (
        explain_link(found.pod.key),
        found.pod.node or "",
        found.broken,
        clock_time(found.since or 0.0),
        found.becomes,
    )


def _improvable(repair: RepairController, asked: Asked) -> Steps:
    wanted = asked.get("q")
    yield heading("Pods that would sit better elsewhere")
    page: Page[tuple[Improvement, Prospect]] = yield from choosing(
        repair.prospects,
        lambda each: wanted in each[0].pod.key,
        lambda each: (-each[0].own, -each[0].total, each[0].pod.key),
        asked.page,
    )
    if not page.found:
        yield soft("None, by preferred rules.")
        return
    caption = f"{plural(page.found, 'pod')}, one of each controller, that which gains most first"
    rows = (_improvable_row(*each) for each in page.rows)
    yield from paged(asked, "improvable", caption, IMPROVABLE, rows, page=page)


def _improvable_row(found: Improvement, known: Prospect) -> Sequence[str]:
    return (
        explain_link(found.pod.key),
        found.pod.node or "",
        found.target,
        f"{found.own:,}",
        f"{found.total:,}",
        known.outcome.because(known.why),
    )
