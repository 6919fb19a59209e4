"""Says on one page whether the extender pays, and the same as JSON."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

import msgspec

from affinityctl.commands.advise.answer import Advised
from affinityctl.commands.advise.census import WORDS, Census, census
from affinityctl.commands.advise.costs import (
    ENOUGH,
    Advice,
    Costs,
    a_second,
    busiest_minute,
    costs,
    model,
)
from affinityctl.commands.lint.finding import AnyRule, Finding, Level
from affinityctl.commands.lint.linting import lint
from affinityctl.commands.lint.objects import Objects, list_cluster
from affinityctl.commands.lint.report import named
from affinityctl.reading.cluster import fill, require_nodes
from affinityctl.reading.workloads import WorkloadFiles
from affinityctl.scheduler.profiles import BY_DEFAULT
from affinityctl.terminal.printing import columns, printed, show, wrapped
from extender.core.cluster.state import ClusterState
from extender.core.command_line import DONE
from extender.core.config.features import about_places, features, reads_rules
from extender.core.model.wording import plural
from extender.core.wire.objects import PodReader

MOST_TRAPS: Final = 8
"""Kinds of findings on the page."""
WHY: Final = {
    Advice.NOTHING: "the scheduler's own plugin is as fast, or nearly; a second process would not "
    "pay for itself",
    Advice.ASSIST: "scores take most of the time, and this is the safer mode: while the extender "
    "is down, pods are still placed by the hard rules",
    Advice.REPLACE: "hard rules take much of the time, and only this mode takes them from the "
    "scheduler",
}
FIRST: Final = {
    Advice.NOTHING: "",
    Advice.ASSIST: ", in a second scheduler first",
    Advice.REPLACE: ", in a second scheduler first and there after shadow",
}
RISK: Final = (
    "pods wait while the extender is down, and those with hard rules while what it knows of the "
    "cluster is stale; it binds and evicts pods itself. Read docs/modes.md before you take it"
)
"""Of `replace`."""


def run(flags: argparse.Namespace) -> int:
    objects = Objects()
    state, minor = _cluster(flags, objects)
    require_nodes(flags, state)
    found = census(state)
    places = about_places()
    seated: Any = None if places is None else places.placements(state, BY_DEFAULT.rules)
    traps = lint(objects, (), objects.around(whole=True, minor=minor))
    # Errors first, and then by name, in whatever order the objects came.
    worst_first = sorted(
        (each for each in traps.findings if each.rule.level is not Level.NOTE),
        key=lambda each: (
            each.rule.level is not Level.ERROR,
            each.rule.id,
            each.place.object,
            each.path,
        ),
    )
    advised = found, costs(found, busiest_minute(_created(objects))), seated, worst_first

    def names() -> str:
        return named(each.place for each in worst_first)

    said = printed(flags.output, lambda: _told(*advised), lambda: _text(*advised), names)
    show(said, flags.output)
    return DONE


def _cluster(flags: argparse.Namespace, objects: Objects) -> tuple[ClusterState, int | None]:
    """Return the cluster, and the minor version of its API server where one was asked.

    What files or the server hold is put to the objects for lint as well.
    """
    rules, state = reads_rules(features()), ClusterState()
    pods = PodReader(node_selection=True, owners=True, requirements=True, rules=rules)
    if not flags.cluster:
        return state, asyncio.run(list_cluster(flags, objects, state, pods))
    fill(
        flags,
        WorkloadFiles(state, pods),
        (),
        also=objects.take,
    )
    return state, None


def _created(objects: Objects) -> Iterator[float]:
    """Yield when pods were created, in seconds since the epoch, also those that have ended."""
    for _, manifest, owner, _ in objects.workloads:
        at = manifest.metadata.created
        if owner.kind == "Pod" and at:
            with suppress(ValueError):
                yield datetime.fromisoformat(at).timestamp()


def _why(costs: Costs) -> str:
    if not costs.enough:
        return WHY[costs.advice]
    return (
        f"the scheduler alone gets {_pods(a_second(costs.in_tree))} a second through "
        f"affinity, and your busiest minute needed {_rate(costs.needed or 0.0)}"
    )


def _pods(rate: float) -> str:
    return plural(round(rate), "pod") if rate >= 1 else "less than one pod"


def _rate(each: float) -> str:
    return f"{each:,.0f}" if each >= 1 else "less than one"


def _told(found: Census, costs: Costs, seated: Any, traps: Sequence[Finding]) -> Advised:
    return {
        "nodes": found.nodes,
        "pods": found.pods,
        "podsWithRules": found.with_rules,
        "rateWithoutRules": msgspec.to_builtins(model().without_rules),
        "rules": [
            {
                "kind": each.kind.name,
                "carriers": each.carriers,
                "matched": each.matched,
                "complete": each.complete,
            }
            for each in found.rules
        ],
        "millisecondsPerPod": {
            **{name: round(each, 2) for name, each in costs.by_whom.items()},
            "error": costs.error,
        },
        "podsPerSecond": {
            **{name: round(a_second(each), 1) for name, each in costs.by_whom.items()},
            "needed": None if costs.needed is None else round(costs.needed, 2),
        },
        "model": {"machine": model().machine, "nodes": model().nodes},
        "mode": costs.advice.value,
        "why": _why(costs),
        "risk": RISK if costs.advice is Advice.REPLACE else None,
        "placements": None
        if seated is None
        else {
            "podsThatSitWorse": seated.worse,
            "moves": [
                {"pod": each.pod.key, "from": each.pod.node, "to": each.target}
                for each in seated.moves
            ],
            "complete": seated.complete,
        },
        "traps": [
            {
                "rule": each.rule.id,
                "level": each.rule.level.value,
                "object": each.place.object,
                "path": each.path,
                "message": each.message,
            }
            for each in traps
        ],
    }


def _text(found: Census, costs: Costs, seated: Any, traps: Sequence[Finding]) -> str:
    seats = () if seated is None else (wrapped(_placements(seated), hanging=0),)
    said = (*_rules(found), *_costs(costs), *_price(found, costs), *seats, _traps(traps))
    return "\n\n".join(said)


def _price(census: Census, costs: Costs) -> Iterator[str]:
    """Say what the pods lose that gain nothing."""
    others = census.pods - census.with_rules
    if costs.advice is not Advice.NOTHING and others:
        share = model().without_rules[costs.advice.value]
        yield wrapped(
            f"What it costs others: {others / census.pods:.0%} of the pods carry no rule, and a "
            f"scheduler asks the extender about them as well. Of such pods, `{costs.advice.value}` "
            f"placed {share.least:.0%} to {share.most:.0%} of what the scheduler alone did, on two "
            "cores for both. With a second scheduler, for pods that carry rules, the others lose "
            "nothing."
        )


def _placements(seated: Any) -> str:
    if not seated.moves:
        return "No pod would sit better by preferred rules on another node that would take it now."
    first, one = seated.moves[0], seated.worse == 1
    worse = f"{plural(seated.worse, 'pod')} {'sits' if one else 'sit'} worse than "
    cure = plural(len(seated.moves), "move") + (" or more" * (not seated.complete))
    return (
        f"{worse}{'it has' if one else 'they have'} to by preferred rules. To cure that takes "
        f"{cure}, the first one of {first.pod.key} from {first.pod.node} to {first.target}."
    )


def _rules(census: Census) -> Iterator[str]:
    of = f"{census.with_rules:,} of {plural(census.pods, 'pod')}"
    yield f"{of} on {plural(census.nodes, 'node')} carry affinity rules."
    if census.rules:
        rows = [
            (
                WORDS[each.kind],
                f"{each.carriers:,}",
                f"{each.matched:,}{'' if each.complete else '+'}",
            )
            for each in census.rules
        ]
        yield columns(("RULES", "PODS THAT CARRY ONE", "PODS THEY ARE ABOUT"), rows)


def _costs(costs: Costs) -> Iterator[str]:
    fitted = model()
    yield "What affinity costs each pod that is scheduled:"
    names = ("the scheduler alone", "assist", "replace")
    taken = ((f"{each:.1f}", _rate(a_second(each))) for each in costs.by_whom.values())
    rows = [(name, *cells) for name, cells in zip(names, taken, strict=True)]
    yield columns(("BY", "MILLISECONDS", "PODS A SECOND, AT MOST"), rows)
    yield wrapped(
        f"Estimated from benchmarks with {fitted.nodes:,} nodes, of which {fitted.asked} are "
        f"looked at for a pod ({fitted.machine}); these differ by up to {costs.error:.0%}.",
        hanging=0,
    )
    yield wrapped(_need(costs), hanging=0)
    yield wrapped(f"Take: {costs.advice.value}{FIRST[costs.advice]}, for {_why(costs)}.")
    if costs.advice is Advice.REPLACE:
        yield wrapped(f"What it risks: {RISK}.")


def _need(costs: Costs) -> str:
    if costs.needed is None:
        return (
            "Nothing says when pods were created. The scheduler alone is taken to be enough for "
            f"{_pods(a_second(costs.in_tree) / ENOUGH)} a second; it could place {ENOUGH:g} "
            "times as many."
        )
    return (
        f"In your busiest minute, pods were created at a rate of {_rate(costs.needed)} a second, "
        "counting those that are still there. The scheduler alone is taken to be enough where it "
        f"could place {ENOUGH:g} times as many."
    )


def _traps(traps: Sequence[Finding]) -> str:
    first: dict[AnyRule, str] = {}
    for each in traps:
        first.setdefault(each.rule, each.place.object)
    rules = Counter(each.rule for each in traps)
    if not rules:
        return "lint finds no trap in the workloads."
    lines = [f"{plural(len(traps), 'trap')}; `affinity-extender lint` has the fixes:"]
    for rule, count in rules.most_common(MOST_TRAPS):
        more = f" and {count - 1:,} more" if count > 1 else ""
        lines.append(wrapped(f"- {rule.id}: {rule.what} ({first[rule]}{more})"))
    if len(rules) > MOST_TRAPS:
        lines.append(f"and {plural(len(rules) - MOST_TRAPS, 'more kind')}")
    return "\n".join(lines)
