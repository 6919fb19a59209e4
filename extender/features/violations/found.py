"""What is known of broken rules, for those who show it."""

from __future__ import annotations

from dataclasses import dataclass

from extender.cluster.audits.violations import Watch
from extender.cluster.state import ClusterState
from extender.controllers.eviction.controller import EvictionController
from extender.controllers.eviction.repair import RepairController
from extender.ports import Check
from extender.web.turns import check_known


@dataclass(frozen=True, slots=True)
class Found:
    """Rules that are broken, and what evicts pods for that."""

    state: ClusterState
    watch: Watch
    unready: Check
    eviction: EvictionController | None = None
    repair: RepairController | None = None

    @property
    def known(self) -> ClusterState:
        """Return the state; QueryError while parts of the cluster are not known yet."""
        check_known(self.unready)
        return self.state
