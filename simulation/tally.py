"""What many runs came to: binds, faults, and how large and long the clusters were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from simulation.evicting_plan import LEADER_FAULTS
from simulation.outcome import Outcome
from simulation.themes import FAULTS, RESTORE_ETCD

HOUR = 3600.0


@dataclass(slots=True)
class Tally:
    """Sums over runs; of the runs themselves it keeps those that broke."""

    seeds: list[int] = field(default_factory=list)
    simulated: float = 0.0
    longest: float = 0.0
    smallest: int | None = None
    largest: int = 0
    """Nodes at the start."""
    binds: Counter[str] = field(default_factory=Counter)
    preemptions: Counter[str] = field(default_factory=Counter)
    evictions: Counter[str] = field(default_factory=Counter)
    gangs: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    broken: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        nodes = outcome.plan.setup.nodes
        self.seeds.append(outcome.plan.seed)
        self.simulated += outcome.simulated
        self.longest = max(self.longest, outcome.simulated)
        self.smallest = nodes if self.smallest is None else min(self.smallest, nodes)
        self.largest = max(self.largest, nodes)
        self.binds += outcome.binds
        self.preemptions += outcome.preemptions
        self.evictions += outcome.evictions
        self.gangs += outcome.gangs
        self.kinds += outcome.kinds
        if outcome.broken is not None:
            self.broken.append(outcome)

    @property
    def contested(self) -> int:
        """Return how many binds were contested, raced ones among them."""
        return self.binds["contested"] + self.binds["raced"]

    @property
    def faults(self) -> dict[str, int]:
        return {name: self.kinds[name] for name in [*FAULTS, *LEADER_FAULTS, RESTORE_ETCD]}

    def summary(self, seconds: float) -> str:
        """Say in one line what there is so far, after so many seconds."""
        raced = 100 * self.binds["raced"] // max(self.contested, 1)
        return (
            f"{len(self.seeds)} seeds ({min(self.seeds, default=0)} to "
            f"{max(self.seeds, default=0)}), "
            f"{self.smallest or 0} to {self.largest} nodes, "
            f"{_long(self.simulated)} simulated, {_long(self.longest)} at most; "
            f"{self.contested:,} contested binds, {raced} % raced, "
            f"{self.contested / max(seconds, 1e-3):.0f}/s; "
            f"{self.preemptions['sets']:,} preemptions, {self.preemptions['victims']:,} victims, "
            f"{self.preemptions['by schedulers']:,} by schedulers, "
            f"{self.preemptions['woken']:,} woken; "
            f"{self.evictions['evicted']:,} evictions, {self.evictions['moved']:,} moves, "
            f"{self.evictions['handovers']:,} handovers; "
            f"{self.evictions['orders']:,} orders of costs; "
            f"{self.gangs['whole']:,} gangs, {self.gangs['in part']:,} in part; "
            f"{len(self.broken)} broken"
        )

    def faults_line(self) -> str:
        return "faults: " + ", ".join(f"{name} {count}" for name, count in self.faults.items())

    def seeds_line(self) -> str:
        return "seeds: " + ", ".join(_ranges(self.seeds))


def _ranges(numbers: Iterable[int]) -> Iterator[str]:
    """Yield numbers in order, those that follow each other as a range."""
    ordered = enumerate(sorted(numbers))
    for _, group in groupby(ordered, key=lambda each: each[1] - each[0]):
        same = [number for _, number in group]
        yield f"{same[0]} to {same[-1]}" if len(same) > 1 else f"{same[0]}"


def _long(seconds: float) -> str:
    hours = seconds / HOUR
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"
