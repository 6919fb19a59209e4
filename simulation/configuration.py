"""How the extender is configured in a run."""

from __future__ import annotations

from msgspec.structs import replace

from extender.config import Config, Mode, PluginName
from extender.config.execution import (
    Annotations,
    NamespaceSelector,
    PreferredDuringExecution,
    RequiredDuringExecution,
)
from simulation.evicting_plan import Evicting
from simulation.invariants.execution import PLAIN
from simulation.repairing_plan import Repairing


def replacing(evicting: Evicting | None = None) -> Config:
    """Return the configuration of mode `replace`, with quotas, and else as it is by default."""
    plugins: tuple[str, ...] = (
        PluginName.INTER_POD_AFFINITY,
        "CrossNamespacePodAffinity",
    )
    moves = RequiredDuringExecution()
    if evicting is not None:
        plugins = (*plugins, PluginName.NODE_AFFINITY)
        moves = RequiredDuringExecution(
            enabled=True,
            dry_run=evicting.dry_run,
            evictions_per_minute=evicting.per_minute,
            grace_period_seconds=evicting.grace,
            max_affected=f"{evicting.percent}%",
            plain_rules=NamespaceSelector(match_labels=PLAIN["matchLabels"]),
        )
    return Config(
        api_version="affinity-extender.io/v1alpha1",
        kind="AffinityExtenderConfiguration",
        mode=Mode.REPLACE,
        plugins=plugins,
        annotations=Annotations(namespace_selector=NamespaceSelector()),
        required_during_execution=moves,
    )


def repairing(settings: Repairing) -> Config:
    """Return the configuration with which pods are moved, of the mode that is drawn."""
    usual = replacing()
    return replace(
        usual,
        mode=Mode.ASSIST if settings.assists else Mode.REPLACE,
        plugins=(PluginName.INTER_POD_AFFINITY, PluginName.NODE_AFFINITY),
        annotations=Annotations(),
        required_during_execution=RequiredDuringExecution(
            evictions_per_minute=settings.per_minute, max_affected=f"{settings.percent}%"
        ),
        preferred_during_execution=PreferredDuringExecution(
            enabled=True,
            dry_run=False,
            min_gain=settings.min_gain,
            settle_seconds=settings.settle,
            rest_seconds=settings.rest,
        ),
    )
