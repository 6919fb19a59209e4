"""What becomes of a running pod that breaks a rule: whether it goes, and why not if it stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from math import inf
from typing import Final, Self

from extender.core.model.keys import Key, namespace_of
from extender.core.model.objects import Pod
from extender.core.model.wording import nodes_of, pods_of
from extender.core.model.workload import DAEMON_SET, JOB, STATIC
from extender.core.verbs.nominating import Chooser, ExpectedPlacement
from extender.features.moving.rules.breaches import Breach, enough_to_push, excludes, in_the_way
from extender.features.moving.rules.execution import (
    SYSTEM_CRITICAL,
    Execution,
    ExecutionRule,
    RuleKind,
)
from extender.features.moving.rules.rule_watch import RuleWatch

MOST_NAMED: Final = 10
MOST_COMPARED: Final = 1_000
"""Pods in the way that are compared with; if there are more, one of them has precedence."""


class Outcome(Enum):
    """What becomes of a pod: what programs and metrics read, in words, and whether it stays."""

    NOT_ENFORCED = "notEnforced", "the rule does not hold during execution"
    GRACE = "grace", "its grace period is not over"
    STANDBY = "standby", "another replica of the extender decides"
    PAUSED = "paused", "too many pods are affected, here or in all: evictions are paused"
    TURN = "waitsForTurn", "it waits for its turn under evictionsPerMinute"
    OWNER_BUSY = "ownerBusy", "another pod of its controller is being moved"
    RESTS = "rests", "its controller rests after a move"
    NOT_REPLACED = (
        "notReplaced",
        "the last pod of its controller that was moved has no successor that is ready",
    )
    STOPPED = "stopped", "the last moves failed, here or everywhere: it waits, an hour at most"
    GOES = "goes", "it is evicted"
    DRY_RUN = "dryRun", "it would have been evicted: dryRun is on"
    EVICTED = "evicted", "it was evicted and is about to go"
    LEAVING = "deleting", "it is being deleted already"
    UNCONFIRMED = "unconfirmed", "the API server does not show what the watch has shown"
    OTHERS_GO = "othersGo", "those in its way go: they have the same rule and come after it", True
    BROKEN_BY_OTHERS = (
        "brokenByOthers",
        (
            "all pods that it would have to go for are of other namespaces, and not known to have "
            "been there first"
        ),
        True,
    )
    NO_CONTROLLER = "noController", "it has no controller that would replace it", True
    STATIC_POD = "staticPod", "it is a static pod, which only its node can end", True
    SPARED = "spared", "it is not to be evicted", True
    ONLY_REPLICA = (
        "onlyReplica",
        "no other pod of its controller is ready, and no disruption budget selects it",
        True,
    )
    NO_OTHER_NODE = "noOtherNode", "no other node would take it", True
    BUDGET = "budget", "a disruption budget does not allow it", True
    FAILED = "failed", "the API server could not be asked"

    _value_: str
    words: str
    stays: bool
    """Until something changes."""

    def __new__(cls, value: str, words: str, stays: bool = False) -> Self:  # noqa: FBT001, FBT002 - a column of the table
        self = object.__new__(cls)
        self._value_, self.words, self.stays = value, words, stays
        return self

    def because(self, why: str) -> str:
        return self.words + (f": {why}" if why else "")


@dataclass(frozen=True, slots=True)
class EvictionCause:
    """The breach for which a pod has to go, and who is in its way."""

    breach: Breach
    others: Sequence[Key] = ()
    """At most MOST_NAMED, those of the pod's own namespace first."""
    count: int = 0
    """How many they are, up to MOST_COMPARED."""
    foreign: int = 0
    """How many of them are of other namespaces."""


@dataclass(frozen=True, slots=True)
class Assessment:
    outcome: Outcome
    cause: EvictionCause
    target: str | None = None
    """A node that would take it."""
    why: str = ""
    """What spares the pod."""


@dataclass(frozen=True, slots=True)
class Fate:
    outcome: Outcome
    breach: Breach
    why: str = ""


def fate(watch: RuleWatch, execution: Execution, pod: Pod, found: Sequence[Breach]) -> Fate:
    """Say what becomes of a pod that breaks rules, before it is asked which node would take it.

    Of pods that exclude each other by rules of all, the first by `precedence` stays: the highest
    priority, and of equals the oldest; with a limit, as many as it allows. O(pods in the way), up
    to MOST_COMPARED of them for each rule.
    """
    fates = [Fate(_by_rule(watch, execution, pod, breach), breach) for breach in found]
    if not fates:
        raise ValueError(f"{pod.key} breaks no rule")
    worst = min(fates, key=lambda each: _SEVERITY.index(each.outcome))
    if pod.status.deleting:
        return Fate(Outcome.LEAVING, worst.breach)
    if worst.outcome is not Outcome.GOES:
        return worst
    outcome, why = kept(pod)
    return worst if outcome is Outcome.GOES else Fate(outcome, worst.breach, why)


_SEVERITY: Final = (Outcome.GOES, Outcome.BROKEN_BY_OTHERS, Outcome.OTHERS_GO)


def _by_rule(watch: RuleWatch, execution: Execution, pod: Pod, breach: Breach) -> Outcome:
    if breach.rule.kind is not RuleKind.ANTI_AFFINITY:
        return Outcome.GOES
    enough, pushing, foreign = enough_to_push(watch, pod, breach), 0, 0
    for each in islice(in_the_way(watch, pod, breach), MOST_COMPARED):
        if _pushes(watch, execution, pod, breach, each):
            if _may_push(watch, pod, breach, each):
                pushing += 1
            else:
                foreign += 1
            if pushing >= enough:
                return Outcome.GOES
    return Outcome.BROKEN_BY_OTHERS if pushing + foreign >= enough else Outcome.OTHERS_GO


def culprits(watch: RuleWatch, execution: Execution, pod: Pod, breach: Breach) -> Iterator[Pod]:
    """Yield the pods in the way for each of which, as one of enough, a pod has to go."""
    for each in islice(in_the_way(watch, pod, breach), MOST_COMPARED):
        if _may_push(watch, pod, breach, each) and _pushes(watch, execution, pod, breach, each):
            yield each


def _pushes(watch: RuleWatch, execution: Execution, pod: Pod, breach: Breach, other: Pod) -> bool:
    """Return whether a pod in the way stays, of the two."""
    term = breach.rule.term
    return (
        term is not None
        and not other.status.deleting
        and (
            not excludes(watch, execution, other, pod, term.topology_key)
            or precedence(other) < precedence(pod)
        )
    )


def _may_push(watch: RuleWatch, pod: Pod, breach: Breach, other: Pod) -> bool:
    """Return whether a pod in the way is of the pod's own namespace or was there first.

    A tenant who may edit pods of one namespace must not decide which pods of others run.
    """
    term = breach.rule.term
    return other.pod_class.namespace == pod.pod_class.namespace or (
        term is not None and watch.was_first(other, pod, term.topology_key)
    )


def kept(pod: Pod) -> tuple[Outcome, str]:
    if pod.spec.owner is None:
        return Outcome.NO_CONTROLLER, ""
    if pod.spec.owner.kind == STATIC:
        return Outcome.STATIC_POD, ""
    if pod.spec.requirements.runs_once and pod.spec.owner.kind != JOB:
        return Outcome.NO_CONTROLLER, "its restartPolicy is not Always, and it is of no Job"
    why = spared(pod)
    return (Outcome.GOES, "") if why is None else (Outcome.SPARED, why)


def is_only_replica(watch: RuleWatch, pod: Pod) -> bool:
    """Return whether its controller would have no ready pod without it, unless a budget knows."""
    owner = pod.controller
    return (
        owner is not None
        and pod.status.ready
        and watch.owned.ready(owner) <= 1
        and next(watch.state.budgets.protecting(pod), None) is None
    )


def spared(pod: Pod) -> str | None:
    """Say what spares a pod, after what descheduler and autoscalers leave alone; None: nothing."""
    if pod.spec.requirements.keep is not None:
        return f"its annotation {pod.spec.requirements.keep} says so"
    if pod.spec.priority >= SYSTEM_CRITICAL:
        return f"its priority, {pod.spec.priority}, is that of pods critical to the system"
    if pod.spec.group is not None:
        # As preemption spares them; and in `replace` its successor waits for another profile.
        return "it is in a pod group, whose pods are placed together and may have to go together"
    if pod.spec.owner is not None and pod.spec.owner.kind == DAEMON_SET:
        return "it belongs to a DaemonSet"
    return None


def precedence(pod: Pod) -> tuple[int, float, str]:
    """Return what sorts pods that exclude each other: the one that stays first."""
    return -pod.spec.priority, inf if pod.started is None else pod.started, pod.uid


def first_look(
    watch: RuleWatch, execution: Execution, pod: Pod, found: Sequence[Breach]
) -> Assessment:
    """Say what becomes of a pod, as `fate`, and who is in its way."""
    decided = fate(watch, execution, pod, found)
    return Assessment(decided.outcome, _cause(watch, pod, decided.breach), why=decided.why)


def _cause(watch: RuleWatch, pod: Pod, breach: Breach) -> EvictionCause:
    others = [each.key for each in islice(in_the_way(watch, pod, breach), MOST_COMPARED)]
    space = pod.pod_class.namespace
    foreign = [key for key in others if namespace_of(key) != space]
    own = [key for key in others if namespace_of(key) == space]
    return EvictionCause(breach, (own + foreign)[:MOST_NAMED], len(others), len(foreign))


def second_look(
    watch: RuleWatch,
    chooser: Chooser,
    pod: Pod,
    first: Assessment,
    *,
    placements: Sequence[ExpectedPlacement] = (),
    chance: float = 0.0,
) -> Assessment:
    """Say whether another node would take a pod that is to go, by all that is known here.

    By the rules of the plugins, requests, ports, taints, node selectors and being unschedulable,
    beside the pods that are expected there; and whether its controller has another one that is
    ready. O(nodes + placements).
    """
    if first.outcome is not Outcome.GOES:
        return first
    if is_only_replica(watch, pod):
        return Assessment(Outcome.ONLY_REPLICA, first.cause)
    target = chooser.choose(pod, avoid=(pod.node or "",), placements=placements, chance=chance)
    outcome = Outcome.NO_OTHER_NODE if target is None else Outcome.GOES
    return Assessment(outcome, first.cause, target)


def rule_in_words(rule: ExecutionRule) -> str:
    term = rule.term
    if term is None:
        asked = "" if rule.node_rule is None else f" ({nodes_of(rule.node_rule)})"
        return f"required node affinity{asked}"
    side = "anti-affinity" if rule.kind is RuleKind.ANTI_AFFINITY else "affinity"
    return f"required pod {side} by {term.topology_key} ({pods_of(term.pods)})"


def breach_in_words(pod: Pod, cause: EvictionCause, *, within: str | None = None) -> str:
    """Say which rule a pod breaks where, and who is in its way.

    With `within`, the text is for readers of that namespace: pods of others are counted, not named.
    """
    breach = cause.breach
    words, term = rule_in_words(breach.rule), breach.rule.term
    if term is None:
        return f"{words} is not met by the labels of node {pod.node}"
    key = term.topology_key
    place = f"{key}={breach.domain}" if breach.domain is not None else f"a node without {key}"
    if breach.rule.kind is RuleKind.AFFINITY:
        return f"{words} is not met: no such pod is in {place}"
    named: list[str] = [each for each in cause.others if within in {None, namespace_of(each)}]
    hidden = 0 if within is None else cause.foreign
    left = cause.count - hidden - len(named)
    if left > 0:
        named.append(f"{left} more")
    if hidden:
        named.append(f"{hidden} pod{'s' * (hidden > 1)} of other namespaces")
    *first, last = named or ["a pod"]
    return f"{words} is broken in {place} by {', '.join(first)}{' and ' * bool(first)}{last}"


@dataclass(frozen=True, slots=True)
class Finding:
    pod: Pod
    breaches: Sequence[Breach]
    outcome: Outcome
    cause: EvictionCause | None = None
    since: float | None = None
    """In seconds since 1970; None if the beginning was not seen."""
    why: str = ""
    """What the API server said, if it was asked."""

    @property
    def rule(self) -> ExecutionRule | None:
        """Return the rule for which it would go, or stays."""
        return None if self.cause is None else self.cause.breach.rule

    @property
    def broken(self) -> str:
        return "" if self.cause is None else breach_in_words(self.pod, self.cause)

    @property
    def becomes(self) -> str:
        return self.outcome.because(self.why)
