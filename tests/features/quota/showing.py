"""The feature over a state that a test has put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extender.features.quota.part import Quotas
from tests.wired import context_over

if TYPE_CHECKING:
    from extender.core.cluster.state import ClusterState
    from tests.web.showing import Seen


def part_over(state: ClusterState, *, limited: bool = True, **more: Any) -> Quotas:
    """Return the part, where affinity across namespaces needs a quota or not."""
    fields = {"crossNamespacePodAffinity": {"limitedByDefault": limited}}
    plugins = {"plugins": ["CrossNamespacePodAffinity"]}
    return Quotas(context_over(state, fields={**plugins, **fields}, **more))


def shown(seen: Seen) -> Quotas:
    """Return the part with all that its page may show."""
    return part_over(seen.state)
