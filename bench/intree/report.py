"""The comparison with in-tree as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench import ratios
from bench.intree.namespaces import Comparison
from bench.intree.scenarios import Cell, Load, Plan, Scenario
from bench.measure import Timing
from bench.ratios import Ratio
from bench.tables import table
from bench.workloads import Rules

FEW, ALL = 500, 5000
ECHO_TARGET, PLAIN_ECHO_TARGET = 1.3, 1.15
"""Ours ÷ echo for pods with rules and without."""
IN_TREE_TARGETS = {
    (10_000, FEW): 4.0,
    (50_000, FEW): 18.0,
    (150_000, FEW): 50.0,
    (150_000, ALL): 12.0,
}
"""In-tree ÷ ours for preferred rules, by pods and names in a call."""
FLATNESS_TARGET, FLAT_FROM = 1.2, 10_000
"""Ours with the most pods ÷ ours with this many, or with the fewest beyond."""
NAMESPACES_TARGET = 1.1
"""100 namespaces by a selector ÷ one."""
READY_TARGET, REST_TARGET, PEAK_TARGET = 6.0, 150.0, 300.0
"""Seconds, MiB and MiB with the most pods."""


@dataclass(frozen=True, slots=True)
class Results:
    plan: Plan
    scenarios: Sequence[Scenario]
    namespaces: Sequence[Comparison]

    @property
    def cells(self) -> list[Cell]:
        return [cell for scenario in self.scenarios for cell in scenario.cells]

    @property
    def differences(self) -> list[str]:
        """Where an answer was not in-tree's."""
        return [line for scenario in self.scenarios for line in scenario.differences]

    def ratios(self) -> Iterator[Ratio]:
        for cell in self.cells:
            yield from _of_cell(cell)
        for scenario in self.scenarios:
            yield from self._flatness(scenario)
        for compared in self.namespaces:
            what = f"{compared.kind.title}: 100 namespaces by a selector ÷ one"
            yield Ratio(what, compared.ratio, NAMESPACES_TARGET)
        for load in (scenario.loads[-1] for scenario in self.scenarios):
            where = f"{load.rules.value}, {load.pods:,} pods"
            yield Ratio(f"{where}: seconds until ready", load.ready_seconds, READY_TARGET)
            yield Ratio(f"{where}: MiB at rest", load.resident, REST_TARGET)
            yield Ratio(f"{where}: MiB at the peak", load.highest, PEAK_TARGET)

    def _flatness(self, scenario: Scenario) -> Iterator[Ratio]:
        beyond = [pods for pods in self.plan.pods if pods >= FLAT_FROM]
        if len(beyond) < 2:
            return
        fewest, most = beyond[0], beyond[-1]
        for names in self.plan.names:
            ours = {c.pods: c.ours for c in scenario.cells if c.names == names}
            where = f"{scenario.cells[0].rules.value}, {names:,} names"
            ratio = ours[most].over(ours[fewest])
            yield Ratio(f"{where}: ours, {most:,} ÷ {fewest:,} pods", ratio, FLATNESS_TARGET)


def _of_cell(cell: Cell) -> Iterator[Ratio]:
    where = f"{cell.rules.value}, {cell.names:,} names, {cell.pods:,} pods"
    limit = PLAIN_ECHO_TARGET if cell.rules is Rules.NONE else ECHO_TARGET
    yield Ratio(f"{where}: ours ÷ echo", cell.ours.over(cell.echo), limit)
    least = IN_TREE_TARGETS.get((cell.pods, cell.names))
    if cell.rules is Rules.PREFERRED and least is not None:
        ratio = cell.in_tree.over(cell.ours)
        yield Ratio(f"{where}: in-tree ÷ ours", ratio, least, at_least=True)


def as_json(results: Results) -> dict[str, Any]:
    return {
        "plan": asdict(results.plan) | {"rules": [rules.value for rules in results.plan.rules]},
        "cells": [asdict(cell) | {"rules": cell.rules.value} for cell in results.cells],
        "loads": [
            asdict(load) | {"rules": load.rules.value}
            for scenario in results.scenarios
            for load in scenario.loads
        ],
        "namespaces": [
            {"kind": each.kind.title, "one": asdict(each.one), "many": asdict(each.many)}
            for each in results.namespaces
        ],
        "differences": results.differences,
        "ratios": ratios.as_json(results.ratios()),
    }


def as_markdown(results: Results) -> str:
    compared = sum(each.compared for each in results.scenarios)
    parts = [
        results.plan.conditions(),
        f"{compared:,} answers compared with in-tree's: {len(results.differences)} differ.",
        "## Ratios",
        ratios.as_markdown(results.ratios()),
        "## Filter + prioritize = cycle, µs",
        table(
            (
                *("rules", "names", "pods", "in-tree", "fast path", "ours", "echo"),
                *("in-tree ÷ ours", "fast path ÷ ours", "ours ÷ echo"),
            ),
            list(_times(results)),
        ),
        "## Loading",
        table(
            ("rules", "pods", "ready after, s", "resident, MiB", "highest, MiB"),
            [_loaded(load) for scenario in results.scenarios for load in scenario.loads],
        ),
    ]
    if results.namespaces:
        parts += [
            "## One namespace, or 100 by a selector (KEP-2249), µs",
            table(
                ("rules", "one namespace", "100 namespaces", "ratio"),
                [
                    (c.kind.title, _time(c.one), _time(c.many), f"{c.ratio:.2f}")
                    for c in results.namespaces
                ],
            ),
        ]
    return "\n\n".join(parts)


def _times(results: Results) -> Iterator[tuple[str, ...]]:
    for cell in results.cells:
        sides = [_time(side) for side in (cell.in_tree, cell.fast_path, cell.ours, cell.echo)]
        yield (
            cell.rules.value,
            f"{cell.names:,}",
            f"{cell.pods:,}",
            *sides,
            f"{cell.in_tree.over(cell.ours):.1f}",
            f"{cell.fast_path.over(cell.ours):.1f}",
            f"{cell.ours.over(cell.echo):.2f}",
        )


def _time(timing: Timing) -> str:
    return f"{timing.filter:,.0f} + {timing.prioritize:,.0f} = {timing.cycle:,.0f}"


def _loaded(load: Load) -> tuple[str, ...]:
    memory = (f"{mebibytes:.0f}" for mebibytes in (load.resident, load.highest))
    return load.rules.value, f"{load.pods:,}", f"{load.ready_seconds:.2f}", *memory
