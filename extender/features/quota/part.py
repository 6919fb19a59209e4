"""What the program gets while quotas are looked at: metrics and a page."""

from __future__ import annotations

from typing import Final, NamedTuple

from extender.core.metrics.series import Collectors, CounterRow, GaugeRow
from extender.core.model.objects import Pod
from extender.core.model.verdict import AnyReason
from extender.core.parts import Context, Hook, Part
from extender.core.verbs.plugins import Refused
from extender.core.web.offered import Asked, Section, View
from extender.core.web.turns import check_known
from extender.features.quota.ledger import quotas_of
from extender.features.quota.mirror import limited
from extender.features.quota.rules import QuotaReason

_PAGE: Final = "/page/quotas"


class Rows(NamedTuple):
    """The metrics."""

    refusals: CounterRow
    pods: GaugeRow
    namespaces: GaugeRow


class Quotas(Part, Hook):
    """Counts what quotas refuse, and shows who uses affinity across namespaces."""

    def __init__(self, context: Context) -> None:
        quotas = quotas_of(context.state)
        self._state, self._limited = context.state, limited(context.config)
        self._unready = context.unsynced
        rows = self.metrics(context.metrics.make)
        rows.pods.ask(lambda: quotas.pods)
        rows.namespaces.ask(lambda: len(quotas.namespaces))
        self._refusals = rows.refusals
        self.hooks = (self,)
        self.sections = (
            Section(
                *(_PAGE, "Quotas", 40, self._show), parameters=frozenset(("q", "sort", "page"))
            ),
        )

    @staticmethod
    def metrics(make: Collectors) -> Rows:
        """Make the rows."""
        return Rows(
            make.counters(
                "quota_refusals",
                "Calls in which a quota refused a pod with cross-namespace affinity.",
                extension_point=("Filter", "Bind"),
            ),
            make.gauges(
                "quota_pods_in_scope", "Pods with cross-namespace affinity, placed or reserved."
            ),
            make.gauges("quota_namespaces_in_scope", "Namespaces that have such pods."),
        )

    def refused(self, pod: Pod, refused: Refused) -> None:
        """Count a call of filter: a quota refuses all nodes that are left, or none."""
        del pod
        if any(reason is QuotaReason.QUOTA for reason, _ in refused):
            self._refusals.count("Filter")

    def not_bound(self, pod: Pod, reason: AnyReason) -> None:
        """Count a bind."""
        del pod
        if reason is QuotaReason.QUOTA:
            self._refusals.count("Bind")

    async def _show(self, asked: Asked) -> View:
        from extender.features.quota.page import quotas  # noqa: PLC0415

        check_known(self._unready)
        return await quotas(self._state, asked, limited=self._limited)


PART = Quotas
