"""Says on one page whether the extender pays, and the same as JSON."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from affinityctl.advice.census import WORDS, Census, census
from affinityctl.advice.costs import Advice, Costs, costs, model
from affinityctl.cluster import fill
from affinityctl.lint.finding import AnyRule, Finding, Level, Report
from affinityctl.lint.linting import lint
from affinityctl.lint.live import list_cluster
from affinityctl.lint.objects import Objects, numbered
from affinityctl.printing import as_json, columns, wrapped
from affinityctl.workloads import WorkloadFiles
from extender.cluster.state import ClusterState
from extender.command_line import DONE, say
from extender.model.wording import plural
from extender.wire.objects import PodReader

MOST_TRAPS: Final = 8
"""Kinds of findings on the page."""
WHY: Final = {
    Advice.NOTHING: "the scheduler's own plugin is as fast, or nearly; a second process would not "
    "pay for itself",
    Advice.ASSIST: "scores take most of the time, and this is the safer mode: while the extender "
    "is down, pods are still placed by the hard rules",
    Advice.REPLACE: "hard rules take much of the time, and only this mode takes them from the "
    "scheduler; begin with shadow",
}


def run(flags: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    objects = Objects()
    state, minor = _cluster(flags, objects)
    found = census(state)
    traps = lint(objects, (), objects.around(whole=True, minor=minor))
    advised = Advised(found, costs(found), worst_first(traps))
    say(json_text(advised) if flags.output == "json" else text(advised))
    return DONE


def _cluster(flags: argparse.Namespace, objects: Objects) -> tuple[ClusterState, int | None]:
    """Return the cluster, and the minor version of its API server where one was asked.

    What files or the server hold is put to the objects for lint as well.
    """
    state = ClusterState()
    if not flags.cluster:
        return state, asyncio.run(list_cluster(flags.kubeconfig, flags.context, objects, state))
    fill(
        flags,
        WorkloadFiles(state, PodReader()),
        (),
        also=lambda path, found: objects.take(numbered(path, found)),
    )
    return state, None


@dataclass(frozen=True, slots=True)
class Advised:
    """All there is to say."""

    census: Census
    costs: Costs
    traps: Sequence[Finding]


def worst_first(found: Report) -> Sequence[Finding]:
    """Return findings, errors first and then by name, in whatever order the objects came."""
    return sorted(
        found.findings,
        key=lambda each: (
            each.rule.level is not Level.ERROR,
            each.rule.id,
            each.place.object,
            each.path,
        ),
    )


def text(found: Advised) -> str:
    """Write one page."""
    return "\n\n".join(("\n".join(_rules(found.census)), "\n".join(_costs(found)), *_traps(found)))


def json_text(found: Advised) -> str:
    """Write the same as JSON."""
    costs = found.costs
    told = {
        "nodes": found.census.nodes,
        "pods": found.census.pods,
        "podsWithRules": found.census.with_rules,
        "rules": [
            {
                "kind": each.kind.name,
                "carriers": each.carriers,
                "matched": each.matched,
                "complete": each.complete,
            }
            for each in found.census.rules
        ],
        "millisecondsPerPod": {
            "inTree": round(costs.in_tree, 2),
            "assist": round(costs.assist, 2),
            "replace": round(costs.replace, 2),
            "error": costs.error,
        },
        "model": {"machine": model().machine, "nodes": model().nodes},
        "mode": costs.advice.value,
        "why": WHY[costs.advice],
        "traps": [
            {
                "rule": each.rule.id,
                "level": each.rule.level.value,
                "object": each.place.object,
                "path": each.path,
                "message": each.message,
            }
            for each in found.traps
        ],
    }
    return as_json(told)


def _rules(census: Census) -> Iterator[str]:
    of = f"{census.with_rules:,} of {plural(census.pods, 'pod')}"
    yield f"{of} on {plural(census.nodes, 'node')} carry affinity rules."
    rows = [
        (WORDS[each.kind], f"{each.carriers:,}", f"{each.matched:,}{'' if each.complete else '+'}")
        for each in census.rules
    ]
    if rows:
        yield ""
        yield columns(("RULES", "PODS THAT CARRY ONE", "PODS THEY ARE ABOUT"), rows)


def _costs(found: Advised) -> Iterator[str]:
    costs, fitted = found.costs, model()
    yield "What affinity costs each pod that is scheduled:"
    yield ""
    yield columns(
        ("BY", "MILLISECONDS"),
        [
            ("the scheduler alone", f"{costs.in_tree:.1f}"),
            ("assist", f"{costs.assist:.1f}"),
            ("replace", f"{costs.replace:.1f}"),
        ],
    )
    yield ""
    yield wrapped(
        f"Estimated from benchmarks with {fitted.nodes:,} nodes, of which {fitted.asked} are "
        f"looked at for a pod ({fitted.machine}); these differ by up to {costs.error:.0%}.",
        hanging=0,
    )
    yield ""
    yield wrapped(f"Take: {costs.advice.value}, for {WHY[costs.advice]}.")


def _traps(found: Advised) -> Iterator[str]:
    rules: Counter[AnyRule] = Counter()
    first: dict[AnyRule, str] = {}
    for each in found.traps:
        rules[each.rule] += 1
        first.setdefault(each.rule, each.place.object)
    if not rules:
        yield "lint finds no trap in the workloads."
        return
    lines = [f"{plural(len(found.traps), 'trap')}; `affinity-extender lint` has the fixes:"]
    for rule, count in rules.most_common(MOST_TRAPS):
        more = f" and {count - 1:,} more" if count > 1 else ""
        lines.append(wrapped(f"- {rule.id}: {rule.what} ({first[rule]}{more})"))
    if len(rules) > MOST_TRAPS:
        lines.append(f"and {plural(len(rules) - MOST_TRAPS, 'more kind')}")
    yield "\n".join(lines)
