"""What was done in the last hour: hints, preemptions and evictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extender.controllers.history import Entry, Kind
from extender.web.page.html import element
from extender.web.page.layout import clock_time, explain_link, soft
from extender.web.page.status import Shown
from extender.web.page.tables import Asked, Column, Steps, choosing, field, labelled, paged, texts

PATH: Final = "/page/activity"
PARAMETERS: Final = frozenset(("kind", "q", "page"))

ENTRIES: Final = (Column("When", kind="short"), *texts("What", "Pod", "Node", "More"))

RESULTS: Final = {
    (Kind.HINT, "set"): "node nominated",
    (Kind.HINT, "renewed"): "node nominated again",
    (Kind.HINT, "taken"): "hint taken: the pod is there",
    (Kind.HINT, "elsewhere"): "bound elsewhere",
    (Kind.HINT, "gone"): "pod deleted",
    (Kind.HINT, "refused"): "withdrawn: the node was refused",
    (Kind.HINT, "withdrawn"): "withdrawn: not taken in time",
    (Kind.HINT, "preempted"): "left to a preemption",
    (Kind.HINT, "failed"): "hint failed",
    (Kind.HINT, "skipped"): "not nominated: somebody else did",
    (Kind.PREEMPTION, "started"): "preemption begins",
    (Kind.PREEMPTION, "bound"): "preemptor bound",
    (Kind.PREEMPTION, "elsewhere"): "preemptor bound elsewhere",
    (Kind.PREEMPTION, "gone"): "preemptor deleted",
    (Kind.PREEMPTION, "overtaken"): "preemption overtaken",
    (Kind.PREEMPTION, "useless"): "preemption of no use any more",
    (Kind.PREEMPTION, "failed"): "preemption failed",
    (Kind.PREEMPTION, "exhausted"): "no more pods are evicted for it",
    (Kind.EVICTION, "evicted"): "evicted",
    (Kind.EVICTION, "gone"): "gone before its eviction",
    (Kind.EVICTION, "refused"): "eviction refused by a budget",
    (Kind.EVICTION, "dryRun"): "would be evicted (dry run)",
    (Kind.EVICTION, "failed"): "eviction failed",
    (Kind.EVICTION, "landed"): "its successor is better off",
    (Kind.EVICTION, "missed"): "moved for nothing",
    (Kind.EVICTION, "undone"): "moved for nothing: undone soon",
}
BAD: Final = frozenset(("failed", "refused"))


def activity(shown: Shown, asked: Asked) -> Steps:
    """Yield the page."""
    kinds = ("", *Kind)
    kind, wanted = asked.get("kind"), asked.get("q")
    asked.one_of("kind", kinds)
    options = (
        element("option", name or "all", value=name, selected=name == kind) for name in kinds
    )
    yield element(
        "form",
        labelled("kind", "What", "select", *options),
        field("q", "Part of a name", wanted),
        element("button", "Show", type="submit"),
        role="search",
        method="get",
        action=PATH,
    )

    def fits(each: Entry) -> bool:
        found = wanted in each.pod or wanted in (each.node or "") or wanted in each.note
        return found and (not kind or each.kind == kind)

    page = yield from choosing(shown.history.latest(), fits, None, asked.page)
    if not page.found:
        yield soft("Nothing of that was done in the last hour.")
        return
    caption = (
        f"{page.found:,} of the last hour, the latest first; the oldest of very many are left out"
    )
    yield from paged(asked, "activity", caption, ENTRIES, map(_row, page.rows), page=page)


def _row(each: Entry) -> Sequence[str]:
    said: str = RESULTS.get((each.kind, each.result), f"{each.kind} {each.result}")
    if each.result in BAD:
        said = element("span", said, class_="bad")
    return clock_time(each.at), said, explain_link(each.pod), each.node or "", each.note
