"""How a run went."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from simulation.invariants.broken import BrokenError
from simulation.plan import Plan


@dataclass(frozen=True, slots=True)
class Outcome:
    plan: Plan
    broken: BrokenError | None
    digest: str
    simulated: float
    binds: Counter[str]
    preemptions: Counter[str]
    kinds: Counter[str]
    evictions: Counter[str] = field(default_factory=Counter)
    gangs: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)
