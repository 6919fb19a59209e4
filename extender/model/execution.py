"""Required rules that are to hold for as long as a pod runs, and who would replace the pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from extender.model.labels import Labels, Selector
from extender.model.node_affinity import NodeRule
from extender.model.node_resources import Toleration
from extender.model.pod_affinity import PodSelector, Term
from extender.model.verdict import INTER_POD_AFFINITY, NODE_AFFINITY

if TYPE_CHECKING:
    from extender.model.objects import Pod


class RuleKind(Enum):
    """What a rule compares a running pod with."""

    NODE_AFFINITY = "nodeAffinity"
    AFFINITY = "podAffinity"
    ANTI_AFFINITY = "podAntiAffinity"

    @property
    def plugin(self) -> str:
        """Return the plugin that has the rule when the pod is scheduled."""
        return NODE_AFFINITY if self is RuleKind.NODE_AFFINITY else INTER_POD_AFFINITY


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


@dataclass(frozen=True, slots=True)
class Execution:
    """Which rules hold during execution: those of annotations, and maybe others."""

    plain: Selector | None = None
    """Chooses the namespaces where ordinary rules do as well; None: nowhere."""

    def has(self, rule: ExecutionRule, namespace_labels: Labels) -> bool:
        """Return whether a rule of a pod in such a namespace holds during execution."""
        return not rule.plain or (self.plain is not None and self.plain.matches(namespace_labels))


def execution_rules(pod: Pod) -> Iterator[ExecutionRule]:
    """Yield the rules that may have to hold for as long as a pod runs; O(required terms)."""
    affinity, node_affinity = pod.pod_class.affinity, pod.node_affinity
    if node_affinity is not None and node_affinity.required is not None:
        yield ExecutionRule(RuleKind.NODE_AFFINITY, plain=True, node_rule=node_affinity.required)
    group = frozenset(term.pods for term in affinity.required)
    for term in affinity.required:
        yield ExecutionRule(RuleKind.AFFINITY, plain=True, term=term, counted=group)
    for term in affinity.required_anti:
        alone = frozenset((term.pods,))
        yield ExecutionRule(RuleKind.ANTI_AFFINITY, plain=True, term=term, counted=alone)


STATIC: Final = "Node"
"""The kind that owns a static pod's mirror: the kubelet of that node."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller that made a pod, and would make another in its place."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Tenure:
    """What counts of a placed pod when it is asked whether it can be moved."""

    owner: Owner | None = None
    """None for a pod that nobody would replace."""
    tolerations: tuple[Toleration, ...] = ()
