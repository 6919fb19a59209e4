"""How the extender is configured in a run."""

from __future__ import annotations

from extender.config import Config, Mode, PluginName
from extender.config.execution import Annotations, NamespaceSelector, RequiredDuringExecution
from simulation.evicting_plan import Evicting
from simulation.invariants.execution import PLAIN


def replacing(evicting: Evicting | None = None) -> Config:
    """Return the configuration of mode `replace`, with quotas, and else as it is by default."""
    plugins: tuple[PluginName, ...] = (
        PluginName.INTER_POD_AFFINITY,
        PluginName.CROSS_NAMESPACE_POD_AFFINITY,
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
