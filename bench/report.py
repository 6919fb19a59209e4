"""Measurements as people and programs read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench import ratios
from bench.measure import Cell, Plan, Timing
from bench.ratios import Ratio
from bench.tables import table
from bench.workloads import WITH_LIMITS, Rules

ECHO = "echo"
OTHER = ", other tree"
"""Follows the name of the server that runs another checkout (--against)."""
OTHER_TARGET = 1.03
"""A cycle may cost this much more than with the other checkout."""
FLATNESS_TARGET = 1.3
"""The most pods may cost this much more than the fewest."""
ECHO_TARGET = 2.0
"""A cycle may cost this much more than one with a server that does nothing."""
LIMIT_TARGET = 1.1
"""A filter call by `maxMatchingPods` may cost this much more than by plain anti-affinity."""
LOAD_TARGET = 6.0
"""Seconds until a server is ready with the most pods."""
MEMORY_TARGET = 150.0
"""MiB resident at rest with the most pods."""


@dataclass(frozen=True, slots=True)
class Load:
    server: str
    pods: int
    file_megabytes: float
    ready_seconds: float
    resident_mebibytes: float
    """After start-up, before the first call."""
    highest_mebibytes: float


@dataclass(frozen=True, slots=True)
class Results:
    """Everything of one run; servers of ours in the order of their pods."""

    plan: Plan
    loads: Sequence[Load]
    timings: Mapping[Cell, Timing]

    def timing(self, server: str, rules: Rules, names: int) -> Timing:
        return next(
            timing
            for cell, timing in self.timings.items()
            if (cell.server, cell.rules, cell.names) == (server, rules.value, names)
        )

    def ratios(self) -> Iterator[Ratio]:
        fewest, most = self.loads[0], self.loads[-1]
        for names in self.plan.names:
            for rules in WITH_LIMITS:
                echo, few, many = (
                    self.timing(server, rules, names)
                    for server in (ECHO, fewest.server, most.server)
                )
                where = f"{names:,} names, {rules.value}"
                if fewest is not most:
                    pods = f"{most.pods:,} ÷ {fewest.pods:,} pods"
                    yield Ratio(f"{where}: {pods}", many.over(few), FLATNESS_TARGET)
                yield Ratio(f"{where}: {most.pods:,} pods ÷ echo", many.over(echo), ECHO_TARGET)
                yield from self._against_other(rules, names, where)
            limit, plain = (
                self.timing(most.server, rules, names).filter for rules in (Rules.LIMIT, Rules.ANTI)
            )
            what = f"{names:,} names, filter: {Rules.LIMIT.value} ÷ {Rules.ANTI.value}"
            yield Ratio(what, limit / plain, LIMIT_TARGET)
        yield Ratio(f"seconds to load {most.pods:,} pods", most.ready_seconds, LOAD_TARGET)
        yield Ratio(f"MiB at rest, {most.pods:,} pods", most.resident_mebibytes, MEMORY_TARGET)

    def _against_other(self, rules: Rules, names: int, where: str) -> Iterator[Ratio]:
        measured = {cell.server for cell in self.timings}
        for load in self.loads:
            if load.server + OTHER in measured:
                ours = self.timing(load.server, rules, names)
                theirs = self.timing(load.server + OTHER, rules, names)
                what = f"{where}: {load.pods:,} pods, this tree ÷ the other"
                yield Ratio(what, ours.over(theirs), OTHER_TARGET)


def as_json(results: Results) -> dict[str, Any]:
    return {
        "plan": asdict(results.plan),
        "loads": [asdict(load) for load in results.loads],
        "timings": [
            {**asdict(cell), **asdict(timing), "cycle": timing.cycle}
            for cell, timing in sorted(results.timings.items(), key=lambda item: item[0])
        ],
        "ratios": ratios.as_json(results.ratios()),
    }


def as_markdown(results: Results) -> str:
    parts = [
        "## Ratios",
        ratios.as_markdown(results.ratios()),
        "## Filter + prioritize = cycle, µs",
        results.plan.conditions(),
        table(
            ("names", "rules", ECHO, *(f"{load.pods:,} pods" for load in results.loads)),
            list(_times(results)),
        ),
        "## Loading",
        table(
            ("pods", "file, MB", "ready after, s", "resident, MiB", "highest, MiB"),
            list(_loads(results)),
        ),
    ]
    return "\n\n".join(parts)


def _loads(results: Results) -> Iterator[tuple[str, ...]]:
    for load in results.loads:
        memory = (load.resident_mebibytes, load.highest_mebibytes)
        yield (
            f"{load.pods:,}",
            f"{load.file_megabytes:.0f}",
            f"{load.ready_seconds:.2f}",
            *(f"{mebibytes:.0f}" for mebibytes in memory),
        )


def _times(results: Results) -> Iterator[tuple[str, ...]]:
    servers = (ECHO, *(load.server for load in results.loads))
    for names in results.plan.names:
        for rules in WITH_LIMITS:
            timings = [results.timing(server, rules, names) for server in servers]
            cells = (f"{t.filter:.0f} + {t.prioritize:.0f} = {t.cycle:.0f}" for t in timings)
            yield f"{names:,}", rules.value, *cells
