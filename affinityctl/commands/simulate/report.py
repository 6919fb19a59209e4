"""What a simulation found, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Sized
from textwrap import indent
from typing import Final

from affinityctl.commands.simulate.fields import told
from affinityctl.commands.simulate.whatif.outcome import (
    DELETED,
    After,
    PendingPods,
    Simulation,
    Step,
    Trial,
    Update,
    UpdateStep,
)
from affinityctl.commands.simulate.whatif.scaling import ScaledDown
from affinityctl.commands.simulate.whatif.scheduling import SAID, Placement
from affinityctl.scheduler.volumes.ledger import ledger_of
from affinityctl.terminal.printing import (
    INDENT,
    columns,
    named_lines,
    named_pod,
    printed,
    section,
    wrapped,
)
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import ZONE
from extender.core.model.node_resources import VOLUMES
from extender.core.model.wording import MOST_SAID, plural, short, some
from extender.diagnosis.verbs.filters import GATES, OTHER_SCHEDULER, PRIORITY_CLASS
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.verbs.telling import summary
from extender.diagnosis.verbs.waiting import Bottleneck

_ONE_NODE: Final = (
    "Its access mode is ReadWriteOnce: one node has it at a time. To update, use strategy: {type: "
    "Recreate}; for several replicas, ReadWriteMany or a StatefulSet with a claim for each"
)
MOST_NEAR: Final = 3
"""Near misses of a kind of pods that people are told; programs hear of as many as of a pod."""

_WARNINGS: Final = {
    GATES: "until the scheduling gates of {} are removed, no scheduler places what has them",
    OTHER_SCHEDULER: "another scheduler places {}, and may have other rules; if it has the same, "
    "name it with --scheduler-name",
    PRIORITY_CLASS: "the PriorityClass that {} asks for is not known, so that the priority counts "
    "as 0; an API server that does not have it either makes no such pod",
    SAID: "the scheduler did not place {}, or a controller could not make it, for something that "
    "is not looked at, or that is over",
}
"""By field, where its name alone does not tell."""


def write(found: Simulation, output: str) -> str:
    """Write what was found, in a format."""

    def text() -> str:
        parts = (
            *(_step(found.state, each, wide=output == "wide") for each in found.steps),
            *(_pending(found.state, each) for each in found.pending),
            *_warnings(found),
        )
        return "\n\n".join(parts) or "No pod waits, and nothing was to be changed."

    def names() -> str:
        return named_lines(map(named_pod, _hurt_pods(found)))

    return printed(output, lambda: told(found), text, names)


def _hurt_pods(found: Simulation) -> Iterator[str]:
    """Yield the pods for which the answer is not fine."""
    for alike in found.pending:
        yield from alike.pods
    for each in found.steps:
        yield from (*each.gone, *(blocked.pod for blocked in each.blocked))
        yield from (late.pod for late in each.not_started)
        for trial in each.trials or ():
            yield from (*trial.waiting, *trial.gone, *trial.not_started)
            yield from (blocked.pod for blocked in trial.blocked)


def _step(state: ClusterState, step: Step, *, wide: bool) -> str:
    title = f"{step.change[0].upper()}{step.change[1:]}: {_result(step)}"
    lines = [wrapped(each, INDENT) for each in _happened(state, step)]
    if step.full is not None:
        lines.append(wrapped(f"{step.full.pods[0]} is the first that finds no node:", INDENT))
        lines += _why(state, step.full)
    if step.scaled is not None:
        gone = [each.pod for each in step.removed]
        lines += [wrapped(each, INDENT) for each in _scaled(step.scaled, gone, wide=wide)]
    if step.update is not None:
        lines += _update(step.update, wide=wide)
    lines += [wrapped(f"Note: {each}", INDENT) for each in step.notes]
    if step.trials is not None:
        lines += _trials(step.trials, wide=wide)
    if wide and step.placed:
        rows = [(each.pod, each.node, each.before or "") for each in step.placed]
        lines.append(columns(("POD", "NODE", "FROM"), rows))
    return section(title, lines)


def _happened(state: ClusterState, step: Step) -> Iterator[str]:
    if step.placed:
        yield from _where(state, step.placed)
    if step.preempted:
        listed = [f"{each.pod} on {each.node} for {each.preemptor}" for each in step.preempted]
        yield f"preempted: {_who(listed)}"
    if gone := step.gone:
        yield f"gone for good, as no controller makes another: {_who(sorted(gone))}"
    if step.not_started:
        first = step.not_started[0]
        names = [each.pod for each in step.not_started]
        yield f"{_who(names)} {'do' if names[1:] else 'does'} not start: {first.held}. {_ONE_NODE}"
    for each in step.blocked:
        stays = "stays on" if each.budgets else "came back to"
        yield f"{each.pod} {stays} {each.node}: {each.why}"


def _trials(trials: Sequence[Trial], *, wide: bool) -> Iterator[str]:
    shown = [each for each in trials if wide or each.hurts or each.uncertain]
    if shown:
        header = ("NAME", "NODES", "MOVED", "WAIT", "BLOCKED", "GONE", "WHO")
        yield indent(columns(header, map(_trial_row, shown)), INDENT)
    if left := len(trials) - len(shown):
        yield wrapped(f"{'the other ' if shown else ''}{left:,} hurt nobody", INDENT)


def _trial_row(trial: Trial) -> Sequence[str]:
    counts = (trial.nodes, trial.moved, len(trial.waiting), len(trial.blocked), len(trial.gone))
    return (trial.name, *(f"{each:,}" for each in counts), "; ".join(_hurt(trial)))


def _hurt(trial: Trial) -> Iterator[str]:
    """Name the pods, each with what it suffers from."""
    if waiting := trial.waiting:
        first = "the first: " * bool(waiting[1:])
        yield f"{_who(waiting)} {_verb(waiting, 'wait')}{trial.why and f' ({first}{trial.why})'}"
    if back := [each.pod for each in trial.blocked if not each.budgets]:
        yield f"{_who(back)} {_verb(back, 'tolerate')} the cordon and came back"
    if kept := [each.pod for each in trial.blocked if each.budgets]:
        budgets = list(dict.fromkeys(key for each in trial.blocked for key in each.budgets))
        yield f"{_who(kept)} {_verb(kept, 'stay')} (budget {_who(budgets)})"
    if trial.gone:
        yield f"{_who(trial.gone)} gone for good"
    if asleep := trial.not_started:
        volume = "a volume that another node has"
        yield f"{_who(asleep)} {'do' if asleep[1:] else 'does'} not start, for {volume}"
    if trial.uncertain:
        yield f"{_who(trial.uncertain)} may wait (see the warnings)"


def _who(names: Sequence[str]) -> str:
    return some(names, len(names))


def _verb(of: Sized, verb: str) -> str:
    return verb if len(of) > 1 else f"{verb}s"


def _result(step: Step) -> str:
    """Say in one line what became of how many pods."""
    if step.trials is not None:
        return _of_trials(step.trials)
    after = Counter(each.after for each in step.removed)
    gone = {each.pod for each in step.removed if each.after is After.MADE_ANEW}
    preempted = {each.pod for each in step.preempted}
    back = {each.pod for each in step.blocked if not each.budgets}
    moved = sum(each.pod in gone - back for each in step.placed)
    placed = sum(each.pod not in gone | preempted for each in step.placed)
    old, new = plural(len(step.removed), "pod"), plural(placed, "pod")
    if step.update is not None:
        old, new = f"{len(step.removed):,} old", f"{placed:,} new"
    elif step.went != DELETED:
        new = plural(placed, "waiting pod")
    counts = (
        (len(step.removed), f"{old} {step.went}"),
        (moved, f"{moved:,} placed on other nodes"),
        (placed, f"{new} placed"),
        (len(step.waiting), f"{len(step.waiting):,} {_verb(step.waiting, 'wait')}"),
        (len(step.held), f"{len(step.held):,} not created"),
        (len(step.not_started), f"{len(step.not_started):,} not started"),
        (after[After.WITH_NODE], f"{after[After.WITH_NODE]:,} went with the node"),
        (after[After.DELETED], f"{after[After.DELETED]:,} being deleted already"),
        (len(preempted), f"{len(preempted):,} preempted"),
        (len(step.gone), f"{len(step.gone):,} gone for good"),
        (len(back), f"{len(back):,} came back"),
        (kept := len(step.blocked) - len(back), f"{kept:,} blocked by a budget"),
    )
    said = [text for count, text in counts if count]
    if not (step.removed or step.placed):
        said.insert(0, counts[0 if step.went != DELETED else 2][1])
    if step.update is not None:
        said.append("stuck" if step.update.stuck else "done")
    return ", ".join(said)


def _of_trials(trials: Sequence[Trial]) -> str:
    hurting = sum(each.hurts for each in trials)
    uncertain = sum(bool(each.uncertain) and not each.hurts for each in trials)
    may = f", {uncertain:,} may" if uncertain else ""
    return f"{hurting:,} of {len(trials):,} {'hurts' if hurting == 1 else 'hurt'}{may}"


def _where(state: ClusterState, placed: Sequence[Placement]) -> Iterator[str]:
    nodes = Counter(each.node for each in placed)
    zones = Counter(state.nodes.labels(each.node).get(ZONE) for each in placed)
    if any(zones):
        named = {zone or "": count for zone, count in zones.items()}
        listed = (f"{zone or 'none'} {count:,}" for zone, count in sorted(named.items()))
        yield f"by zone: {', '.join(listed)}"
    names = [
        name if count == 1 else f"{name} ({count:,})"
        for name, count in sorted(nodes.items(), key=lambda each: (-each[1], each[0]))
    ]
    yield f"on {plural(len(names), 'node')}: {_who(names)}"


def _scaled(scaled: ScaledDown, gone: Sequence[str], *, wide: bool) -> Iterator[str]:
    """Say who went and how the rest is spread, and the same with costs that the extender gives."""
    listed = ", ".join if wide else _who
    yield f"deleted: {listed(gone)}"
    differs = {*gone} != {*scaled.would_go}
    if differs and wide:
        yield f"with costs by {scaled.given_by}: {listed(scaled.would_go)}"
    for key, counts in scaled.left.items():
        by = f"; with costs by {scaled.given_by}: {_domains(scaled.with_costs[key])}"
        would = by if differs else ""
        if counts:
            yield f"left by {short(key)}: {_domains(counts)}{would}"


def _domains(counts: Mapping[str, int]) -> str:
    if len(counts) <= MOST_SAID:
        return ", ".join(f"{domain} {number:,}" for domain, number in counts.items())
    least, most = min(counts.values()), max(counts.values())
    return f"{least:,} to {most:,} in each of {len(counts):,}"


def _update(update: Update, *, wide: bool) -> Iterator[str]:
    if wide:
        for number, each in enumerate(update.steps, 1):
            yield wrapped(f"step {number}: {_turn(each)}", INDENT)
    if update.stuck is not None:
        yield wrapped(f"It gets stuck {update.stuck}", INDENT)


def _turn(turn: UpdateStep) -> str:
    said = []
    if turn.removed:
        said.append(f"delete {_who([each.pod for each in turn.removed])}")
    if turn.created:
        said.append(f"create {_who(turn.created)}")
    placed = [f"{each.pod} on {each.node}" for each in turn.placed]
    said.append(f"placed: {_who(placed)}" if placed else "none placed")
    return "; ".join(said)


def _pending(state: ClusterState, alike: PendingPods) -> str:
    if alike.until is not None:
        are = "is" if len(alike.pods) == 1 else "are"
        title = f"{plural(len(alike.pods), 'pod')} {are} not created: {_who(alike.pods)}"
        why = (
            f"podManagementPolicy OrderedReady: the StatefulSet waits until {alike.until} is ready"
        )
        return section(title, [wrapped(why, INDENT)])
    verb = _verb(alike.pods, "wait")
    how = f"that had waited before still {verb}" if alike.waited else verb
    title = f"{plural(len(alike.pods), 'pod')} {how}: {_who(alike.pods)}"
    return section(title, _why(state, alike))


def _why(state: ClusterState, alike: PendingPods) -> Iterator[str]:
    """Say in explain's words why pods find no node."""
    explanation, limit = alike.explanation, alike.bottleneck
    said = ["not looked into; `explain` tells"]
    if explanation is not None:
        said = [summary(explanation)]
        if limit is not None:
            said.append(_bottleneck(limit))
        said += [f"Nearest: {each}" for each in alike.nearest[:MOST_NEAR]]
        if alike.is_full_of_replicas:
            said.append("Nearest: none, for only replicas of the same workload are in the way")
        remarks = notes(state, explanation)
        said += [f"Note: {note.text}" for note in remarks]
        said += [f"To do: {text}" for text in alike.what_to_do(remarks)[:1]]
    return (wrapped(each, INDENT) for each in said)


def _bottleneck(limit: Bottleneck) -> str:
    if limit.alone:
        return f"Most in the way: {limit.what}. Without it, {plural(limit.alone, 'node')} would fit"
    nodes = plural(limit.refused, "node")
    return f"Most in the way: {limit.what}, on {nodes}; {limit.besides} refuses them as well"


def _warnings(found: Simulation) -> Iterator[str]:
    for field, pods in sorted(found.beyond.items()):
        what = _WARNINGS.get(field, f"{field} of {{}} are not looked at").format(_who(list(pods)))
        missing = ledger_of(found.state).missing if field == VOLUMES else ()
        more = f" without {', '.join(missing)}" if missing else ""
        yield wrapped(f"Warning: {what}{more}", "", 2)
    if found.unmeasured:
        what = "has" if found.unmeasured == 1 else "have"
        nodes = f"{plural(found.unmeasured, 'node')} {what} no status.allocatable"
        yield wrapped(f"Note: {nodes}, so any number of pods fits there")
