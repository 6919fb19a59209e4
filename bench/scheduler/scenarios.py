"""Crowded clusters and important pods that come to them, drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term
from tests.e2e.preempting import ranked

PRIORITIES = (("e2e-none", 0), ("e2e-low", 10), ("e2e-middle", 20), ("e2e-high", 30))
NEVER = ("e2e-never", 30)
APPS = ("web", "db", "cache", "batch", "mail", "logs")
OTHERS = namespace("others", team="others")


@dataclass(frozen=True, slots=True)
class Budget:
    """So many disruptions of an app are allowed."""

    app: str
    allowed: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is there, and who comes, the most important first."""

    seed: int
    nodes: list[JSON]
    pods: list[JSON]
    coming: list[JSON]
    budgets: list[Budget] = field(default_factory=list)


def drawn(seed: int) -> Scenario:
    """Draw a cluster of 3 to 30 nodes, most of which have little room left."""
    chance = Random(seed)
    zones = [f"z{number}" for number in range(chance.randint(1, 4))]
    names = [f"n{number:02}" for number in range(chance.choice((3, 4, 5, 6, 8, 10, 15, 20, 30)))]
    nodes = [_node(name, chance.choice(zones), chance.choice((4, 6, 8))) for name in names]
    pods = [each for one in nodes for each in _filling(chance, one)]
    coming = [_coming(chance, number) for number in range(chance.randint(1, 5))]
    coming.sort(key=lambda each: -_value(each))
    budgets = [
        Budget(app, chance.choice((0, 0, 1, 2)))
        for app in chance.sample(APPS, chance.choice((0, 1, 2)))
    ]
    return Scenario(seed, nodes, pods, coming, budgets)


def _node(name: str, zone: str, cpus: int) -> JSON:
    built = node(name, zone)
    room = built["status"]["capacity"] | {"cpu": str(cpus)}
    return built | {"status": built["status"] | {"capacity": room, "allocatable": room}}


def _filling(chance: Random, on: JSON) -> Iterator[JSON]:
    """Yield pods that leave at most a few cpus of a node."""
    name, left = on["metadata"]["name"], int(on["status"]["capacity"]["cpu"])
    left -= chance.choice((0, 0, 0, 0, 0, 1))
    number = 0
    while left > 0:
        cpus = min(left, chance.choice((1, 1, 1, 2, 3)))
        priority = chance.choices(PRIORITIES, (6, 4, 2, 1))[0]
        labels = {"app": chance.choice(APPS)}
        rules: dict[str, Any] = {}
        if chance.random() < 0.2:
            rules["apart"] = [_term(chance)]
        each = pod(f"{name}-{number}", _namespace(chance), labels, on=name, **rules)
        since = {"status": {"startTime": f"2026-01-01T00:{chance.randint(0, 59):02}:00Z"}}
        yield since | ranked(_with_cpus(each, cpus), priority, grace=chance.choice((0, 0, 1, 3)))
        left, number = left - cpus, number + 1


def _coming(chance: Random, number: int) -> JSON:
    rules: dict[str, Any] = {}
    if chance.random() < 0.75:
        rules["apart"] = [_term(chance) for _ in range(chance.choice((1, 1, 2)))]
    if chance.random() < 0.15:
        rules["near"] = [_term(chance)]
    if chance.random() < 0.2:
        rules["prefer_near"] = [(50, _term(chance))]
    labels = {"app": chance.choice((*APPS, "new"))}
    each = pod(f"coming-{number}", _namespace(chance), labels, **rules)
    priority = NEVER if chance.random() < 0.1 else chance.choices(PRIORITIES[1:], (1, 2, 3))[0]
    return ranked(_with_cpus(each, chance.choice((1, 1, 2, 3))), priority)


def _term(chance: Random) -> JSON:
    key = HOSTNAME if chance.random() < 0.8 else ZONE
    apps = chance.sample(APPS, chance.choice((1, 1, 2)))
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": apps}]}
    scopes: tuple[JSON, ...] = ({}, {}, {}, {"namespaceSelector": {}}, {"namespaces": ["others"]})
    scope = chance.choice(scopes)
    return term(key, selector, **scope)


def _namespace(chance: Random) -> str:
    return "others" if chance.random() < 0.2 else "default"


def _with_cpus(each: JSON, cpus: int) -> JSON:
    (container,) = each["spec"]["containers"]
    asked = container | {"resources": {"requests": {"cpu": str(cpus)}}}
    return each | {"spec": each["spec"] | {"containers": [asked]}}


def _value(each: JSON) -> int:
    return dict((*PRIORITIES, NEVER))[each["spec"]["priorityClassName"]]
