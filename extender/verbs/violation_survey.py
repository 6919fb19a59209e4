"""What breaks which required rule now, and what would become of the pods."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extender.cluster.audits.breaches import Breach, breaches, suspects, uncounted
from extender.cluster.state import ClusterState
from extender.model.execution import Execution
from extender.model.keys import Identity
from extender.model.objects import Pod
from extender.verbs.evicting import EvictionCause, Outcome, breach_in_words, first_look, second_look
from extender.verbs.nominating import Chooser
from extender.verbs.plugins import Plugins

MOST_AT_ONCE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Finding:
    """A pod that breaks rules, and what becomes of it."""

    pod: Pod
    breaches: Sequence[Breach]
    outcome: Outcome
    cause: EvictionCause | None = None
    since: float | None = None
    """In seconds since 1970; None where nobody has seen that begin."""
    why: str = ""
    """What the API server said, if it was asked."""

    @property
    def broken(self) -> str:
        """Say which rule it breaks where, and who is in its way."""
        return "" if self.cause is None else breach_in_words(self.pod, self.cause)

    @property
    def becomes(self) -> str:
        """Say what becomes of it, and why."""
        return self.outcome.because(self.why)


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
