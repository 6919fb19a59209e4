"""A cluster with the shape of published production traces: `python -m bench.production FILE`.

What is *measured* comes from two traces that Alibaba published:

- The Global Scheduling Algorithm Competition of 2018 (tianchi.aliyun.com, race 231663), data B,
  "sampled from one of our production clusters": 6,000 machines, 68,224 instances of 9,338 apps,
  61,254 of them placed, and 33,416 rules (A, B, k): where an instance of A is, there may be k of
  B. Its placements keep every rule if k counts the *others*, where A and B are the same.
- cluster-trace-gpu-v2025 (github.com/alibaba/clusterdata; Yang et al., NSDI 2025): 23,871
  instances of 156 apps, each app in two roles, and 11,623 instances have a maximum per node.

*Assumed by us*: who has rules about whom, beyond how many each app has and is named in; that k does
not depend on the app; one namespace; room for every instance on every machine; where the placed
instances are (spread evenly; in the trace on two thirds of the machines).
"""

from __future__ import annotations

import argparse
import csv
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from pathlib import Path
from random import Random
from typing import TypeAlias

from bench.workloads import HOST, Json, affinity, api_object, node_items, node_name, pod, write_list

NAMESPACE = "production"
MACHINES, INSTANCES, APPS, RULES = 6000, 68_224, 9338, 33_416
PLACED = 61_254
Falling: TypeAlias = Sequence[tuple[float, int]]
"""A number that falls with the rank: the part of the ranks before, and the number there."""

SIZES: Falling = (
    *((0.00005, 610), (0.0002, 565), (0.0005, 419), (0.001, 396), (0.002, 245), (0.005, 156)),
    *((0.01, 107),),
    *((0.02, 61), (0.03, 43), (0.05, 26), (0.07, 19), (0.1, 12), (0.15, 7), (0.2, 5), (0.25, 4)),
    *((0.31, 4), (0.3101, 3), (0.385, 3), (0.3851, 2), (0.7077, 2), (0.7078, 1), (1, 1)),
)
"""How many instances an app has."""
HOLDERS, HOLDS = 2376, ((0.0002, 624), (0.001, 247), (0.01, 104), (0.05, 49), (0.1, 26), (0.2, 10))
"""Apps that have rules about other apps, and how many the first have; half have one or two."""
NAMED, NAMES = 4635, ((0.0001, 623), (0.001, 137), (0.01, 62), (0.05, 17), (0.1, 10), (0.2, 5))
"""Apps that such rules are about, and how many are about the first of them."""
_MANY: Falling = ((0.5, 2), (0.62, 2), (0.6201, 1), (1, 1))
OF_OTHERS = {0: 13_144, 1: 3992, 2: 6556, 3: 361, 4: 25}
OF_ITSELF = {0: 118, 1: 45, 2: 9171, 3: 4}
"""How many rules have this k: each app has one about itself."""
_LARGE_FIRST = 0.9
"""How much larger apps come first where rules are dealt out. Then the A of a rule has 48 instances
on average, in the trace 65; an app has 7 in both."""

GPU_APPS = 156
ROLES: Mapping[str, tuple[Falling, Mapping[int | None, int]]] = {
    "cpu": (
        (
            *((0.0032, 1891), (0.0096, 1758), (0.016, 704), (0.055, 394), (0.11, 298)),
            *((0.16, 192), (0.21, 113), (0.26, 76), (0.36, 40), (0.5, 27), (0.77, 9), (1, 1)),
        ),
        {None: 12_195, 2: 3637, 4: 648, 10: 5},
    ),
    "gpu": (
        (
            *((0.0032, 660), (0.0096, 381), (0.016, 285), (0.055, 188), (0.11, 123)),
            *((0.16, 89), (0.21, 68), (0.26, 58), (0.36, 32), (0.5, 14), (0.77, 5), (1, 1)),
        ),
        {None: 53, 2: 3141, 4: 2940, 8: 724, 10: 464, 16: 64},
    ),
}
"""What instances an app has on machines without and with GPUs, and how many of them have which
maximum per node."""


@dataclass(frozen=True, slots=True)
class AtMost:
    """Where an instance of `app` is, at most `k` others may be instances of `other`.

    Pod anti-affinity by hostname says the same only where k is 0.
    """

    app: int
    other: int
    k: int


@dataclass(frozen=True, slots=True)
class GpuGroup:
    app: int
    role: str
    instances: int
    at_most: int | None
    """On one node."""


@dataclass(frozen=True)
class Production:
    """A cluster of that shape; the same seed and scale make the same one."""

    seed: int = 0
    scale: float = 1.0
    """From 0.05; 1 is the size of the trace."""

    @property
    def machines(self) -> int:
        return self._scaled(MACHINES)

    @cached_property
    def sizes(self) -> array[int]:
        """Return how many instances each app has, the largest first."""
        return array("H", falling(SIZES, self._scaled(APPS)))

    def rules(self) -> Iterator[AtMost]:
        """Yield all rules: of each app about itself, then about others; no pair twice."""
        dice, apps = self._dice("rules"), len(self.sizes)
        own = _dealt(dice, OF_ITSELF, apps)
        yield from (AtMost(app, app, k) for app, k in enumerate(own))
        between = self._scaled(RULES - APPS)
        first = self._ends(dice, self._scaled(HOLDERS), HOLDS, between)
        second = self._ends(dice, self._scaled(NAMED), NAMES, between)
        seen = {app * apps + app for app in range(apps)}
        for a, b, k in zip(first, second, _dealt(dice, OF_OTHERS, between), strict=True):
            other = b
            while a * apps + other in seen:
                other = dice.choice(second)
            seen.add(a * apps + other)
            yield AtMost(a, other, k)

    def items(self) -> Iterator[Json]:
        """Yield the objects of the cluster, with placements that keep every rule.

        The pods have those rules as anti-affinity that it can say: where k is 0. A tenth of them is
        pending, and so is what no machine would let in, in a cluster much smaller than the trace.
        """
        limits = {(rule.app, rule.other): rule.k for rule in self.rules()}
        apart: dict[int, list[str]] = {}
        for (app, other), k in limits.items():
            if k == 0:
                apart.setdefault(app, []).append(_app_name(other))
        yield api_object("Namespace", {"name": NAMESPACE})
        yield from node_items(self.machines)
        for app, number, place in self._placed(limits):
            name, rule = _app_name(app), apart.get(app)
            wish = affinity("podAntiAffinity", required=[_apart(rule)]) if rule else {}
            node = None if place is None else node_name(place)
            yield pod(f"{name}-{number}", NAMESPACE, {"app": name}, wish, node)

    def gpu_groups(self) -> Iterator[GpuGroup]:
        """Yield the apps of the GPU trace; a maximum is a rule (A, A, k) with k one less."""
        for role, (sizes, shares) in ROLES.items():
            left = {at_most: self.scale * count for at_most, count in shares.items()}
            for app, size in enumerate(falling(sizes, self._scaled(GPU_APPS))):
                at_most = max(left, key=left.__getitem__)
                left[at_most] -= size
                yield GpuGroup(app, role, size, at_most)

    def _placed(
        self, limits: Mapping[tuple[int, int], int]
    ) -> Iterator[tuple[int, int, int | None]]:
        """Yield the instances by app and number, each with its machine."""
        dice = self._dice("places")
        there: list[Counter[int]] = [Counter() for _ in range(self.machines)]
        for app, size in enumerate(self.sizes):
            place: int | None = dice.randrange(self.machines)
            for number in range(size):
                pending = dice.random() >= PLACED / INSTANCES
                if not pending and place is not None:
                    place = _next_place(app, place, there, limits)
                if pending or place is None:
                    yield app, number, None
                    continue
                there[place][app] += 1
                yield app, number, place

    def _scaled(self, count: int) -> int:
        return round(count * self.scale)

    def _dice(self, what: str) -> Random:
        return Random(f"{what}/{self.seed}/{self.scale}")

    def _ends(self, dice: Random, apps: int, most: Falling, count: int) -> array[int]:
        """Return the apps at one end of the rules, each as often as its rank says, in any order."""
        order = sorted(
            range(len(self.sizes)),
            key=lambda app: dice.random() ** (self.sizes[app] ** -_LARGE_FIRST),
            reverse=True,
        )
        shares = falling((*most, *_MANY), apps)
        ends = [app for app, share in zip(order, shares, strict=False) for _ in range(share)]
        ends += order[: max(0, count - len(ends))]
        dice.shuffle(ends)
        return array("H", ends[:count])


def falling(knots: Falling, count: int) -> Iterator[int]:
    """Yield a number for each rank, between the knots as a power law."""
    ranks = [rank for rank, _ in knots]
    for position in range(count):
        rank = (position + 0.5) / count
        after = bisect_left(ranks, rank)
        if after == 0:
            yield knots[0][1]
            continue
        (left, high), (right, low) = knots[after - 1 : after + 1]
        way = log(rank / left) / log(right / left)
        yield round(exp(log(high) + way * (log(low) - log(high))))


def _dealt(dice: Random, shares: Mapping[int, int], count: int) -> array[int]:
    """Return numbers in any order, each in its share."""
    total = sum(shares.values())
    dealt, until = array("B"), 0
    for number, share in shares.items():
        until += share
        dealt.extend([number] * (round(count * until / total) - len(dealt)))
    dice.shuffle(dealt)
    return dealt


def _next_place(
    app: int, last: int, there: Sequence[Counter[int]], limits: Mapping[tuple[int, int], int]
) -> int | None:
    """Return the next machine where the rules let one more instance in."""
    for step in range(1, len(there) + 1):
        place = (last + step) % len(there)
        if _fits(app, there[place], limits):
            return place
    return None


def _fits(app: int, there: Counter[int], limits: Mapping[tuple[int, int], int]) -> bool:
    if there[app] > limits[app, app]:
        return False
    for other, count in there.items():
        if other != app and (
            limits.get((app, other), count) < count
            or limits.get((other, app), len(limits)) <= there[app]
        ):
            return False
    return True


def _app_name(app: int) -> str:
    return f"app-{app}"


def _apart(apps: list[str]) -> Json:
    among = {"key": "app", "operator": "In", "values": apps}
    return {"labelSelector": {"matchExpressions": [among]}, "topologyKey": HOST}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.production", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path, help="where the cluster goes, a v1 List")
    parser.add_argument("--rules", type=Path, help="where the rules go: app, other app, k")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="from 0.05; 1 is the trace's size")
    asked = parser.parse_args()
    made = Production(asked.seed, asked.scale)
    write_list(asked.file, made.items())
    if asked.rules:
        with asked.rules.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerows((_app_name(r.app), _app_name(r.other), r.k) for r in made.rules())


if __name__ == "__main__":
    main()
