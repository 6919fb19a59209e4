"""What many runs came to: binds, faults, and how large and long the clusters were."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from simulation.evicting_plan import LEADER_FAULTS
from simulation.outcome import Outcome
from simulation.themes import FAULTS

HOUR = 3600.0


@dataclass(slots=True)
class Tally:
    """Sums over runs; of the runs themselves it keeps those that broke."""

    seeds: int = 0
    first: int | None = None
    last: int | None = None
    simulated: float = 0.0
    longest: float = 0.0
    smallest: int | None = None
    largest: int = 0
    """Nodes at the start."""
    binds: Counter[str] = field(default_factory=Counter)
    preemptions: Counter[str] = field(default_factory=Counter)
    evictions: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    broken: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count a run."""
        seed, nodes = outcome.plan.seed, outcome.plan.setup.nodes
        self.seeds += 1
        self.first = seed if self.first is None else min(self.first, seed)
        self.last = seed if self.last is None else max(self.last, seed)
        self.simulated += outcome.simulated
        self.longest = max(self.longest, outcome.simulated)
        self.smallest = nodes if self.smallest is None else min(self.smallest, nodes)
        self.largest = max(self.largest, nodes)
        self.binds += outcome.binds
        self.preemptions += outcome.preemptions
        self.evictions += outcome.evictions
        self.kinds += outcome.kinds
        if outcome.broken is not None:
            self.broken.append(outcome)

    @property
    def contested(self) -> int:
        """Return how many binds were contested, raced ones among them."""
        return self.binds["contested"] + self.binds["raced"]

    @property
    def faults(self) -> dict[str, int]:
        """Return how often each kind of fault has happened."""
        return {name: self.kinds[name] for name in FAULTS | LEADER_FAULTS}

    def summary(self, seconds: float) -> str:
        """Say in one line what there is so far, after so many seconds."""
        raced = 100 * self.binds["raced"] // max(self.contested, 1)
        return (
            f"{self.seeds} seeds ({self.first or 0} to {self.last or 0}), "
            f"{self.smallest or 0} to {self.largest} nodes, "
            f"{_long(self.simulated)} simulated, {_long(self.longest)} at most; "
            f"{self.contested:,} contested binds, {raced} % raced, "
            f"{self.contested / max(seconds, 1e-3):.0f}/s; "
            f"{self.preemptions['sets']:,} preemptions, {self.preemptions['victims']:,} victims; "
            f"{self.evictions['evicted']:,} evictions, {self.evictions['handovers']:,} handovers; "
            f"{len(self.broken)} broken"
        )

    def faults_line(self) -> str:
        """Say in one line how often each kind of fault has happened."""
        return "faults: " + ", ".join(f"{name} {count}" for name, count in self.faults.items())


def _long(seconds: float) -> str:
    hours = seconds / HOUR
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"
