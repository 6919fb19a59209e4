"""Finds pods that break rules: a table for people, and JSON for programs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final

from affinityctl.commands.violations.answer import Breaking, ToldViolations
from affinityctl.reading.chosen_pods import note_empty_namespaces
from affinityctl.reading.cluster import fill, require_nodes
from affinityctl.reading.label_selectors import parse_selector
from affinityctl.scheduler.judging import Judging, judging, note_ignored_rules
from affinityctl.terminal.printing import columns, more, named_lines, named_pod, printed, show
from extender.core.cluster.state import ClusterState
from extender.core.command_line import DONE, NOT_FINE
from extender.core.config.features import about_places, features, reads_rules
from extender.core.errors import ConfigError
from extender.core.model.labels import EVERYTHING, Selector
from extender.core.model.objects import Pod
from extender.core.offline import ClusterFiles
from extender.core.resources import BUDGETS, NAMESPACES, NODES, PODS
from extender.core.wire.broken_rules import broken_rules, write_broken_rules
from extender.core.wire.objects import PodReader

MOST_LINES: Final = 200
"""Of a table."""


def run(flags: argparse.Namespace) -> int:
    plain, places = _plain(flags.plain_rules), about_places()
    if places is None:
        raise ConfigError("violations", "no feature of this program judges running pods")
    by = judging(flags.config)
    plugins = (by.profile.affinity, by.profile.nodes)
    state = _cluster(flags, by)
    note_ignored_rules(state)
    note_empty_namespaces(state, flags.namespace)
    found = places.survey(state, plain, plugins)
    chosen = set(flags.namespace)
    shown = [each for each in found if not chosen or each.pod.pod_class.namespace in chosen]
    broken = [
        each
        for each in state.broken_rules
        if each.node is not None and (not chosen or each.pod_class.namespace in chosen)
    ]
    told = partial(_told, shown, broken, places.write_finding)

    def names() -> str:
        pods = (*(each.pod for each in shown), *broken)
        return named_lines(named_pod(each.key) for each in pods)

    show(printed(flags.output, told, lambda: _text(shown, broken), names), flags.output)
    return NOT_FINE if shown or broken else DONE


def _cluster(flags: argparse.Namespace, by: Judging) -> ClusterState:
    state = by.empty_state()
    rules = reads_rules(features())
    pods = PodReader(node_selection=True, owners=True, requirements=True, rules=rules)
    fill(flags, ClusterFiles(state, pods), (NAMESPACES, NODES, BUDGETS, PODS))
    require_nodes(flags, state)
    return state


def _plain(text: str | None) -> Selector | None:
    """Return in which namespaces ordinary rules hold; None: nowhere."""
    if text is None:
        return None
    return parse_selector(text, "--plain-rules") if text.strip() else EVERYTHING


def _told(
    found: Sequence[Any], broken: Sequence[Pod], write: Callable[[Any], Breaking]
) -> ToldViolations:
    return {
        "pods": [write(each) for each in found],
        "count": len(found),
        "brokenAnnotations": [write_broken_rules(each) for each in broken],
    }


def _text(found: Sequence[Any], broken: Sequence[Pod]) -> str:
    """Write a table, what its outcomes mean, and whose annotation cannot be read."""
    that = " that can be read" if broken else ""
    parts = _found(found) if found else [f"no placed pod breaks a required rule{that}"]
    if broken:
        rows = [
            (each.key, each.node or "", str(broken_rules(each))) for each in broken[:MOST_LINES]
        ]
        parts.append(columns(("POD", "NODE", "RULES THAT CANNOT BE READ"), rows))
        parts += more(broken, MOST_LINES)
    return "\n\n".join(parts)


def _named(alike: Sequence[Any]) -> str:
    """Name the first of the pods that one workload made and that break one rule."""
    first, *others = (each.pod for each in alike)
    return f"{first.key} and {len(others):,} more of {first.workload}" if others else first.key


def _found(found: Sequence[Any]) -> list[str]:
    alike: dict[Hashable, list[Any]] = {}
    for each in found:
        kind = each.pod.workload or each.pod.key, each.outcome, each.rule
        alike.setdefault(kind, []).append(each)
    rows = [
        (_named(each), each[0].pod.node or "", each[0].outcome.value, each[0].broken)
        for each in alike.values()
    ]
    numbers = Counter(each.outcome for each in found).most_common()
    outcomes = [(str(number), each.value, each.words) for each, number in numbers]
    return [
        columns(("POD", "NODE", "OUTCOME", "BROKEN"), rows[:MOST_LINES]),
        *more(rows, MOST_LINES),
        columns(("PODS", "OUTCOME", "MEANS"), outcomes),
    ]
