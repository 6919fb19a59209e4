"""Which required rules placed pods break, and what becomes of the pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from extender.cluster.audits.violations import Violation, Witnesses
from extender.cluster.state import ClusterState
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.eviction.record import Record
from extender.controllers.violations import RULES, place
from extender.model.wording import pods_of
from extender.verbs.evicting import breach_in_words
from extender.web.page.html import element
from extender.web.page.layout import clock_time, heading, notice, soft
from extender.web.page.overview import explain_link
from extender.web.page.status import Shown
from extender.web.page.tables import Asked, Column, Steps, listing, search, texts

PATH: Final = "/page/violations"
PARAMETERS: Final = frozenset(("q", "sort", "page"))

BROKEN: Final = (
    Column("Where", sort="where"),
    Column("Rule", sort="rule"),
    *texts("About", "Carried by", "Broken by"),
)
PODS: Final = tuple(texts("Pod", "Node", "Broken", "Since", "What becomes of it"))


_Broken: TypeAlias = tuple[Violation, Witnesses]


def violations(shown: Shown, asked: Asked) -> Steps:
    """Yield the page."""
    state, eviction = shown.known, shown.eviction
    if eviction is not None:
        yield from _pods(state, eviction, asked)
    yield heading("Required rules that are broken")
    yield search(asked, "Pod, labels or domain")
    wanted = asked.get("q").lower()
    yield from listing(
        asked,
        "rules",
        BROKEN,
        list(shown.watch.known.items()),
        _rule_row,
        fits=lambda each: not wanted or any(wanted in text.lower() for text in _texts(each)),
        order=asked.order({"where": _where, "rule": lambda each: _where(each)[::-1]}),
        caption="{:,} rules, each counted once a topology domain".format,
        nothing="None." if wanted else "No placed pod breaks a required rule.",
    )


def _where(broken: _Broken) -> tuple[str, str]:
    violation, _ = broken
    return place(violation), RULES[violation.role]


def _texts(broken: _Broken) -> Sequence[str]:
    violation, shown = broken
    return shown.owner, shown.other or "", pods_of(violation.term.pods), place(violation)


def _rule_row(broken: _Broken) -> Sequence[str]:
    violation, shown = broken
    return (
        *_where(broken),
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

    def row(record: Record) -> Sequence[str] | None:
        pod = state.pod(*record.identity)
        if pod is None:
            return None
        why = f": {record.why}" if record.why else ""
        return (
            explain_link(pod.key),
            pod.node or "",
            "" if record.cause is None else breach_in_words(pod, record.cause),
            clock_time(record.since_epoch),
            f"{record.outcome.words}{why}",
        )

    yield from listing(
        asked,
        "pods",
        PODS,
        list(eviction.broken.records.values()),
        row,
        fits=lambda each: wanted in each.identity.key,
        order=lambda each: (each.since_epoch, each.identity),
        caption="{:,} pods, the one that has done so for longest first".format,
    )
