"""What becomes of a running pod that breaks a rule: whether it goes, and why not if it stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from math import inf
from typing import Final

from extender.cluster.audits.breaches import Breach, excludes, in_the_way
from extender.cluster.state import ClusterState
from extender.model.execution import STATIC, Execution, ExecutionRule, Owner, RuleKind
from extender.model.keys import Key
from extender.model.node_resources import Requirements
from extender.model.objects import Pod
from extender.model.wording import nodes_of, pods_of
from extender.verbs.nominating import Chooser, Promise

MOST_NAMED: Final = 10
"""Pods in the way that are named."""
MOST_COMPARED: Final = 1_000
"""Pods in the way that are compared with: among more of them, somebody has precedence."""


class Outcome(Enum):
    """What becomes of a pod; the value is what people and metrics read."""

    NOT_ENFORCED = "notEnforced"
    GRACE = "grace"
    STANDBY = "standby"
    PAUSED = "paused"
    TURN = "waitsForTurn"
    OWNER_BUSY = "ownerBusy"
    GOES = "goes"
    DRY_RUN = "dryRun"
    EVICTED = "evicted"
    LEAVING = "deleting"
    OTHERS_GO = "othersGo"
    NO_CONTROLLER = "noController"
    STATIC_POD = "staticPod"
    NO_OTHER_NODE = "noOtherNode"
    BUDGET = "budget"
    FAILED = "failed"

    @property
    def stays(self) -> bool:
        """Return whether the pod stays until something changes."""
        return self in STAYING


STAYING: Final = frozenset(
    (
        Outcome.OTHERS_GO,
        Outcome.NO_CONTROLLER,
        Outcome.STATIC_POD,
        Outcome.NO_OTHER_NODE,
        Outcome.BUDGET,
    )
)

WORDS: Final = {
    Outcome.NOT_ENFORCED: "the rule does not hold during execution",
    Outcome.GRACE: "its grace period is not over",
    Outcome.STANDBY: "another replica of the extender decides",
    Outcome.PAUSED: "too many pods are affected at once: evictions are paused",
    Outcome.TURN: "it waits for its turn under evictionsPerMinute",
    Outcome.OWNER_BUSY: "another pod of its controller is being moved",
    Outcome.GOES: "it is evicted",
    Outcome.DRY_RUN: "it would have been evicted: dryRun is on",
    Outcome.EVICTED: "it was evicted and is about to go",
    Outcome.LEAVING: "it is being deleted already",
    Outcome.OTHERS_GO: "those in its way go: they have the same rule and come after it",
    Outcome.NO_CONTROLLER: "it has no controller that would replace it",
    Outcome.STATIC_POD: "it is a static pod, which only its node can end",
    Outcome.NO_OTHER_NODE: "no other node would take it",
    Outcome.BUDGET: "a disruption budget does not allow it",
    Outcome.FAILED: "the API server could not be asked",
}


@dataclass(frozen=True, slots=True)
class Ground:
    """The breach for which a pod has to go, and who is in its way."""

    breach: Breach
    others: Sequence[Key] = ()
    """At most MOST_NAMED."""
    count: int = 0
    """How many they are, up to MOST_COMPARED."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What becomes of a pod, as things are."""

    outcome: Outcome
    ground: Ground
    target: str | None = None
    """A node that would take it."""


def grounds(
    state: ClusterState, execution: Execution, pod: Pod, found: Sequence[Breach]
) -> tuple[Ground, bool]:
    """Return why a pod has to go or, if it may stay, what it breaks; and whether it has to.

    Of two pods that exclude each other by rules of both, the one with the lower priority goes, and
    of equals the younger one. O(pods in the way), up to MOST_COMPARED of them for each rule.
    """
    shown: Ground | None = None
    for breach in found:
        others = list(islice(in_the_way(state, pod, breach), MOST_COMPARED))
        goes = _has_to_go(state, execution, pod, breach, others)
        ground = Ground(breach, [each.key for each in others[:MOST_NAMED]], len(others))
        if goes:
            return ground, True
        shown = shown or ground
    if shown is None:
        raise ValueError(f"{pod.key} breaks no rule")
    return shown, False


def _has_to_go(
    state: ClusterState, execution: Execution, pod: Pod, breach: Breach, others: Sequence[Pod]
) -> bool:
    term = breach.rule.term
    if breach.rule.kind is not RuleKind.ANTI_AFFINITY or term is None:
        return True
    key = term.topology_key
    return any(
        not each.deleting
        and (not excludes(state, execution, each, pod, key) or precedence(each) < precedence(pod))
        for each in others
    )


def precedence(pod: Pod) -> tuple[int, float, str]:
    """Return what sorts pods that exclude each other: the one that stays first."""
    return -pod.priority, inf if pod.started is None else pod.started, pod.uid


def owner_of(pod: Pod) -> Owner | None:
    """Return the controller that would replace a pod."""
    return None if pod.tenure is None else pod.tenure.owner


def first_look(
    state: ClusterState, execution: Execution, pod: Pod, found: Sequence[Breach]
) -> Assessment:
    """Say what becomes of a pod, before it is asked whether any node would take it."""
    ground, goes = grounds(state, execution, pod, found)
    owner = owner_of(pod)
    if pod.deleting:
        outcome = Outcome.LEAVING
    elif not goes:
        outcome = Outcome.OTHERS_GO
    elif owner is None:
        outcome = Outcome.NO_CONTROLLER
    else:
        outcome = Outcome.STATIC_POD if owner.kind == STATIC else Outcome.GOES
    return Assessment(outcome, ground)


def second_look(
    state: ClusterState,
    chooser: Chooser,
    pod: Pod,
    first: Assessment,
    *,
    promises: Sequence[Promise] = (),
    chance: float = 0.0,
) -> Assessment:
    """Say whether another node would take a pod that is to go, by all that is known here.

    By the rules of the plugins, requests, ports, taints, node selectors and being unschedulable,
    beside the pods that nodes are promised to. O(nodes + promises).
    """
    if first.outcome is not Outcome.GOES:
        return first
    tolerations = () if pod.tenure is None else pod.tenure.tolerations
    requirements = Requirements(pod.requests, tolerations)
    avoid = {pod.node or "", *_full(state, pod, promises)}
    target = chooser.choose(pod, requirements, avoid=avoid, promises=promises, chance=chance)
    outcome = Outcome.NO_OTHER_NODE if target is None else Outcome.GOES
    return Assessment(outcome, first.ground, target)


def _full(state: ClusterState, pod: Pod, promises: Sequence[Promise]) -> Iterator[str]:
    """Yield the nodes that have no room for a pod beside those they are promised to."""
    promised: dict[str, list[Pod]] = {}
    for promise in promises:
        promised.setdefault(promise.node, [pod]).append(promise.pod)
    for node, pods in promised.items():
        requests = Counter[str]()
        for each in pods:
            requests.update(dict(each.requests))
        ports = tuple(port for each in pods for port in each.ports)
        if not state.node_resources.has(node, tuple(requests.items()), ports):
            yield node


def rule_in_words(rule: ExecutionRule) -> str:
    """Say what a rule is."""
    term = rule.term
    if term is None:
        asked = "" if rule.node_rule is None else f" ({nodes_of(rule.node_rule)})"
        return f"required node affinity{asked}"
    side = "anti-affinity" if rule.kind is RuleKind.ANTI_AFFINITY else "affinity"
    return f"required pod {side} by {term.topology_key} ({pods_of(term.pods)})"


def breach_in_words(pod: Pod, ground: Ground) -> str:
    """Say which rule a pod breaks where, and who is in its way."""
    breach = ground.breach
    words, term = rule_in_words(breach.rule), breach.rule.term
    if term is None:
        return f"{words} is not met by the labels of node {pod.node}"
    key = term.topology_key
    place = f"{key}={breach.domain}" if breach.domain is not None else f"a node without {key}"
    if breach.rule.kind is RuleKind.AFFINITY:
        return f"{words} is not met: no such pod is in {place}"
    more = f" and {ground.count - len(ground.others)} more" * (ground.count > len(ground.others))
    return f"{words} is broken in {place} by {', '.join(ground.others) or 'a pod'}{more}"
