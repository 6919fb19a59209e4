"""What is going to happen in a run: made from its seed alone, and made smaller when it fails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Final

from simulation import repairing_plan, scaling_plan
from simulation.actions import Action, make_action, some_actions
from simulation.annotating_plan import (
    ANNOTATED,
    ANNOTATING,
    ANNOTATING_FAULTS,
    ANNOTATING_NODES,
    ANNOTATING_SECONDS,
    ANNOTATING_USERS,
)
from simulation.evicting_plan import (
    EVICTING,
    EVICTING_FAULTS,
    EVICTING_NODES,
    EVICTING_SECONDS,
    EVICTING_USERS,
    Evicting,
    draw,
)
from simulation.repairing_plan import REPAIRING, REPAIRING_NODES, Repairing
from simulation.scaling_plan import SCALED, SCALING, Scaling
from simulation.setbacks_plan import BESIDE, BESIDE_SHARE
from simulation.themes import (
    FAULTS,
    GROUPS,
    PREEMPTION,
    RESTORE_ETCD,
    RESTORED,
    THEMES,
    any_theme,
)

CALM_SECONDS: Final = 330.0
"""After the last fault: longer than the place of an unclear bind is kept."""
UNCLEAR_SECONDS: Final = 60.0
"""Of the calm, in which writes are still carried out that were given up before."""
CALM_ENDS_WITH: Final = 40.0
"""Seconds at the end in which nothing may be left waiting that has a place."""


@dataclass(frozen=True, slots=True)
class Setup:
    nodes: int
    zones: int
    cpu: int
    workloads: int
    streams_lists: bool
    page: int
    least_sampled: int
    schedulers: int
    cache_lag: float
    servers: int
    """API servers, each with its own watch cache."""
    replicas: int
    """Of the extender; the schedulers that lead ask one of them."""
    network: float
    """Usual delay of a message in seconds."""
    theme: str = ""
    """What most of the run is about: one of `themes.THEMES`."""
    evicting: Evicting | None = None
    """How the extender evicts pods that break rules, None where it does not."""
    repairing: Repairing | None = None
    """How it moves pods for preferred rules, None where it does not."""
    scaling: Scaling | None = None
    """How it gives costs for scale-downs, None where it does not."""
    assists: bool = False
    """Whether rules in annotations are enforced in mode `assist`."""
    limited: bool = False
    """Whether affinity across namespaces needs a quota (limitedByDefault)."""

    @property
    def preempting(self) -> bool:
        """Return whether users have hardly anything but important pods, and others in their way."""
        return self.theme == PREEMPTION

    @property
    def grouping(self) -> bool:
        """Return whether there are pod groups, and a profile of the scheduler for them."""
        return self.theme == GROUPS

    def any_scheduler(self, chance: Random) -> str:
        return f"scheduler-{1 + chance.randrange(self.schedulers)}"


@dataclass(frozen=True, slots=True)
class Shape:
    weight: int
    nodes: tuple[int, ...]
    busy: tuple[float, float]
    """Seconds until the calm begins, from and to."""
    episodes: int = 0
    """How often something happens, for less than a minute each; 0 for all the time."""


MINUTE: Final = 60.0
DAY: Final = 86_400.0

SHAPES: Final = (
    Shape(690, (3, 4, 6, 9, 12, 20), (20.0, 2 * MINUTE)),
    Shape(200, (30, 50, 80), (20.0, 2 * MINUTE)),
    Shape(47, (150, 300), (20.0, MINUTE)),
    Shape(60, (3, 6, 12), (DAY / 24, DAY / 4), 4),
    Shape(3, (3, 6, 12), (7 * DAY, 14 * DAY), 10),
)
"""Most clusters are small and short of places: there pods get in each other's way most often."""


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    setup: Setup
    actions: tuple[Action, ...]
    busy: float
    """Seconds until the calm begins."""


def make_plan(seed: int) -> Plan:
    chance = Random(f"plan {seed}")
    shape = chance.choices(SHAPES, [each.weight for each in SHAPES])[0]
    kinds = (
        ("evicting", EVICTING, _evicting_plan),
        ("repairing", REPAIRING, make_repairing_plan),
        (SCALING, SCALED, make_scaling_plan),
        ("annotation", ANNOTATED, make_annotating_plan),
    )
    for name, share, make in kinds if shape.episodes == 0 else ():
        if Random(f"{name} runs {seed}").random() < share:
            return make(seed)
    named = "" if shape.episodes else any_theme(seed)
    theme = THEMES[named]
    setup = Setup(
        theme=named,
        nodes=chance.choice(theme.nodes or shape.nodes),
        zones=chance.choice((1, 2, 3, 4)),
        cpu=chance.choice((3, 8, 16)),
        workloads=chance.choice(theme.workloads),
        streams_lists=chance.random() < 0.6,
        page=chance.choice((3, 20, 500)),
        least_sampled=chance.choice(theme.sampled),
        schedulers=chance.choice(theme.schedulers),
        cache_lag=chance.choice((0.0005, 0.005, 0.1)),
        servers=chance.choice((1, 1, 2, 3)),
        replicas=chance.choice(theme.replicas),
        network=chance.choice((0.0003, 0.002, 0.01)),
    )
    busy = round(chance.uniform(*(theme.busy or shape.busy)), 3)
    episodes = _episodes(chance, shape, busy)
    faulty = chance.random() < 0.95
    actions: list[Action] = []
    for start, end in episodes:
        for kind, seconds in theme.every.items():
            at = start + 0.5
            while at < end:
                actions.append(make_action(chance, kind, at))
                at += chance.uniform(0.3, 1.0) * seconds
        minutes = (end - start) / 60.0
        anyway, each_minute = theme.most
        count = chance.randint(theme.least, anyway + int(each_minute * minutes))
        actions += some_actions(chance, theme.users, count, start, end)
        if faulty:
            anyway, each_minute = theme.most_faults
            count = chance.randint(1, anyway + int(each_minute * minutes))
            actions += some_actions(chance, theme.faults, count, start, end)
            if chance.random() < 0.3:
                actions += _storm(chance, start, end)
            actions += _restored(seed, start, end)
    tenants = Random(f"quotas {seed}")
    if tenants.random() < theme.quotas:
        start, end = tenants.choice(episodes)
        actions += some_actions(tenants, {"quota": 1}, tenants.randint(1, 3), start, end)
        setup = replace(setup, limited=tenants.random() < 0.2)
    return Plan(seed, setup, tuple(sorted(actions, key=lambda each: (each.at, each.number))), busy)


def _evicting_plan(seed: int) -> Plan:
    """Draw a run in which running pods come to break rules, and are evicted."""
    chance = Random(f"evicting {seed}")
    setup = Setup(
        nodes=chance.choice(EVICTING_NODES),
        zones=chance.choice((2, 3)),
        cpu=8,
        workloads=1,
        streams_lists=chance.random() < 0.6,
        page=500,
        least_sampled=100,
        schedulers=1,
        cache_lag=chance.choice((0.0005, 0.005, 0.1)),
        servers=chance.choice((1, 2)),
        replicas=chance.choice((1, 2, 2, 2)),
        network=chance.choice((0.0003, 0.002, 0.01)),
        evicting=draw(chance),
    )
    busy = round(chance.uniform(*EVICTING_SECONDS), 3)
    actions = [make_action(chance, "new disks", 0.2)]
    actions += some_actions(chance, {"movable workload": 1}, chance.randint(2, 5), 0.0, 5.0)
    actions += some_actions(
        chance, EVICTING_USERS, round(busy / chance.uniform(2.0, 8.0)), 5.0, busy
    )
    if chance.random() < 0.95:
        actions += some_actions(
            chance, EVICTING_FAULTS, chance.randint(1, 2 + int(busy / 12)), 5.0, busy
        )
    actions += _beside(seed, 5.0, busy)
    return Plan(seed, setup, tuple(sorted(actions, key=lambda each: (each.at, each.number))), busy)


def _beside(seed: int, start: float, end: float) -> list[Action]:
    """Draw what else happens in some of the runs in which pods are evicted or moved."""
    chance = Random(f"beside {seed}")
    if chance.random() >= BESIDE_SHARE:
        return []
    return some_actions(chance, BESIDE, chance.randint(1, 4), start, end)


def make_repairing_plan(seed: int) -> Plan:
    """Draw a run in which pods come to sit worse than they have to, and are moved."""
    chance = Random(f"repairing {seed}")
    setup = Setup(
        nodes=chance.choice(REPAIRING_NODES),
        zones=chance.choice((2, 3)),
        cpu=8,
        workloads=0,
        streams_lists=chance.random() < 0.6,
        page=500,
        least_sampled=100,
        schedulers=1,
        cache_lag=chance.choice((0.0005, 0.005, 0.1)),
        servers=chance.choice((1, 2)),
        replicas=chance.choice((1, 2, 2)),
        network=chance.choice((0.0003, 0.002, 0.01)),
        repairing=repairing_plan.draw(chance),
    )
    if setup.replicas == 1 and setup.repairing is not None and not setup.repairing.assists:
        # Nobody else leads successors to nodes that the scheduler has not looked at.
        least = Random(f"sampling {seed}").choice((2, 100))
        setup = replace(setup, least_sampled=least)
    actions = [make_action(chance, "new disks", 0.2)]
    actions += some_actions(chance, {"preferring workload": 1}, chance.randint(2, 5), 0.0, 5.0)
    actions += some_actions(chance, {"workload that stays": 1}, chance.randint(0, 2), 0.0, 5.0)
    faulty, end = chance.random() < 0.9, 5.0
    for _ in range(chance.choice((1, 2, 3))):
        start, end = end, end + chance.uniform(*repairing_plan.BUSY_SECONDS)
        count = round((end - start) / chance.uniform(4.0, 20.0))
        actions += some_actions(chance, repairing_plan.REPAIRING_USERS, count, start, end)
        if faulty:
            count = chance.randint(1, 2 + int((end - start) / 20))
            actions += some_actions(chance, repairing_plan.REPAIRING_FAULTS, count, start, end)
            actions += _restored(seed, start, end)
        end += chance.uniform(*repairing_plan.PAUSE_SECONDS)
    actions += _beside(seed, 5.0, end)
    last = max(each.at for each in actions)
    busy = round(last + repairing_plan.QUIET_SECONDS, 3)
    return Plan(seed, setup, tuple(sorted(actions, key=lambda each: (each.at, each.number))), busy)


def make_scaling_plan(seed: int) -> Plan:
    """Draw a run in which workloads are scaled down by costs."""
    chance = Random(f"scaling {seed}")
    setup = Setup(
        theme=SCALING,
        nodes=chance.choice(scaling_plan.SCALING_NODES),
        zones=chance.choice((2, 3)),
        cpu=8,
        workloads=0,
        streams_lists=chance.random() < 0.6,
        page=500,
        least_sampled=100,
        schedulers=1,
        cache_lag=chance.choice((0.0005, 0.005, 0.1)),
        servers=chance.choice((1, 2)),
        replicas=chance.choice((1, 2, 2)),
        network=chance.choice((0.0003, 0.002, 0.01)),
        scaling=scaling_plan.draw(chance),
    )
    actions = some_actions(chance, {"spread workload": 1}, chance.randint(3, 6), 0.0, 5.0)
    faulty, end, busy = chance.random() < 0.8, 5.0, 0.0
    for _ in range(chance.choice((1, 2, 3))):
        start, end = end, end + chance.uniform(*scaling_plan.BUSY_SECONDS)
        count = round((end - start) / chance.uniform(2.0, 10.0))
        actions += some_actions(chance, scaling_plan.SCALING_USERS, count, start, end)
        if faulty:
            count = chance.randint(1, 2 + int((end - start) / 20))
            actions += some_actions(chance, scaling_plan.SCALING_FAULTS, count, start, end)
            actions += _restored(seed, start, end)
        if chance.random() < 0.5:
            # The last of an episode, so that nothing else has costs put in order.
            actions += [make_action(chance, "relabel node", end + each) for each in (5.0, 5.5, 6.0)]
        busy = end = end + chance.uniform(*scaling_plan.PAUSE_SECONDS)
    return Plan(seed, setup, tuple(sorted(actions, key=lambda each: (each.at, each.number))), busy)


def make_annotating_plan(seed: int) -> Plan:
    """Draw a run in which rules are in annotations."""
    chance = Random(f"annotations {seed}")
    setup = Setup(
        theme=ANNOTATING,
        nodes=chance.choice(ANNOTATING_NODES),
        zones=chance.choice((2, 3)),
        cpu=8,
        workloads=0,
        streams_lists=chance.random() < 0.6,
        page=chance.choice((3, 20, 500)),
        least_sampled=chance.choice((2, 5, 100)),
        schedulers=chance.choice((1, 1, 2)),
        cache_lag=chance.choice((0.0005, 0.005, 0.1)),
        servers=chance.choice((1, 2)),
        replicas=chance.choice((1, 1, 2)),
        network=chance.choice((0.0003, 0.002, 0.01)),
        assists=Random(f"assisting {seed}").random() < 0.3,
    )
    busy = round(chance.uniform(*ANNOTATING_SECONDS), 3)
    actions = some_actions(chance, {"annotated workload": 1}, chance.randint(1, 3), 0.0, 3.0)
    count = round(busy / chance.uniform(1.0, 5.0))
    actions += some_actions(chance, ANNOTATING_USERS, count, 0.0, busy)
    if chance.random() < 0.9:
        count = chance.randint(1, 3 + int(busy / 10))
        actions += some_actions(chance, ANNOTATING_FAULTS, count, 0.0, busy)
        actions += _restored(seed, 0.0, busy)
    return Plan(seed, setup, tuple(sorted(actions, key=lambda each: (each.at, each.number))), busy)


def _episodes(chance: Random, shape: Shape, busy: float) -> list[tuple[float, float]]:
    """Return when things happen: all the time, or now and then."""
    if shape.episodes == 0:
        return [(0.0, busy)]
    lasting = [chance.uniform(20.0, 60.0) for _ in range(shape.episodes)]
    starts = [chance.uniform(0.0, busy - each) for each in lasting]
    return [(start, start + each) for start, each in zip(starts, lasting, strict=True)]


def _restored(seed: int, start: float, end: float) -> list[Action]:
    """Draw whether etcd is restored; apart, so that all else is what it would be."""
    chance = Random(f"restored {seed} {start}")
    if chance.random() >= RESTORED:
        return []
    return some_actions(chance, {RESTORE_ETCD: 1}, 1, start, end)


def _storm(chance: Random, start: float, end: float) -> list[Action]:
    """Everything at once."""
    start = chance.uniform(start + 1.0, end)
    kinds = chance.choices([*FAULTS], k=chance.randint(3, 8))
    return [make_action(chance, kind, start + 2.0 * chance.random()) for kind in kinds]
