"""Who uses affinity across namespaces, and what quotas say about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from extender.cluster.state import ClusterState
from extender.model.keys import name_of
from extender.verbs.quota_survey import NamespaceUse, counting_use, in_words
from extender.web.page.html import joined
from extender.web.page.layout import soft
from extender.web.page.overview import explain_link
from extender.web.page.tables import Asked, Column, Steps, choosing, pager, search, table
from extender.wire.quotas import write_use

PATH: Final = "/page/quotas"
PARAMETERS: Final = frozenset(("q", "sort", "page"))

MOST_LIMITS: Final = 20
"""Limits of one namespace that are shown."""

COLUMNS: Final = (
    Column("Namespace", sort="name"),
    Column("Placed", number=True, sort="placed"),
    Column("Waiting", number=True, sort="waiting"),
    Column("Refused now", number=True, sort="refused"),
    Column("One of those"),
    Column("Quota, resource, used of limit"),
)


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """What the configuration says of quotas."""

    looked_at: bool = False
    limited_by_default: bool = False


NOT_LOOKED_AT: Final = QuotaSettings()


def quotas(state: ClusterState, settings: QuotaSettings, asked: Asked) -> Steps:
    """Yield the page."""
    if not settings.looked_at:
        yield soft(
            "Quotas on affinity across namespaces are not looked at: plugins does not have "
            "CrossNamespacePodAffinity."
        )
        return
    limited = settings.limited_by_default
    needed = "needs a quota that allows it" if limited else "is allowed unless a quota refuses it"
    yield soft(f"A pod with affinity across namespaces {needed}.")
    found = yield from counting_use(state, limited=limited)
    yield search(asked, "Part of a namespace's name")
    wanted = asked.get("q")
    by = asked.one_of("sort", ("name", "placed", "waiting", "refused"))

    def order(each: NamespaceUse) -> tuple[int, str]:
        return (0 if by == "name" else -getattr(each, by)), each.name

    page = yield from choosing(
        found, lambda each: wanted in each.name, order, asked.number("page", 1)
    )
    caption = f"{page.found:,} namespaces that have such pods, or quotas for them"
    yield from table("quotas", caption, COLUMNS, map(_row, page.rows), asked)
    yield pager(asked, page)


def _row(each: NamespaceUse) -> Sequence[str]:
    example = each.example
    shown = ""
    if example is not None:
        shown = joined(explain_link(example.pod.key), f": {in_words(example.shortfall)}")
    limits = list(_limits(each))
    more = len(limits) - MOST_LIMITS
    said = "; ".join(limits[:MOST_LIMITS]) + (f"; and {more:,} more" if more > 0 else "")
    numbers: Iterable[int] = (each.placed, each.waiting, each.refused)
    return (each.name, *(f"{number:,}" for number in numbers), shown, said or "no quota")


def _limits(each: NamespaceUse) -> Iterator[str]:
    for quota in each.quotas:
        name = name_of(quota.quota.key)
        for resource, used, hard in write_use(quota):
            yield f"{name}: {resource} {used} of {hard}"
