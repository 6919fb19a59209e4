"""Which pods break a rule while they run, which would sit better elsewhere, and what keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extender.cluster.state import ClusterState
from extender.features.moving.eviction import EvictionController
from extender.features.moving.findings import findings
from extender.features.moving.record import Record
from extender.features.moving.repair import RepairController
from extender.features.moving.repair_mover import Prospect
from extender.features.moving.rules.evicting import Finding
from extender.features.moving.rules.improving import Improvement
from extender.model.wording import plural
from extender.web.page.html import element
from extender.web.page.layout import clock_time, explain_link, heading, notice, soft
from extender.web.page.tables import Asked, Page, Steps, choosing, numbers, paged, texts

PODS: Final = tuple(texts("Pod", "Node", "Broken", "Since", "What becomes of it"))
IMPROVABLE: Final = (
    *texts("Pod", "Node", "Better node"),
    *numbers("Gain by its own rules", "By all rules"),
    *texts("What keeps it"),
)


def pods(state: ClusterState, eviction: EvictionController, asked: Asked) -> Steps:
    """Yield the pods that break a rule."""
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


def improvable(repair: RepairController, asked: Asked) -> Steps:
    """Yield the pods that would sit better elsewhere."""
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
