"""What people ask about the places of running pods: where they would do better, who would go."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Identity
from extender.core.model.labels import EVERYTHING, Selector
from extender.core.model.objects import Pod
from extender.core.verbs.nominating import Chooser
from extender.core.verbs.plugins import Plugins
from extender.features.moving.findings import write_finding
from extender.features.moving.placements import placements
from extender.features.moving.rules.breaches import Breach, breaches, suspects, uncounted
from extender.features.moving.rules.evicting import Finding, Outcome, first_look, second_look
from extender.features.moving.rules.execution import Execution
from extender.features.moving.rules.rule_watch import RuleWatch
from extender.features.moving.sitting import sitting

__all__ = ["placements", "sitting", "survey", "write_finding"]

MOST_AT_ONCE: Final = 10_000
"""Pods that are taken up to be judged."""


def survey(state: ClusterState, plain: Selector | None, plugins: Plugins) -> list[Finding]:
    """Judge every placed pod by all required rules; ordinary ones hold where `plain` selects.

    O(pods x rules), and O(nodes) for each pod that would go.
    """
    watch, execution = RuleWatch(state, Execution(EVERYTHING)), Execution(plain)
    state.book_with(watch)
    found = dict[Identity, None]()
    while watch.pending:
        found.update(dict.fromkeys(suspects(watch, MOST_AT_ONCE)))
    chooser = Chooser(state, plugins)
    judged = []
    for identity in sorted(found):
        pod = state.pod(*identity)
        if pod is not None:
            deque(uncounted(watch, pod), maxlen=0)
            broken = list(breaches(watch, pod))
            if broken:
                judged.append(_finding(watch, execution, chooser, pod, broken))
    return judged


def _finding(
    watch: RuleWatch,
    execution: Execution,
    chooser: Chooser,
    pod: Pod,
    broken: Sequence[Breach],
) -> Finding:
    state = watch.state
    labels = state.namespace_labels(pod.pod_class.namespace)
    held = [each for each in broken if execution.has(each.rule, labels)]
    if not held:
        cause = first_look(watch, execution, pod, broken).cause
        return Finding(pod, broken, Outcome.NOT_ENFORCED, cause)
    seen = second_look(watch, chooser, pod, first_look(watch, execution, pod, held))
    outcome = seen.outcome
    if outcome is Outcome.GOES and state.budgets.violated_by([pod]):
        outcome = Outcome.BUDGET
    return Finding(pod, broken, outcome, seen.cause, why=seen.why)
