"""What was done in the last hour, for pods and with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extender.core.controllers.history import EVICTION, Entry, History
from extender.core.web.offered import View
from extender.features.page.address import Address
from extender.features.page.status import Shown

PATH: Final = "/page/activity"
PARAMETERS: Final = frozenset(("kind", "q", "page"))

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


def activity(shown: Shown, asked: Address) -> View:
    """Return the page."""
    history = shown.history
    kind, wanted = asked.get("kind"), asked.get("q")
    kinds = ("", *history.told, EVICTION)
    asked.one_of("kind", kinds)

    def fits(each: Entry) -> bool:
        found = wanted in each.pod or wanted in (each.node or "") or wanted in each.note
        return found and (not kind or each.kind == kind)

    chosen = asked.choose(history.latest(), fits)
    rows = [_row(history, each) for each in chosen.rows]
    return View("activity.html", {"kinds": kinds, "kind": kind, "chosen": chosen, "rows": rows})


def _row(history: History, each: Entry) -> Mapping[str, Any]:
    told = history.told.get(each.kind, RESULTS)
    said = told.get(each.result, f"{each.kind} {each.result}")
    return {"entry": each, "said": said, "bad": each.result in BAD}
