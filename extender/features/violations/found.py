"""What is known of broken rules, for those who show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extender.cluster.audits.violations import Watch
from extender.cluster.state import ClusterState
from extender.ports import Check
from extender.web.offered import Findings
from extender.web.turns import check_known


@dataclass(frozen=True, slots=True)
class Found:
    """Rules that are broken."""

    state: ClusterState
    watch: Watch
    unready: Check
    others: Sequence[Findings] = ()
    """What other features know of the pods."""

    def check_known(self) -> None:
        """Raise QueryError while parts of the cluster are not known yet."""
        check_known(self.unready)
