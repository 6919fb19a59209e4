"""Which pods break a rule while they run, which would sit better elsewhere, and what keeps them."""

from __future__ import annotations

from extender.core.cluster.state import ClusterState
from extender.core.model.wording import plural
from extender.core.web.offered import Asked, View
from extender.features.moving.eviction import EvictionController
from extender.features.moving.findings import findings
from extender.features.moving.repair import RepairController


def pods(state: ClusterState, eviction: EvictionController, asked: Asked) -> View:
    """Return the pods that break a rule."""
    wanted = asked.get("q")
    records = sorted(
        eviction.broken.records.values(), key=lambda each: (each.since_epoch, each.identity)
    )
    chosen = asked.choose(records, lambda each: wanted in each.identity.key)
    values = {
        "paused": eviction.paused,
        "leads": eviction.leads,
        "pods": chosen,
        "findings": list(findings(state, chosen.rows)),
    }
    return View("moving/templates/breaking.html", values)


def improvable(repair: RepairController, asked: Asked) -> View:
    """Return the pods that would sit better elsewhere."""
    wanted = asked.get("q")
    prospects = sorted(
        repair.prospects, key=lambda each: (-each[0].own, -each[0].total, each[0].pod.key)
    )
    chosen = asked.choose(prospects, lambda each: wanted in each[0].pod.key)
    values = {"pods": chosen, "number": plural(chosen.found, "pod")}
    return View("moving/templates/improvable.html", values)
