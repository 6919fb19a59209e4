"""Clusters in which every pod carries the same rules, measured at several sizes at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import bench.measure
from bench.intree.driver import Side
from bench.intree.prepared import prepare
from bench.intree.workshop import Workshop, by_fast_path
from bench.measure import Timing
from bench.servers import Server
from bench.workloads import Rules, cluster_items, questions

_SIDES = ("in-tree", "fast path", "ours", "echo")


@dataclass(frozen=True, slots=True)
class Plan(bench.measure.Plan):
    """What is asked, and of which clusters."""

    pods: tuple[int, ...]
    rules: tuple[Rules, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    rules: Rules
    pods: int
    names: int
    in_tree: Timing
    fast_path: Timing
    """In-tree with its feature gate for rules by hostname switched on."""
    ours: Timing
    echo: Timing


@dataclass(frozen=True, slots=True)
class Load:
    """What it took to start on a cluster, and what memory it then had."""

    rules: Rules
    pods: int
    ready_seconds: float
    resident: float
    """MiB after start-up, before the first call."""
    highest: float
    """MiB, after all calls."""


@dataclass(frozen=True, slots=True)
class Scenario:
    cells: Sequence[Cell]
    loads: Sequence[Load]
    compared: int
    differences: Sequence[str]


def measure(plan: Plan, rules: Rules, workshop: Workshop) -> Scenario:
    """Start the extender on a cluster of each size, and measure all of them in turn."""
    cells: list[Cell] = []
    compared, differences = 0, list[str]()
    with ExitStack() as stack:
        servers: dict[int, Server] = {}
        for pods in plan.pods:
            workshop.progress(f"{rules.value}: loading {pods:,} pods on both sides")
            items = cluster_items(plan.nodes, pods, [rules])
            servers[pods] = workshop.load(stack, str(pods), items)
        at_rest = {pods: server.memory()[0] for pods, server in servers.items()}
        for names in plan.names:
            workshop.progress(f"{rules.value}: {names} names")
            sides = list(_sides(servers, rules, plan.nodes, names, workshop.echo))
            outcome = workshop.cycles.measure(
                sides, rounds=plan.rounds, calls=plan.calls, pause=plan.pause
            )
            compared += outcome.compared
            differences += outcome.differences
            for pods in plan.pods:
                timings = [outcome.timings[f"{side} {pods}"] for side in _SIDES]
                cells.append(Cell(rules, pods, names, *timings))
        loads = [
            Load(rules, pods, server.ready_after, at_rest[pods], server.memory()[1])
            for pods, server in servers.items()
        ]
    workshop.cycles.forget()
    return Scenario(cells, loads, compared, differences)


def _sides(
    servers: dict[int, Server], rules: Rules, nodes: int, names: int, echo: Server
) -> Iterator[Side]:
    asked = questions(rules, nodes, names, [rules])
    for pods, server in servers.items():
        cluster, prepared = str(pods), f"{rules.name}-{pods}-{names}"
        yield Side(f"in-tree {pods}", cluster, asked)
        fast = by_fast_path(cluster)
        yield Side(f"fast path {pods}", fast, asked, like=f"in-tree {pods}")
        yield Side(f"ours {pods}", cluster, asked, server.url, like=f"in-tree {pods}")
        url = prepare(echo, prepared, server, asked)
        yield Side(f"echo {pods}", cluster, asked, url, like=f"in-tree {pods}")
