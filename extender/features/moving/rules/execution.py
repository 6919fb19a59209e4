"""Required rules that are to hold for as long as a pod runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from extender.core.model.labels import Labels, Selector
from extender.core.model.node_selection import NodeRule
from extender.core.model.objects import Pod
from extender.core.model.pod_affinity import Affinity, LimitedTerm, PodSelector, Term

SYSTEM_CRITICAL: Final = 2_000_000_000
"""The priority of system-cluster-critical; a pod that has it or more is not moved."""


class RuleKind(Enum):
    """What a rule compares a running pod with."""

    NODE_AFFINITY = "nodeAffinity"
    AFFINITY = "podAffinity"
    ANTI_AFFINITY = "podAntiAffinity"


@dataclass(frozen=True, slots=True)
class ExecutionRule:
    """One required term of a pod, or its required node affinity as a whole."""

    kind: RuleKind
    plain: bool
    """An ordinary rule, which holds during execution only where the configuration says so."""
    term: Term | None = None
    """None for node affinity."""
    counted: frozenset[PodSelector] = frozenset()
    """What a pod has to match, all of it, to count: for affinity the selectors of all terms."""
    node_rule: NodeRule | None = None
    annotations: bool | None = None
    """True: it is there where rules in annotations count. False: where they do not. None: in any
    case."""

    @property
    def most(self) -> int | None:
        """Return how many pods that match may be in a domain, by `maxMatchingPods`."""
        return self.term.most if isinstance(self.term, LimitedTerm) else None

    @property
    def by_namespace(self) -> bool:
        return self.plain or self.annotations is not None

    @property
    def conditions(self) -> int:
        """Return how many comparisons of a pod, or of its node, it takes at most."""
        if self.node_rule is not None:
            return self.node_rule.conditions
        return 1 if self.term is None else self.term.pods.conditions

    @property
    def narrowest(self) -> PodSelector:
        """Return the narrowest one selector that finds the pods that the rule is about."""
        if len(self.counted) == 1:
            return next(iter(self.counted))
        return min(self.counted, key=lambda pods: (not pods.selector.pins_a_label, pods.conditions))


@dataclass(frozen=True, slots=True)
class Execution:
    """Which rules hold during execution: those of annotations, and maybe others."""

    plain: Selector | None = None
    """Chooses the namespaces where ordinary rules do as well; None: nowhere."""

    def has(self, rule: ExecutionRule, namespace_labels: Labels) -> bool:
        return not rule.plain or (self.plain is not None and self.plain.matches(namespace_labels))


def execution_rules(pod: Pod) -> Iterator[ExecutionRule]:
    """Yield the rules that may have to hold for as long as a pod runs; O(required terms)."""
    if pod.spec.unannotated is None:
        yield from _rules(pod, annotations=None)
    else:
        yield from _rules(pod, annotations=True)
        yield from _rules(pod.without_annotations, annotations=False)


def _rules(pod: Pod, *, annotations: bool | None) -> Iterator[ExecutionRule]:
    nodes, pod_class = pod.node_selection, pod.pod_class
    for rule in () if nodes is None else nodes.required_rules:
        by_annotation = nodes is not None and rule is nodes.during_execution
        yield ExecutionRule(
            RuleKind.NODE_AFFINITY,
            plain=not by_annotation,
            node_rule=rule,
            annotations=annotations,
        )
    during = pod_class.during_execution
    yield from _of_terms(during, during, plain=False, annotations=annotations)
    ordinary = pod_class.affinity
    if during.constrains:
        # Sets, for there may be hundreds of each.
        near, apart = frozenset(during.required), frozenset(during.required_anti)
        ordinary = Affinity(
            tuple(term for term in ordinary.required if term not in near),
            tuple(term for term in ordinary.required_anti if term not in apart),
            limits=tuple(term for term in ordinary.limits if term not in during.limits),
        )
    yield from _of_terms(ordinary, pod_class.affinity, plain=True, annotations=annotations)


def _of_terms(
    rules: Affinity, all_rules: Affinity, *, plain: bool, annotations: bool | None
) -> Iterator[ExecutionRule]:
    """Yield the required terms of some rules; who meets them matches all of `all_rules`."""
    group = frozenset(term.pods for term in all_rules.required)
    for term in rules.required:
        yield ExecutionRule(RuleKind.AFFINITY, plain, term, group, annotations=annotations)
    for term in (*rules.required_anti, *rules.limits):
        alone = frozenset((term.pods,))
        yield ExecutionRule(RuleKind.ANTI_AFFINITY, plain, term, alone, annotations=annotations)
