"""Why pods stay pending: the explanation of each kind of them, and the rule to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from extender.cluster.state import ClusterState
from extender.model.keys import Key
from extender.model.objects import Pod, PodClass
from extender.model.pod_affinity import Term
from extender.model.stepping import at_once
from extender.model.verdict import Reason
from extender.verbs.explaining.explanation import Explanation, Question, Refusal, RefusalGroup
from extender.verbs.explaining.steps import explaining
from extender.verbs.explaining.words import Kind, cause, kind_of, short
from extender.verbs.node_room import UNSCHEDULABLE, RoomRule
from extender.whatif.rooms import Shape, shape_of
from extender.whatif.scheduling import BY_DEFAULT, Profile

MOST_EXPLAINED: Final = 10
"""Kinds of pods that are explained; each takes some 50 ms with 5,000 nodes."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What keeps most nodes from a pod."""

    what: str
    refused: int
    """Nodes that it refuses."""
    alone: int
    """Nodes that nothing else refuses."""
    besides: str = ""
    """What else refuses most of these nodes, where it refuses none of them alone."""


@dataclass(frozen=True, slots=True)
class PendingPods:
    """Pods that are alike, and why they find no node."""

    pods: Sequence[Key]
    explanation: Explanation | None
    """Of the first of them, about all nodes; None beyond MOST_EXPLAINED kinds."""
    bottleneck: Bottleneck | None


def pending(
    state: ClusterState, waiting: Sequence[Pod], profile: Profile = BY_DEFAULT
) -> list[PendingPods]:
    """Explain waiting pods, those of most pods first; O(nodes x kinds)."""
    kinds: dict[tuple[PodClass, Shape], list[Pod]] = {}
    for pod in waiting:
        kinds.setdefault((pod.pod_class, shape_of(pod)), []).append(pod)
    found = []
    for number, alike in enumerate(sorted(kinds.values(), key=lambda each: -len(each))):
        keys = [pod.key for pod in alike]
        explanation = explain(state, alike[0], profile) if number < MOST_EXPLAINED else None
        limit = None if explanation is None else bottleneck(explanation)
        found.append(PendingPods(keys, explanation, limit))
    return found


def explain(state: ClusterState, pod: Pod, profile: Profile = BY_DEFAULT) -> Explanation:
    """Explain a pod by everything that is looked at here; O(nodes)."""
    return at_once(explaining(state, Question(pod, list(state.nodes), profile.everything)))


def bottleneck(explanation: Explanation) -> Bottleneck | None:
    """Return the rule without which most nodes would fit, or else that refuses most nodes.

    Nodes that are cordoned, as those that are drained, count only if there are no others.
    """
    judged = [each for each in explanation.refused.values() if not is_cordoned(each)]
    own = {each.term for each in explanation.refusals if each.reason is Reason.ANTI_AFFINITY}
    refused: Counter[Kind] = Counter()
    alone: Counter[Kind] = Counter()
    together: Counter[tuple[Kind, Kind]] = Counter()
    for refusals in judged or explanation.refused.values():
        # What pods and their like hold against each other by the same term is one rule.
        others = [each for each in refusals if not _is_mirrored(each, own)]
        kinds = dict.fromkeys(kind_of(each) for each in others or refusals)
        refused.update(kinds.keys())
        if len(kinds) == 1:
            alone.update(kinds.keys())
        together.update(permutations(kinds, 2))
    if not refused:
        return None
    most = max(refused, key=lambda kind: (alone[kind], refused[kind]))
    besides = ""
    if not alone[most]:
        _, other = max((pair for pair in together if pair[0] == most), key=together.__getitem__)
        besides = _rule_of(other, explanation)
    return Bottleneck(_rule_of(most, explanation), refused[most], alone[most], besides)


def is_cordoned(refusals: Sequence[Refusal]) -> bool:
    """Return whether a node is refused because it is cordoned, whatever else there is."""
    return any(
        isinstance(each.rule, RoomRule) and each.rule.what == UNSCHEDULABLE for each in refusals
    )


def _is_mirrored(refusal: Refusal, own: set[Term | None]) -> bool:
    return refusal.reason is Reason.EXISTING_ANTI_AFFINITY and refusal.term in own


def _rule_of(kind: Kind, explanation: Explanation) -> str:
    """Name a rule, without the pods behind it."""
    refusals = [each for each in explanation.refusals if kind_of(each) == kind]
    first = refusals[0]
    said = {
        Reason.AFFINITY: "your affinity",
        Reason.ANTI_AFFINITY: "your anti-affinity",
        Reason.EXISTING_ANTI_AFFINITY: "the anti-affinity of placed pods",
    }
    whose = said.get(first.reason)
    return cause(RefusalGroup.of(refusals)) if whose is None else f"{whose} on {short(first.key)}"
