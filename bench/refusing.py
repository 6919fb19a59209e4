"""Who helps refused pods, as a program of today has it: its feature may be taken out."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

from extender.core.config.features import Help, features
from extender.core.controllers.context import ControllerContext
from extender.core.model.objects import Pod
from extender.core.parts import part_of

SETTLED_SECONDS: Final = 0.06
"""After a refusal, until the scheduler is taken to have ended its attempt."""


class Helpers(NamedTuple):
    """Who nominates nodes, and who evicts pods; of no type that is there without the feature."""

    nomination: Any
    preemption: Any


def helpers(context: ControllerContext, api: object) -> Helpers:
    """Build both; `api` nominates nodes and evicts."""
    (feature,) = (each for each in features() if Help.ROOM in each.gives)
    rows: Any = part_of(feature).metrics(context.metrics.make)
    hints: Any = feature.module("hints")
    limits = hints.HintLimits(per_second=1000, most_outstanding=20, patience=1)
    nomination = hints.HintController(context, rows.hints, api, limits)
    preemption = feature.module("preemption").PreemptionController(
        context,
        rows.preemptions,
        api,
        api,
        release_nomination=nomination.release_nomination,
        is_hint=nomination.nominates,
    )
    return Helpers(nomination, preemption)


class Refusing:
    """Has pods evicted for others, one by one."""

    def __init__(self, context: ControllerContext, api: object) -> None:
        self._preemption = helpers(context, api).preemption

    async def help(self, pod: Pod, looks: int) -> None:
        """Refuse a pod everywhere, and do some of what is due after that."""
        self._preemption.refused(pod, ())
        await asyncio.sleep(SETTLED_SECONDS)
        for _ in range(looks):
            await self._preemption.process_next()
