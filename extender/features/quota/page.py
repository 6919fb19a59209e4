"""Who uses affinity across namespaces, and what quotas say about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import name_of
from extender.core.web.offered import Asked, View
from extender.core.web.turns import in_slices
from extender.features.quota.objects import write_use
from extender.features.quota.survey import NamespaceUse, counting_use, in_words

MOST_LIMITS: Final = 20

ORDERS: Final[Mapping[str, Callable[[NamespaceUse], Any]]] = {
    "name": lambda each: each.name,
    "placed": lambda each: (-each.placed, each.name),
    "waiting": lambda each: (-each.waiting, each.name),
    "refused": lambda each: (-each.refused, each.name),
}


async def quotas(state: ClusterState, asked: Asked, *, limited: bool) -> View:
    """Return the page; with tens of thousands of pods that wait, that takes half a second."""
    wanted = asked.get("q")
    found = await in_slices(counting_use(state, limited=limited))
    chosen = asked.choose(found, lambda each: wanted in each.name, ORDERS)
    rows = [_row(each) for each in chosen.rows]
    values = {"limited": limited, "chosen": chosen, "rows": rows}
    return View("quota/templates/quotas.html", values)


def _row(each: NamespaceUse) -> Mapping[str, Any]:
    limits = list(_limits(each))
    more = len(limits) - MOST_LIMITS
    said = "; ".join(limits[:MOST_LIMITS]) + (f"; and {more:,} more" if more > 0 else "")
    example = each.example
    why = None if example is None else in_words(example.shortfall)
    return {"use": each, "why": why, "limits": said or "no quota"}


def _limits(each: NamespaceUse) -> Iterator[str]:
    for quota in each.quotas:
        name = name_of(quota.quota.key)
        for resource, used, hard in write_use(quota):
            yield f"{name}: {resource} {used} of {hard}"
