"""Which required rules placed pods break, and what becomes of the pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from extender.cluster.audits.violations import Violation, Watch, Witnesses
from extender.cluster.state import ClusterState
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.eviction.record import Record
from extender.controllers.violations import RULES, place
from extender.model.wording import pods_of
from extender.verbs.evicting import breach_in_words
from extender.web.page.html import element
from extender.web.page.layout import clock_time, heading, soft
from extender.web.page.overview import explain_link
from extender.web.page.tables import Asked, Column, Page, Steps, choosing, pager, search, table

PATH: Final = "/page/violations"
PARAMETERS: Final = frozenset(("q", "sort", "page"))

BROKEN: Final = (
    Column("Where", sort="where"),
    Column("Rule", sort="rule"),
    Column("About"),
    Column("Carried by"),
    Column("Broken by"),
)
PODS: Final = (
    Column("Pod"),
    Column("Node"),
    Column("Broken"),
    Column("Since"),
    Column("What becomes of it"),
)


def violations(
    state: ClusterState, watch: Watch, eviction: EvictionController | None, asked: Asked
) -> Steps:
    """Yield the page."""
    number = asked.number("page", 1)
    if eviction is not None:
        yield from _pods(state, eviction, asked)
    yield heading("Required rules that are broken")
    yield search(asked, "Pod, labels or domain")
    wanted = asked.get("q").lower()
    by = asked.one_of("sort", ("where", "rule"))

    def fits(each: tuple[Violation, Witnesses]) -> bool:
        return not wanted or any(wanted in text.lower() for text in _texts(*each))

    def order(each: tuple[Violation, Witnesses]) -> tuple[str, str]:
        rule, where = RULES[each[0].role], place(each[0])
        return (where, rule) if by == "where" else (rule, where)

    page = yield from choosing(list(watch.known.items()), fits, order, number)
    if not page.found:
        yield soft("None." if wanted else "No placed pod breaks a required rule.")
        return
    caption = f"{page.found:,} rules, each counted once a topology domain"
    yield from table("rules", caption, BROKEN, (_rule_row(*each) for each in page.rows), asked)
    yield pager(asked, page)


def _texts(violation: Violation, shown: Witnesses) -> Sequence[str]:
    return shown.owner, shown.other or "", pods_of(violation.term.pods), place(violation)


def _rule_row(violation: Violation, shown: Witnesses) -> Sequence[str]:
    return (
        place(violation),
        RULES[violation.role],
        pods_of(violation.term.pods),
        explain_link(shown.owner),
        "no such pod is there" if shown.other is None else explain_link(shown.other),
    )


def _pods(state: ClusterState, eviction: EvictionController, asked: Asked) -> Steps:
    wanted = asked.get("q")
    yield heading("Pods that break a rule which holds during execution")
    if eviction.paused:
        strong = element("strong", "Evictions are paused")
        why = element("p", "Too many pods are affected: see requiredDuringExecution.maxAffected.")
        yield element("div", strong, why, class_="state", role="status")
    elif not eviction.leads:
        yield soft("Another replica evicts.")
    records = list(eviction.broken.records.values())
    page: Page[Record] = yield from choosing(
        records,
        lambda each: wanted in each.identity.key,
        lambda each: (each.since_epoch, each.identity),
        asked.number("page", 1),
    )
    caption = f"{page.found:,} pods, the one that has done so for longest first"
    yield from table("pods", caption, PODS, _pod_rows(state, page.rows))
    yield pager(asked, page)


def _pod_rows(state: ClusterState, records: Sequence[Record]) -> Iterator[Sequence[str]]:
    for each in records:
        pod = state.pod(*each.identity)
        if pod is not None:
            why = f"{each.outcome.words}: {each.why}" if each.why else each.outcome.words
            yield (
                explain_link(pod.key),
                pod.node or "",
                "" if each.cause is None else breach_in_words(pod, each.cause),
                clock_time(each.since_epoch),
                why,
            )
