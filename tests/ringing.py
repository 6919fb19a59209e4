"""Rows of metrics that ring when they are told of something."""

from __future__ import annotations

import asyncio
from typing import Any

from extender.core.metrics.series import CounterRow, GaugeRow, HistogramRow

WAIT = 10.0


def ring(row: CounterRow | GaugeRow | HistogramRow) -> asyncio.Event:
    """Return what is set each time that a row is told of something."""
    rung = asyncio.Event()
    name = {CounterRow: "count", GaugeRow: "set", HistogramRow: "observe"}[type(row)]
    told = getattr(row, name)

    def tell(*values: Any, **more: Any) -> None:
        told(*values, **more)
        rung.set()

    setattr(row, name, tell)
    return rung


class AwaitedGauge:
    """The values of a gauge, for those who wait for one."""

    def __init__(self, row: GaugeRow) -> None:
        self._row = row
        self._rung = ring(row)

    async def shows(self, number: float, *values: str) -> None:
        """Return once a series has this value."""
        async with asyncio.timeout(WAIT):
            while self._value(values) != number:
                await self._rung.wait()
                self._rung.clear()

    def _value(self, values: tuple[str, ...]) -> float | None:
        series = self._row.get(values)
        return None if series is None else next(iter(series.collect())).samples[0].value
