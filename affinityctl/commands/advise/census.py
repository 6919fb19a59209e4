"""Which rules the pods of a cluster carry, and how many pods these are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.labels import HOSTNAME
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import PodSelector

MOST_SELECTORS: Final = 2_000
"""Selectors of a kind whose pods are counted; each costs a look at classes that it may match."""


class RuleGroup(Enum):
    """Rules that cost alike; the value is what bench calls them."""

    PREFERRED = "preferred zone and host"
    APART_BY_HOST = "required apart by host"
    APART_BY_HOST_ANYWHERE = "required apart by host, namespaces by selector"
    OTHER_REQUIRED = "required together by zone"


WORDS: Final = {
    RuleGroup.PREFERRED: "preferred, for or against",
    RuleGroup.APART_BY_HOST: "required, apart by host",
    RuleGroup.APART_BY_HOST_ANYWHERE: "the same, namespaces by selector",
    RuleGroup.OTHER_REQUIRED: "other required ones",
}


@dataclass(frozen=True, slots=True)
class RuleCount:
    kind: RuleGroup
    carriers: int
    """Pods, placed or waiting, that carry such a rule."""
    matched: int
    """Placed pods that some such rule is about."""
    complete: bool = True
    """False where there are too many selectors to count them all."""


@dataclass(frozen=True, slots=True)
class Census:
    nodes: int
    pods: int
    with_rules: int
    """Pods that carry any rule."""
    rules: Sequence[RuleCount]


def census(state: ClusterState) -> Census:
    """Count the rules of all pods; O(pods + selectors x classes that they may match)."""
    classes = Counter(pod.pod_class for pod in state.pods.values())
    carriers: Counter[RuleGroup] = Counter()
    selectors: dict[RuleGroup, dict[PodSelector, None]] = {}
    with_rules = 0
    for pod_class, pods in classes.items():
        kinds: set[RuleGroup] = set()
        for kind, selector in _rules(state.class_in_force(pod_class)):
            kinds.add(kind)
            selectors.setdefault(kind, {})[selector] = None
        carriers.update(dict.fromkeys(kinds, pods))
        with_rules += pods if kinds else 0
    found = [
        RuleCount(
            kind,
            carriers[kind],
            _matched(state, list(selectors[kind])[:MOST_SELECTORS]),
            len(selectors[kind]) <= MOST_SELECTORS,
        )
        for kind in RuleGroup
        if carriers[kind]
    ]
    return Census(len(state.nodes), len(state.pods), with_rules, found)


def _rules(pod_class: PodClass) -> Iterator[tuple[RuleGroup, PodSelector]]:
    affinity = pod_class.affinity
    for weighted in affinity.preferred:
        yield RuleGroup.PREFERRED, weighted.term.pods
    for term in affinity.required:
        yield RuleGroup.OTHER_REQUIRED, term.pods
    for term in affinity.required_anti:
        if term.topology_key != HOSTNAME:
            yield RuleGroup.OTHER_REQUIRED, term.pods
        elif term.pods.namespace_selector is None:
            yield RuleGroup.APART_BY_HOST, term.pods
        else:
            yield RuleGroup.APART_BY_HOST_ANYWHERE, term.pods


def _matched(state: ClusterState, selectors: Sequence[PodSelector]) -> int:
    found = {
        id(placed): placed
        for pods in selectors
        for placed in state.candidates(pods)
        if pods.matches(
            placed.pod_class.namespace,
            state.namespace_labels(placed.pod_class.namespace),
            placed.pod_class.labels,
        )
    }
    return sum(sum(each.on_nodes.values()) for each in found.values())
