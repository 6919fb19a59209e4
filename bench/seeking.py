"""Looks for the mix of pods beside which something takes longest.

    python -m bench.seeking --minutes 60

Each round changes something of one of the worst mixes so far, or draws another, and measures all
that `bench.hostile` does. A round counts by its longest turn of the event loop, in processor time,
beyond what the same takes without such pods. What is found becomes a case of `bench.hostile`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import count
from random import Random
from typing import Any, Final

from bench.hostile import measured
from bench.hostile_crowds import Case, new_of
from bench.hostile_pods import PLAIN, PREFERRED, PRIORITY, REQUIRED, condition
from bench.machine import revision
from bench.output import add_files, put_out_measured
from bench.tables import table
from bench.workloads import HOST, ZONE, Json

PODS: Final = 20_000
"""Of the cluster, beside those of the mix."""
KEPT: Final = 6
"""Mixes that are changed further."""
FRESH: Final = 0.2
"""Of the rounds, those that begin anew."""
KINDS: Final = ("podAffinity", "podAntiAffinity")
NAMESPACES: Final[Mapping[str, Json]] = {
    "its own": {},
    "all": {"namespaceSelector": {}},
    "of a team": {"namespaceSelector": {"matchLabels": {"team": "t1"}}},
    "of no team": {
        "namespaceSelector": {
            "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["t1"]}]
        }
    },
    "thirty of them": {"namespaces": [f"ns{number}" for number in range(30)]},
}
CHOICES: Final[Mapping[str, Sequence[Any]]] = {
    "crowd": (0, 100, 1_000, 5_000, 10_000, 20_000),
    "apps": (1, 10, 300, 5_000, 20_000),
    "spaces": (1, 10, 100),
    "labels": (1, 5, 30),
    "kind": KINDS,
    "strength": ("required", "preferred"),
    "terms": (1, 2, 4, 16),
    "asked": (1, 4, 16, 64),
    "operator": ("In", "NotIn", "Exists", "DoesNotExist"),
    "other": (None, "In", "NotIn", "Exists", "DoesNotExist"),
    "values": (1, 4, 16),
    "about": ("one app", "its app", "all apps", "another of each"),
    "key": (HOST, ZONE, "number", "of each", "none"),
    "where": tuple(NAMESPACES),
}


@dataclass(frozen=True, slots=True)
class Mix:
    """Placed pods that are alike, each with its rules, and one that waits."""

    crowd: int
    """How many are placed."""
    apps: int
    """That they are of."""
    spaces: int
    """Namespaces that they are in."""
    labels: int
    """That each has."""
    kind: str
    strength: str
    terms: int
    """Of each."""
    asked: int
    """Terms of the one that waits."""
    operator: str
    other: str | None
    """The operator of a second condition, about a label that is not the application."""
    values: int
    about: str
    """Which application the selectors are about."""
    key: str
    where: str

    @classmethod
    def drawn(cls, dice: Random) -> Mix:
        return cls(**{name: dice.choice(some) for name, some in CHOICES.items()})

    def changed(self, dice: Random) -> Mix:
        names = dice.sample([each.name for each in fields(self)], dice.randint(1, 2))
        return replace(self, **{name: dice.choice(CHOICES[name]) for name in names})

    def case(self) -> Case:
        waits = self._pod(self.crowd, self.asked)
        identity = {"name": "hostile", "namespace": "ns0", "uid": "hostile"}
        waits = {**waits, "metadata": {**waits["metadata"], **identity}}
        return Case(
            waits, self.crowd, lambda number: self._pod(number, self.terms), new_of("app-0")
        )

    def _pod(self, number: int, terms: int) -> Json:
        name, app = f"c{number}", f"app-{number % self.apps}"
        labels = {"app": app, **{f"label-{each}": f"v{each}" for each in range(self.labels - 1)}}
        every = [self._term(app, number, each) for each in range(terms)]
        rules, strength = every, REQUIRED
        if self.strength == "preferred":
            strength = PREFERRED
            rules = [
                {"weight": 1 + place % 100, "podAffinityTerm": term}
                for place, term in enumerate(every)
            ]
        return {
            "metadata": {
                "name": name,
                "namespace": f"ns{number % self.spaces}",
                "uid": name,
                "labels": labels,
            },
            "spec": {"affinity": {self.kind: {strength: rules}}, "priority": PRIORITY},
            "status": {"phase": "Running"},
        }

    def _term(self, app: str, number: int, place: int) -> Json:
        conditions = [_condition("app", self.operator, self._apps(app, number, place))]
        if self.other is not None:
            conditions.append(_condition("tier", self.other, [f"t{number}-{place}"]))
        key = f"key-{place}" if self.key == "of each" else self.key
        return {
            "labelSelector": {"matchExpressions": conditions},
            "topologyKey": key,
            **NAMESPACES[self.where],
        }

    def _apps(self, app: str, number: int, place: int) -> list[str]:
        match self.about:
            case "one app":
                first = "app-0"
            case "its app":
                first = app
            case "all apps":
                return [f"app-{each}" for each in range(self.values)]
            case _:
                first = f"x{number}-{place}"
        return [first, *(f"{first}-{each}" for each in range(1, self.values))]


def _condition(key: str, operator: str, values: list[str]) -> Json:
    return condition(key, operator, *(values if operator in {"In", "NotIn"} else ()))


@dataclass(frozen=True, slots=True)
class Round:
    ms: float
    """The longest turn, beyond that without such pods."""
    activity: str
    mix: Mix


def judged(mix: Mix, without: Mapping[str, float]) -> Round:
    spent = asyncio.run(measured(mix.case(), PODS))
    beyond = {name: longest - without.get(name, 0.0) for name, longest in spent.items()}
    worst = max(beyond, key=beyond.__getitem__)
    return Round(round(beyond[worst], 1), worst, mix)


def report(rounds: Sequence[Round], seed: str) -> str:
    worst = sorted(rounds, key=lambda each: -each.ms)[:10]
    lines = [
        (
            f"{each.ms:.0f}",
            each.activity,
            ", ".join(f"{k} {v}" for k, v in asdict(each.mix).items()),
        )
        for each in worst
    ]
    what = (
        f"{len(rounds)} mixes beside {PODS:,} pods, seed {seed}, revision {revision()}: the "
        "longest turn of the event loop beyond that without such pods, in ms of processor time."
    )
    return f"{what}\n\n{table(('ms', 'while', 'mix'), lines)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.seeking", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", default=time.strftime("%F"), help="today's date")
    add_files(parser)
    args = parser.parse_args()
    dice, rounds = Random(args.seed), list[Round]()
    until = time.monotonic() + 60 * args.minutes
    without = asyncio.run(measured(Case(PLAIN), PODS))
    for number in count(1):
        kept = sorted(rounds, key=lambda each: -each.ms)[:KEPT]
        anew = len(rounds) < KEPT or dice.random() < FRESH
        mix = Mix.drawn(dice) if anew else dice.choice(kept).mix.changed(dice)
        rounds.append(judged(mix, without))
        last = rounds[-1]
        print(f"{number}: {last.ms} ms while {last.activity}: {last.mix}", file=sys.stderr)
        if time.monotonic() >= until:
            break
    numbers = {"seed": args.seed, "rounds": [asdict(each) for each in rounds]}
    put_out_measured(args, report(rounds, args.seed), numbers)


if __name__ == "__main__":
    main()
