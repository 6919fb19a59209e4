"""Who uses affinity across namespaces, and what quotas say about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from extender.cluster.state import ClusterState
from extender.features.quota.objects import write_use
from extender.features.quota.survey import NamespaceUse, counting_use, in_words
from extender.model.keys import name_of
from extender.web.page.html import joined
from extender.web.page.layout import explain_link, soft
from extender.web.page.tables import Asked, Column, Steps, choosing, paged, search, texts

MOST_LIMITS: Final = 20
"""Limits of one namespace that are shown."""

COLUMNS: Final = (
    Column("Namespace", sort="name"),
    Column("Placed", number=True, sort="placed"),
    Column("Waiting", number=True, sort="waiting"),
    Column("Refused now", number=True, sort="refused"),
    *texts("One of those", "Quota, resource, used of limit"),
)


ORDERS: Final[Mapping[str, Callable[[NamespaceUse], Any]]] = {
    "name": lambda each: each.name,
    "placed": lambda each: (-each.placed, each.name),
    "waiting": lambda each: (-each.waiting, each.name),
    "refused": lambda each: (-each.refused, each.name),
}


def quotas(state: ClusterState, asked: Asked, *, limited: bool) -> Steps:
    """Yield the page."""
    needed = "needs a quota that allows it" if limited else "is allowed unless a quota refuses it"
    yield soft(f"A pod with affinity across namespaces {needed}.")
    found = yield from counting_use(state, limited=limited)
    yield search(asked, "Part of a namespace's name")
    wanted = asked.get("q")
    chosen = choosing(found, lambda each: wanted in each.name, asked.order(ORDERS), asked.page)
    page = yield from chosen
    caption = f"{page.found:,} namespaces that have such pods, or quotas for them"
    yield from paged(asked, "quotas", caption, COLUMNS, map(_row, page.rows), page=page)


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
