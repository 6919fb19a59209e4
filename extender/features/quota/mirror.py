"""What the core gets while the feature is on: a facet, a resource, a ledger and a plugin."""

from __future__ import annotations

from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.config import Config
from extender.core.wire.objects import Beyond
from extender.features.quota import ledger
from extender.features.quota.charges import ChargeReader
from extender.features.quota.objects import QUOTAS
from extender.features.quota.quotas import CHARGE
from extender.features.quota.rules import CrossNamespacePodAffinity
from extender.features.quota.section import CrossNamespaceArgs

FACETS: Final = (Beyond(CHARGE, lambda: ChargeReader().of),)
RESOURCES: Final = (QUOTAS,)


def limited(config: Config) -> bool:
    """Return whether affinity across namespaces needs a quota that allows it."""
    return config.section(CrossNamespaceArgs).limited_by_default


def book(state: ClusterState, config: Config) -> None:
    """Have quotas booked with a state from now on."""
    ledger.book(state, limited=limited(config))


def plugin(config: Config) -> CrossNamespacePodAffinity:
    """Build the plugin with its arguments."""
    return CrossNamespacePodAffinity(limited(config))
