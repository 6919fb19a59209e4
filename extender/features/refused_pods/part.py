"""What the program gets where pods are helped that were refused on every node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from extender.core.metrics.series import Collectors, CounterRow
from extender.core.parts import Context, Part, Task
from extender.features.refused_pods.hints import HintController, HintLimits
from extender.features.refused_pods.patches import TOLD, Nominator
from extender.features.refused_pods.preemption import PreemptionController
from extender.features.refused_pods.section import Hints, hints, preempts

HINTS: Final = (
    *("set", "renewed", "taken", "elsewhere", "gone"),
    *("refused", "withdrawn", "preempted", "woken", "failed", "skipped"),
)
PREEMPTIONS: Final = (
    *("started", "bound", "elsewhere", "gone", "overtaken", "useless", "failed", "exhausted"),
)


class Rows(NamedTuple):
    hints: CounterRow
    preemptions: CounterRow


class Helping(Part):
    """Nominates nodes for refused pods and evicts others for them, each where that is on."""

    def __init__(self, context: Context) -> None:
        self._rows: Final = self.metrics(context.metrics.make)
        context.history.told.update(TOLD)
        nominator = _nominator(context)
        self._nomination = self._nominating(context, nominator)
        self._preemption = self._preempting(context, nominator)
        built = (self._nomination, self._preemption)
        self.hooks = tuple(each for each in built if each is not None)

    @staticmethod
    def metrics(make: Collectors) -> Rows:
        return Rows(
            make.counters(
                "hints", "Hints: nodes nominated for refused pods, by result.", result=HINTS
            ),
            make.counters(
                "preemptions",
                "Pods that less important ones were evicted for by the extender, by result.",
                result=PREEMPTIONS,
            ),
        )

    def _nominating(self, context: Context, nominator: Nominator | None) -> HintController | None:
        if nominator is None or not hints(context.config):
            return None
        settings = context.config.section(Hints)
        limits = HintLimits(
            settings.per_second, settings.max_outstanding, settings.patience_seconds
        )
        return HintController(context.of_controllers, self._rows.hints, nominator, limits)

    def _preempting(
        self, context: Context, nominator: Nominator | None
    ) -> PreemptionController | None:
        api, nomination = context.source.api, self._nomination
        if nominator is None or api is None or not preempts(context.config):
            return None
        from extender.features.refused_pods.evictor import ApiEvictor  # noqa: PLC0415

        return PreemptionController(
            context.of_controllers,
            self._rows.preemptions,
            nominator,
            ApiEvictor(api.client, api.objects),
            release_nomination=None if nomination is None else nomination.release_nomination,
            is_hint=lambda uid: nomination is not None and nomination.nominates(uid),
        )

    def tasks(self) -> Iterator[Task]:
        """Yield those who look after refused pods, where there is an API server to write to."""
        if self._nomination is not None:
            yield "nomination", self._nomination.run()
        if self._preemption is not None:
            yield "preemption", self._preemption.run()

    async def close(self) -> None:
        if self._nomination is not None:
            await self._nomination.close()


def _nominator(context: Context) -> Nominator | None:
    api = context.source.api
    if api is None:
        return None
    from extender.features.refused_pods.nominator import ApiNominator  # noqa: PLC0415

    return ApiNominator(api.client)


PART = Helping
