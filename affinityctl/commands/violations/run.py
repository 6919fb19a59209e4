"""Finds pods that break rules: a table for people, and JSON for programs."""

from __future__ import annotations

import argparse
from collections import Counter, deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from affinityctl.reading.chosen_pods import note_empty_namespaces
from affinityctl.reading.cluster import fill, require_nodes
from affinityctl.reading.label_selectors import parse_selector
from affinityctl.scheduler.judging import Judging, judging, note_ignored_annotations
from affinityctl.terminal.printing import columns, more, printed
from extender.cluster.audits.breaches import Breach, breaches, suspects, uncounted
from extender.cluster.state import ClusterState
from extender.command_line import DONE, NOT_FINE, say
from extender.model.execution import Execution
from extender.model.keys import Identity
from extender.model.labels import EVERYTHING
from extender.model.objects import Pod
from extender.offline import ClusterFiles
from extender.resources import BUDGETS, NAMESPACES, NODES, PODS
from extender.verbs.evicting import Finding, Outcome, first_look, second_look
from extender.verbs.nominating import Chooser
from extender.verbs.plugins import Plugins
from extender.wire.annotations import broken_rules
from extender.wire.objects import PodReader
from extender.wire.violations import write_broken_annotation, write_finding

MOST_LINES: Final = 200
"""Of a table."""
MOST_AT_ONCE: Final = 10_000
"""Pods that are taken up to be judged."""


def run(flags: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    execution = _execution(flags.plain_rules)
    by = judging(flags.config)
    plugins = (by.profile.affinity, by.profile.nodes)
    state = _cluster(flags, by)
    note_ignored_annotations(state)
    note_empty_namespaces(state, flags.namespace)
    found = survey(state, execution, plugins)
    chosen = set(flags.namespace)
    shown = [each for each in found if not chosen or each.pod.pod_class.namespace in chosen]
    broken = [
        each
        for each in state.broken_annotations
        if each.node is not None and (not chosen or each.pod_class.namespace in chosen)
    ]
    say(printed(flags.output, lambda: _told(shown, broken), lambda: _text(shown, broken)))
    return NOT_FINE if shown or broken else DONE


def _cluster(flags: argparse.Namespace, by: Judging) -> ClusterState:
    state = ClusterState(
        execution=Execution(EVERYTHING), annotations=by.annotations, replaces=by.replaces
    )
    pods = PodReader(node_affinity=True, owners=True, requirements=True)
    fill(flags, ClusterFiles(state, pods), (NAMESPACES, NODES, BUDGETS, PODS))
    require_nodes(flags, state)
    return state


def _execution(text: str | None) -> Execution:
    """Return what holds where ordinary rules do in the namespaces of a selector; None: nowhere."""
    if text is None:
        return Execution()
    return Execution(parse_selector(text, "--plain-rules") if text.strip() else EVERYTHING)


def survey(state: ClusterState, execution: Execution, plugins: Plugins) -> list[Finding]:
    """Judge every placed pod of a state that watches ordinary rules too, by all required rules.

    O(pods x rules), and O(nodes) for each pod that would go.
    """
    found = dict[Identity, None]()
    while state.rule_watch.pending:
        found.update(dict.fromkeys(suspects(state, MOST_AT_ONCE)))
    chooser = Chooser(state, plugins)
    judged = []
    for identity in sorted(found):
        pod = state.pod(*identity)
        if pod is not None:
            deque(uncounted(state, pod), maxlen=0)
            broken = list(breaches(state, pod))
            if broken:
                judged.append(_finding(state, execution, chooser, pod, broken))
    return judged


def _finding(
    state: ClusterState,
    execution: Execution,
    chooser: Chooser,
    pod: Pod,
    broken: Sequence[Breach],
) -> Finding:
    labels = state.namespace_labels(pod.pod_class.namespace)
    held = [each for each in broken if execution.has(each.rule, labels)]
    if not held:
        cause = first_look(state, execution, pod, broken).cause
        return Finding(pod, broken, Outcome.NOT_ENFORCED, cause)
    seen = second_look(state, chooser, pod, first_look(state, execution, pod, held))
    outcome = seen.outcome
    if outcome is Outcome.GOES and state.budgets.violated_by([pod]):
        outcome = Outcome.BUDGET
    return Finding(pod, broken, outcome, seen.cause, why=seen.why)


def _told(found: Sequence[Finding], broken: Sequence[Pod]) -> Mapping[str, object]:
    return {
        "pods": [write_finding(each) for each in found],
        "count": len(found),
        "brokenAnnotations": [write_broken_annotation(each) for each in broken],
    }


def _text(found: Sequence[Finding], broken: Sequence[Pod]) -> str:
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


def _named(alike: Sequence[Finding]) -> str:
    """Name the first of the pods that one workload made and that break one rule."""
    first, *others = (each.pod for each in alike)
    return f"{first.key} and {len(others):,} more of {first.workload}" if others else first.key


def _found(found: Sequence[Finding]) -> list[str]:
    alike: dict[Hashable, list[Finding]] = {}
    for each in found:
        rule = None if each.cause is None else each.cause.breach.rule
        alike.setdefault((each.pod.workload or each.pod.key, each.outcome, rule), []).append(each)
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
