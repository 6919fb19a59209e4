"""What runs are about: what users do in them, and what goes wrong meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

USERS: Final = {
    "wave": 16,
    "new workload": 8,
    "scale": 10,
    "roll out": 6,
    "delete workload": 3,
    "burst of pods": 6,
    "delete pods": 6,
    "recreate by name": 3,
    "place by hand": 2,
    "urgent pods": 3,
    "relabel node": 1,
    "relabel namespace": 1,
    "cordon": 1,
    "add node": 1,
    "remove node": 1,
    "drain": 1,
    "couple": 4,
    "bound to a zone": 2,
    "taint": 1,
    "quota": 0,
    "important wave": 8,
}
"""What users do, by weight."""

FAULTS: Final = {
    "kill extender": 3,
    "kill extender at a step": 4,
    "kill scheduler": 1,
    "twin scheduler": 1,
    "restart API server": 1,
    "close watches": 2,
    "reset connections": 2,
    "compact": 2,
    "stall etcd": 3,
    "throttle": 1,
    "lose answers": 3,
    "unsure binds": 4,
    "fail binds": 2,
    "unsure evictions": 3,
    "fail evictions": 2,
    "forbid evictions": 1,
    "cut extender from API server": 2,
    "cut API server from extender": 2,
    "cut scheduler from API server": 1,
    "cut scheduler from extender": 2,
    "cut extender from scheduler": 2,
    "slow watches": 2,
    "slow scheduler": 1,
    "clock jumps": 1,
    "lead moves": 2,
    "lagging server": 3,
    "repeated events": 1,
}
"""What goes wrong, by weight."""

RESTORE_ETCD: Final = "restore etcd"
RESTORED: Final = 0.05
"""In how many of the runs of minutes, or of episodes, that is drawn, apart from the others."""

PREEMPTION: Final = "preemption"
CONTENTION: Final = "contention"
GROUPS: Final = "groups"
REPORTS: Final = "reports"
HINTS: Final = "hints"
RESTORES: Final = "restores"
SELDOM: Final = {
    "grouped": (GROUPS, 0.05),
    "reported": (REPORTS, 0.02),
    "hinted": (HINTS, 0.02),
    "restored": (RESTORES, 0.01),
}
"""Themes that are drawn apart, so that all other seeds are about what they were about before: each
with how many of the runs of minutes have it."""


@dataclass(frozen=True, slots=True)
class Theme:
    """What users do most of, and what goes wrong meanwhile."""

    weight: int
    users: Mapping[str, int]
    faults: Mapping[str, int] = field(default_factory=lambda: FAULTS)
    nodes: tuple[int, ...] = ()
    """Sizes of clusters; () for any."""
    least: int = 10
    most: tuple[int, int] = (30, 20)
    """Most things that users do: anyway, and more for each minute."""
    replicas: tuple[int, ...] = (1, 1, 2)
    """Of the extender."""
    workloads: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    schedulers: tuple[int, ...] = (1, 1, 2)
    busy: tuple[float, float] | None = None
    """Seconds until the calm begins, from and to; None for any."""
    every: Mapping[str, float] = field(default_factory=dict)
    """What users do all the time, and at most how many seconds later again."""
    most_faults: tuple[int, int] = (4, 8)
    """Anyway, and more for each minute."""
    sampled: tuple[int, ...] = (2, 5, 100)
    """Nodes that a scheduler looks for at least."""
    quotas: float = 0.25
    """How many of the runs have tenants with quotas."""


THEMES: Final[Mapping[str, Theme]] = {
    "": Theme(25, USERS),
    PREEMPTION: Theme(
        25,
        {**dict.fromkeys(USERS, 1), "important wave": 4, "recreate by name": 4}
        | {"wave": 0, "quota": 0, "burst of pods": 0, "bound to a zone": 0, "taint": 0},
        # More of what may make a process forget whom it evicts.
        {**FAULTS, "kill extender": 6, "kill extender at a step": 12, "lead moves": 8}
        | {"unsure evictions": 6, "lose answers": 6},
        (3, 4, 4, 6, 6, 9, 12, 20, 30),
        least=2,
        most=(2, 2),
        replicas=(1, 2, 2, 2),
        workloads=(0, 0, 1),
        schedulers=(1, 2, 2),
        busy=(60.0, 240.0),
        every={"important wave": 90.0},
        # So many preemptions happen at the same time as one of them.
        most_faults=(6, 20),
        quotas=0.0,
    ),
    CONTENTION: Theme(
        50,
        {**dict.fromkeys(USERS, 1), "wave": 60, "couple": 2}
        | {"important wave": 0, "bound to a zone": 0, "taint": 0, "quota": 0},
        nodes=(6, 9, 12, 20, 30),
        least=6,
        most=(12, 10),
        workloads=(0, 0, 1, 2),
        quotas=0.0,
    ),
    GROUPS: Theme(
        0,  # drawn by SELDOM
        {"wave": 4, "new workload": 2, "burst of pods": 2, "delete pods": 3, "recreate by name": 1}
        | {"place by hand": 1, "cordon": 1, "add node": 1, "drain": 1, "roll out": 1, "couple": 1},
        nodes=(6, 9, 12, 20, 30),
        least=1,
        most=(4, 4),
        workloads=(0, 0, 1),
        busy=(60.0, 120.0),
        every={"gang wave": 20.0},
        most_faults=(2, 3),
        quotas=0.0,
    ),
    REPORTS: Theme(
        0,
        {"place by hand": 10, "relabel node": 6, "relabel namespace": 3, "new workload": 6}
        | {"delete pods": 4, "recreate by name": 3, "scale": 4, "remove node": 1, "add node": 1}
        | {"annotated workload": 2, "delete workload": 1},
        nodes=(3, 4, 6, 9),
        most=(20, 20),
        workloads=(2, 3, 4),
        busy=(20.0, 90.0),
        quotas=0.0,
    ),
    RESTORES: Theme(
        0,
        {**dict.fromkeys(USERS, 2), "wave": 30, "important wave": 6, "couple": 10, "quota": 0},
        {**FAULTS, RESTORE_ETCD: 20},
        nodes=(6, 9, 12, 20, 30),
        least=6,
        most=(12, 10),
        workloads=(0, 0, 1, 2),
        busy=(60.0, 240.0),
        most_faults=(4, 10),
        quotas=0.0,
    ),
    HINTS: Theme(
        0,
        {"hidden places": 12, "urgent pods": 2, "new workload": 2, "bound to a zone": 1, "scale": 1}
        | {"delete pods": 3, "recreate by name": 1, "drain": 1, "cordon": 1, "relabel node": 1},
        nodes=(6, 12, 20, 30, 40),
        least=2,
        most=(5, 6),
        workloads=(0, 0, 1),
        busy=(20.0, 90.0),
        sampled=(2, 5),
        quotas=0.0,
    ),
}
"""What runs of minutes are about, by weight: users who hardly have anything but important pods, and
others in their way; or hardly anything but pods that exclude each other."""


def any_theme(seed: int) -> str:
    """Draw what a run of minutes is about."""
    for kind, (seldom, share) in SELDOM.items():
        if Random(f"{kind} runs {seed}").random() < share:
            return seldom
    weights = [each.weight for each in THEMES.values()]
    return Random(f"theme {seed}").choices([*THEMES], weights)[0]
