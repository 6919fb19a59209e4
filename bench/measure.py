"""Scheduling cycles against several servers in turn, so that all of them see the same machine."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.connection import Connection
from bench.memory import keep_freed_memory
from bench.servers import Server
from bench.workloads import WITH_LIMITS, Question, Rules, questions

_WARM_UP = 5


@dataclass(frozen=True, slots=True)
class Plan:
    nodes: int
    names: tuple[int, ...]
    rounds: int
    calls: int
    """Cycles per round and cell, each one filter and one prioritize call."""
    pause: float
    """Seconds of rest before each call: a scheduler does other things, and caches cool down."""

    def conditions(self) -> str:
        return (
            f"{self.nodes:,} nodes, {self.pause * 1000:g} ms of rest before each call, "
            f"medians of {self.rounds} rounds of {self.calls} cycles."
        )


@dataclass(frozen=True, order=True, slots=True)
class Cell:
    server: str
    rules: str
    names: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Median microseconds of the two calls of a cycle."""

    filter: float
    prioritize: float
    rounds: tuple[float, ...]
    """Of a cycle, round by round."""

    @property
    def cycle(self) -> float:
        """Both calls together: what a scheduled pod costs."""
        return median(self.rounds)

    def over(self, other: Timing) -> float:
        """Return how many times the other's cycle this one takes.

        It is the median of the ratios within rounds: from one to the next the machine may be twice
        as fast.
        """
        return median(mine / its for mine, its in zip(self.rounds, other.rounds, strict=True))


def timing(rounds: Sequence[tuple[float, float]]) -> Timing:
    """Bring the rounds of one side together; each has the medians of the two calls."""
    filters, prioritizes = zip(*rounds, strict=True)
    return Timing(median(filters), median(prioritizes), tuple(sum(each) for each in rounds))


def measure(
    servers: Sequence[Server], plan: Plan, progress: Callable[[str], None]
) -> dict[Cell, Timing]:
    """Take all measurements; the rounds go through all servers before they start again."""
    found: dict[Cell, list[tuple[float, float]]] = {}
    with ExitStack() as stack:
        connections = [(s, stack.enter_context(Connection(s.port))) for s in servers]
        keep_freed_memory()
        gc.collect()
        gc.disable()
        stack.callback(gc.enable)
        for round_number in range(1, plan.rounds + 1):
            for names in plan.names:
                for rules in WITH_LIMITS:
                    asked = questions(rules, plan.nodes, names, WITH_LIMITS)
                    for server, connection in connections:
                        progress(
                            f"round {round_number}: {names} names, {rules.value}, {server.name}"
                        )
                        series = _series(connection, asked, rules, plan)
                        cell = Cell(server.name, rules.value, names)
                        found.setdefault(cell, []).append(series)
    return {cell: timing(series) for cell, series in found.items()}


def _series(
    connection: Connection, asked: Sequence[Question], rules: Rules, plan: Plan
) -> tuple[float, float]:
    cycles = [
        _cycle(connection, asked[number % len(asked)], rules, plan.pause)
        for number in range(_WARM_UP + plan.calls)
    ][_WARM_UP:]
    filters, prioritizes = zip(*cycles, strict=True)
    return median(filters), median(prioritizes)


def _cycle(
    connection: Connection, question: Question, rules: Rules, pause: float
) -> tuple[float, float]:
    """Ask as the scheduler does: which nodes fit, then how well those do."""
    time.sleep(pause)
    filtered, result = _call(connection, "/filter", question.about(question.names))
    names = result["NodeNames"]
    if not names:
        raise ConnectionError(f"filter left no node: {str(result)[:200]}")
    # What the echo server is to say; the extender knows by itself.
    path = f"/prioritize?hosts={len(names) if rules.score else 0}"
    time.sleep(pause)
    prioritized, scores = _call(connection, path, question.about(names))
    if scores and not rules.score:
        raise ConnectionError(f"prioritize answered {str(scores)[:200]} for {rules.value}")
    return filtered, prioritized


def _call(connection: Connection, path: str, arguments: dict[str, Any]) -> tuple[float, Any]:
    """Time what a caller waits for: writing the arguments, the exchange, reading the result.

    The standard library's JSON costs about what Go's encoding/json costs the scheduler.
    """
    start = time.perf_counter_ns()
    body = json.dumps(arguments, separators=(",", ":")).encode()
    result = json.loads(connection.post(path, body))
    return (time.perf_counter_ns() - start) / 1000, result
