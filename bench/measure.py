"""Scheduling cycles against several servers in turn, so that all of them see the same machine."""

from __future__ import annotations

import gc
import time
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from bench.connection import Connection
from bench.workloads import Question, Rules, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.servers import Server

_WARM_UP = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked, how often and how fast."""

    nodes: int
    names: tuple[int, ...]
    rounds: int
    calls: int
    """Cycles per round and cell, each one filter and one prioritize call."""
    pause: float
    """Seconds of rest before each call: a scheduler does other things, and caches cool down."""


@dataclass(frozen=True, order=True, slots=True)
class Cell:
    """One server under one kind of question."""

    server: str
    rules: str
    names: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Median microseconds of the two calls of a cycle; best of the rounds."""

    filter: float
    prioritize: float

    @property
    def cycle(self) -> float:
        """Both calls together: what a scheduled pod costs."""
        return self.filter + self.prioritize


def measure(
    servers: Sequence[Server], plan: Plan, progress: Callable[[str], None]
) -> dict[Cell, Timing]:
    """Take all measurements; the rounds go through all servers before they start again."""
    best: dict[Cell, Timing] = {}
    with ExitStack() as stack:
        connections = [(s, stack.enter_context(Connection(s.port))) for s in servers]
        gc.collect()
        gc.disable()
        stack.callback(gc.enable)
        for round_number in range(1, plan.rounds + 1):
            for names in plan.names:
                for rules in Rules:
                    asked = questions(rules, plan.nodes, names)
                    for server, connection in connections:
                        progress(
                            f"round {round_number}: {names} names, {rules.value}, {server.name}"
                        )
                        timing = _series(connection, asked, plan)
                        cell = Cell(server.name, rules.value, names)
                        best[cell] = _better(best.get(cell), timing)
    return best


def _better(old: Timing | None, new: Timing) -> Timing:
    return new if old is None or new.cycle < old.cycle else old


def _series(connection: Connection, asked: Sequence[Question], plan: Plan) -> Timing:
    cycles = [
        _cycle(connection, asked[number % len(asked)], plan.pause)
        for number in range(_WARM_UP + plan.calls)
    ][_WARM_UP:]
    return Timing(median(c.filter for c in cycles), median(c.prioritize for c in cycles))


def _cycle(connection: Connection, question: Question, pause: float) -> Timing:
    """Ask as the scheduler does: which nodes fit, then how well those do."""
    time.sleep(pause)
    filtered, answer = connection.post("/filter", question.body)
    body = question.about(_names_of(answer))
    time.sleep(pause)
    prioritized, scores = connection.post("/prioritize", body)
    if not scores.startswith(b"["):
        raise ConnectionError(f"prioritize answered {scores[:200]!r}")
    return Timing(filtered, prioritized)


def _names_of(answer: bytes) -> bytes:
    """Cut the array of node names out of a filter answer; one without is no result to time."""
    start = answer.find(b'"NodeNames":[')
    if start < 0:
        raise ConnectionError(f"filter answered {answer[:200]!r}")
    start += len(b'"NodeNames":')
    return answer[start : answer.index(b"]", start) + 1]
