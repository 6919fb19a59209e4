"""Rules that a running pod breaks, judged pod by pod where events have left a mark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from extender.core.cluster.counts.pod_sets import PodSet
from extender.core.cluster.counts.topology import DomainTable
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Identity
from extender.core.model.objects import Pod
from extender.diagnosis.verbs.violations import COMPARISONS
from extender.features.moving.rules.execution import Execution, ExecutionRule, RuleKind
from extender.features.moving.rules.rule_watch import RuleWatch
from extender.features.moving.rules.watched import Mark, WatchedTerm

RULES_A_STEP = 2
"""Rules that take as long to judge as a usual pod."""
COMPARISONS_A_STEP = 8
"""Likewise, of a pod class or a node with a condition."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a pod breaks where it is."""

    rule: ExecutionRule
    domain: str | None
    """Of its node; None where the node lacks the key, and for node affinity."""


def suspects(watch: RuleWatch, most: int) -> Iterator[Identity]:
    """Take up to so many pods for which something may have changed; they have to be judged.

    Comparing events with rules is put off like that as well, and comes first; then going through
    the owners of a rule in a domain, once that turns out to be broken or met again: a pod with
    hundreds of rules is judged once for all of them. O(1) for each pod, and for each mark; a pod
    with many rules stands for several.
    """
    steps = 0
    while steps < most:
        if watch.compare(COMPARISONS_A_STEP):
            steps += 1
            continue
        mark = watch.take_mark()
        if mark is not None:
            steps += 1
            if _has_changed(watch.state, mark):
                watch.suspect(mark.watched.owners.get(mark.domain, {}).values())
            continue
        identity = watch.take_suspect()
        if identity is None:
            return
        steps += 1 + len(watch.rules_of(identity.uid)) // RULES_A_STEP
        steps += watch.conditions_of(identity.uid) // COMPARISONS_A_STEP
        yield identity


def uncounted(watch: RuleWatch, pod: Pod) -> Iterator[int]:
    """Count in steps what it takes to judge a pod; yield what each step took."""
    for watched in _watched(watch, pod):
        yield from watch.state.counting_matching([watched.pods], COMPARISONS)


def breaches(watch: RuleWatch, pod: Pod) -> Iterator[Breach]:
    """Yield the rules that a placed pod breaks, whether they hold during execution or not.

    Nothing of a pod on a node that is unknown, and nothing where too many rules are in use to count
    for all of them. O(rules of the pod).
    """
    state, node = watch.state, pod.node
    if node is None or node not in state.nodes:
        return
    labels = state.nodes.labels(node)
    for rule in watch.rules_in_scope(pod):
        watched = watch.watched(rule)
        if rule.node_rule is not None:
            if not rule.node_rule.judge(node, labels):
                yield Breach(rule, None)
        elif watched is not None and _breaks(state, pod, watched, labels.get(watched.key)):
            yield Breach(rule, labels.get(watched.key))


def in_force(watch: RuleWatch, execution: Execution, pod: Pod) -> list[Breach]:
    labels = watch.state.namespace_labels(pod.pod_class.namespace)
    return [each for each in breaches(watch, pod) if execution.has(each.rule, labels)]


def in_the_way(watch: RuleWatch, pod: Pod, breach: Breach) -> Iterator[Pod]:
    """Yield the pods that a pod's anti-affinity excludes where it is; none for other rules.

    O(nodes with such pods, and pods on those in the domain), if all of them are asked for.
    """
    watched, domain = watch.watched(breach.rule), breach.domain
    if breach.rule.kind is RuleKind.ANTI_AFFINITY and watched is not None and domain is not None:
        there = watch.state.matching_pods(watched.pods, domain)
        yield from (each for each in there if each.uid != pod.uid)


def excludes(watch: RuleWatch, execution: Execution, owner: Pod, pod: Pod, key: str) -> bool:
    state = watch.state
    labels = state.namespace_labels(owner.pod_class.namespace)
    return any(
        rule.kind is RuleKind.ANTI_AFFINITY
        and rule.term is not None
        and rule.term.topology_key == key
        and execution.has(rule, labels)
        and state.is_about(rule.term, pod.pod_class)
        for rule in watch.rules_in_scope(owner)
    )


def enough_to_push(watch: RuleWatch, pod: Pod, breach: Breach) -> int:
    """Return how many pods that stay it takes for one that breaks anti-affinity to have to go.

    One, without a limit; with one, as many as leave no room for it.
    """
    watched, most = watch.watched(breach.rule), breach.rule.most
    if watched is None or most is None:
        return 1
    return max(1, most + 1 - _itself(watch.state, pod, watched.pods[0]))


def _watched(watch: RuleWatch, pod: Pod) -> Iterator[WatchedTerm]:
    for rule in watch.rules_in_scope(pod):
        watched = watch.watched(rule)
        if watched is not None:
            yield watched


def _breaks(state: ClusterState, pod: Pod, watched: WatchedTerm, domain: str | None) -> bool:
    affinity = watched.rule.kind is RuleKind.AFFINITY
    if domain is None:
        return affinity
    pods = _counted(state, watched, domain)
    if pods is None:
        return False
    if affinity:
        return not pods
    most = watched.rule.most
    return pods > (_itself(state, pod, watched.pods[0]) if most is None else most)


def _itself(state: ClusterState, pod: Pod, pods: PodSet) -> int:
    return pods.weigh(pod.pod_class, state.namespace_labels(pod.pod_class.namespace))


def _counted(state: ClusterState, watched: WatchedTerm, domain: str) -> int | None:
    """Return how many pods count in a domain; None where nobody counts them."""
    tables = state.matching([watched.pods])
    return None if tables is None else _in(tables[0], domain)


def _in(table: DomainTable, domain: str) -> int:
    return table.counts.get(table.topology.number_of(domain), 0)


def _has_changed(state: ClusterState, mark: Mark) -> bool:
    watched, domain = mark
    pods = _counted(state, watched, domain)
    level = watched.enough if pods is None else min(pods, watched.enough)
    before, watched.levels[domain] = watched.levels.get(domain), level
    return level != before
