"""Nodes and topology domains that go one at a time, each as if the others had not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from affinityctl.commands.simulate.whatif.outcome import Looks, Step, Trial, explain
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from extender.core.model.keys import Key
from extender.diagnosis.verbs.waiting import bottleneck

CarryOut: TypeAlias = Callable[[Scheduler, Sequence[str], str], Looks]
"""Drains or loses nodes, which have a name as a whole."""


def try_each(
    scheduler: Scheduler,
    step: Step,
    domains: Mapping[str, Sequence[str]],
    carry_out: CarryOut,
) -> Looks:
    """Carry out each and take it back; the step gets what came of each."""
    waited = frozenset(pod.key for pod in scheduler.waiting)
    trials = []
    for name, nodes in domains.items():
        with scheduler.trial(nodes):
            done = yield from carry_out(scheduler, nodes, name)
            trials.append(_trial(scheduler, name, len(nodes), done, waited))
    step.trials = trials
    return step


def _trial(
    scheduler: Scheduler, name: str, nodes: int, done: Step, waited: Collection[Key]
) -> Trial:
    waiting = [pod for pod in scheduler.waiting if pod.key not in waited]
    why = ""
    held = scheduler.held
    if first := next((pod for pod in waiting if pod.key not in held), None):
        limit = bottleneck(explain(scheduler.state, first, scheduler.profile))
        why = "" if limit is None else limit.what
    gone = done.gone
    there = {each.pod for each in done.removed} - {each.pod for each in done.blocked}
    placed = [each.pod for each in done.placed if each.pod not in waited]
    return Trial(
        name,
        nodes,
        sum(key in there for key in placed),
        [pod.key for pod in waiting],
        done.blocked,
        gone,
        [key for key in placed if key in scheduler.uncertain],
        why,
        [each.pod for each in done.not_started],
    )
