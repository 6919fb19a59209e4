"""How the extender is configured in a run."""

from __future__ import annotations

from typing import Any

from extender.core.config import Config
from extender.core.config.document import decode
from extender.core.config.schema import API_VERSION, KIND
from simulation.evicting_plan import Evicting
from simulation.invariants.execution import PLAIN
from simulation.plan import Setup
from simulation.repairing_plan import Repairing
from simulation.scaling_plan import Scaling
from simulation.templates import GROUPS
from simulation.themes import HINTS

KINDS = {"apiVersion": API_VERSION, "kind": KIND}


def configured(setup: Setup) -> Config:
    """Return the configuration of a run."""
    if setup.scaling is not None:
        return scaling(setup.scaling)
    if setup.repairing is not None:
        return repairing(setup.repairing)
    if setup.assists:
        everywhere: dict[str, Any] = {"namespaceSelector": {}}
        return decode({**KINDS, "mode": "assist", "annotations": everywhere})
    return replacing(
        setup.evicting,
        grouping=setup.grouping,
        preempting=setup.theme != HINTS,
        limited=setup.limited,
    )


def replacing(
    evicting: Evicting | None = None,
    *,
    grouping: bool = False,
    preempting: bool = True,
    limited: bool = False,
) -> Config:
    """Return the configuration of mode `replace`, with quotas, and else as it is by default.

    With `grouping`, members of pod groups have a profile of their own.
    """
    plugins = ["InterPodAffinity", "CrossNamespacePodAffinity"]
    more: dict[str, Any] = {} if preempting else {"preemption": {"enabled": False}}
    if evicting is not None:
        plugins.append("NodeAffinity")
        more["requiredDuringExecution"] = {
            "enabled": True,
            "dryRun": evicting.dry_run,
            "evictionsPerMinute": evicting.per_minute,
            "gracePeriodSeconds": evicting.grace,
            "maxAffected": f"{evicting.percent}%",
            "plainRules": PLAIN,
        }
    if limited:
        more["crossNamespacePodAffinity"] = {"limitedByDefault": True}
    if grouping:
        more["profiles"] = [{"schedulerName": GROUPS, "mode": "bind"}]
    everywhere: dict[str, Any] = {"namespaceSelector": {}}
    return decode(
        {**KINDS, "mode": "replace", "plugins": plugins, "annotations": everywhere, **more}
    )


def repairing(settings: Repairing) -> Config:
    """Return the configuration with which pods are moved, of the mode that is drawn."""
    return decode(
        {
            **KINDS,
            "mode": "assist" if settings.assists else "replace",
            "plugins": ["InterPodAffinity", "NodeAffinity"],
            "requiredDuringExecution": {
                "evictionsPerMinute": settings.per_minute,
                "maxAffected": f"{settings.percent}%",
            },
            "preferredDuringExecution": {
                "enabled": True,
                "dryRun": False,
                "minGain": settings.min_gain,
                "settleSeconds": settings.settle,
                "restSeconds": settings.rest,
            },
        }
    )


def scaling(settings: Scaling) -> Config:
    """Return the configuration with which pods get costs, of the mode that is drawn."""
    everywhere: dict[str, Any] = {"namespaceSelector": {}}
    return decode(
        {
            **KINDS,
            "mode": "assist" if settings.assists else "replace",
            "annotations": everywhere,
            "scaleDown": {
                "enabled": True,
                "settleSeconds": settings.settle,
                "patchesPerMinute": settings.per_minute,
            },
        }
    )
