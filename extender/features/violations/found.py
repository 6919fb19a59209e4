"""What is known of broken rules, for those who show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extender.core.cluster.state import ClusterState
from extender.core.ports import Check
from extender.core.web.offered import Findings
from extender.core.web.turns import check_known
from extender.diagnosis.verbs.violations import Watch


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
