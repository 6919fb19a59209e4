"""What was done in the last hour, for pods and with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extender.controllers.history import EVICTION, Entry, History
from extender.web.page.html import element
from extender.web.page.layout import clock_time, explain_link, soft
from extender.web.page.status import Shown
from extender.web.page.tables import Asked, Column, Steps, choosing, field, labelled, paged, texts

PATH: Final = "/page/activity"
PARAMETERS: Final = frozenset(("kind", "q", "page"))

ENTRIES: Final = (Column("When", kind="short"), *texts("What", "Pod", "Node", "More"))

RESULTS: Final = {
    "evicted": "evicted",
    "gone": "gone before its eviction",
    "refused": "eviction refused by a budget",
    "dryRun": "would be evicted (dry run)",
    "failed": "eviction failed",
    "landed": "its successor is better off",
    "missed": "moved for nothing",
    "undone": "moved for nothing: undone soon",
}
BAD: Final = frozenset(("failed", "refused"))


def activity(shown: Shown, asked: Asked) -> Steps:
    """Yield the page."""
    kinds = ("", *shown.history.told, EVICTION)
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
    rows = (_row(shown.history, each) for each in page.rows)
    yield from paged(asked, "activity", caption, ENTRIES, rows, page=page)


def _row(history: History, each: Entry) -> Sequence[str]:
    told = history.told.get(each.kind, RESULTS)
    said: str = told.get(each.result, f"{each.kind} {each.result}")
    if each.result in BAD:
        said = element("span", said, class_="bad")
    return clock_time(each.at), said, explain_link(each.pod), each.node or "", each.note
