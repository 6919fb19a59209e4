"""What an explanation says; every number in it comes from the tables behind the verdicts."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from extender.core.model.objects import Pod, Said
from extender.core.model.pod_affinity import Term
from extender.core.model.verdict import (
    NODE_RESOURCES_FIT,
    VOLUME_BINDING,
    AnyReason,
    Reason,
    Verdict,
)
from extender.core.model.wording import plural, plural_of
from extender.core.verbs.plugins import Plugins, ScorePlugins, Unknown
from extender.core.verbs.rules import Refusal, RefusalGroup, named_pods
from extender.core.verbs.victims import Candidate
from extender.diagnosis.verbs.sitting import Sits, Sitting

SEVERAL_REASONS: Final = frozenset((NODE_RESOURCES_FIT, VOLUME_BINDING))
"""Plugins that may name several reasons for one node."""
SUBJECTS: Final[Mapping[AnyReason, str]] = {
    Reason.AFFINITY: "your affinity",
    Reason.ANTI_AFFINITY: "your anti-affinity",
    Reason.EXISTING_ANTI_AFFINITY: "the anti-affinity of placed pods",
    Reason.LIMIT: "your limit",
    Reason.EXISTING_LIMIT: "a limit of placed pods",
}
"""Whose rules they are that are about placed pods."""
MOST_BLOCKERS: Final = 10
"""Pods that are named where there may be thousands; a count stands beside them."""
MOST_NEAR_MISSES: Final = 50
"""Near misses that are looked into, those of the fewest pods first; each takes a verdict."""


@dataclass(frozen=True, slots=True)
class Question:
    pod: Pod
    names: Sequence[str]
    """Of the nodes, in the order in which they are answered."""
    plugins: Plugins
    scoring: ScorePlugins = ()
    max_score: int = 100
    names_all: bool = True
    """False: pods of other namespaces than the pod's own are counted, and not named."""
    sits: Sits | None = None
    """None where nothing says whether placed pods sit as well as they can."""
    left: Collection[str] = ()
    """The scheduler's profiles whose pods its own plugins judge, and the extender when it binds."""
    known: Collection[str] = ()
    """Schedulers that there are, beside those that are known in any case."""
    now: float | None = None
    """The time in seconds since 1970, to say how old a scheduler's word is."""


Alike: TypeAlias = tuple[Refusal, ...]
"""Why nodes are refused that have all causes in common; the first is the reason that they show."""


@dataclass(slots=True, eq=False)
class NearMiss:
    """Nodes that would fit if one thing were otherwise: one rule, or the pods in the way."""

    refusals: Alike
    """Several only where all are about placed pods."""
    nodes: list[str] = field(default_factory=list)
    preempted_on: str | None = None
    """The node on which all those pods are, where evicting them would let the pod in, and they are
    less important than it is."""
    least: int = 0
    """How many pods there are at least, where not all that are known are named."""

    @property
    def unnamed(self) -> int:
        """Return how many of the pods are not to be named, each as often as it is a cause."""
        return sum(each.unnamed for each in self.refusals)

    @property
    def pods(self) -> Sequence[Pod]:
        return sorted(self._named.values(), key=lambda each: each.key)

    @property
    def count(self) -> int:
        """Return how many pods would have to go, at least."""
        if len(self.refusals) == 1:
            return self.refusals[0].count
        return max(self.least, len(self._named), *(each.count for each in self.refusals))

    @property
    def in_the_way(self) -> str:
        return named_pods(self.pods, self.count, self.unnamed)

    def __str__(self) -> str:
        first, where = self.refusals[0], self.refusals[0].place
        nodes = plural(len(self.nodes), "node")
        if self.nodes == [first.domain] or (len(self.nodes) == 1 and first.rule.key is None):
            nodes, where = self.nodes[0], ""
        if self.count:
            return f"{nodes}{where} if {self.in_the_way} were gone"
        return f"{nodes}{where}{first.rule.remedy(first.domain, len(self.nodes))}"

    @property
    def _named(self) -> Mapping[str, Pod]:
        """Return pods by uid: each may be what several rules refuse the nodes for."""
        return {pod.uid: pod for each in self.refusals for pod in each.pods}


@dataclass(frozen=True, slots=True)
class Leaving:
    """Pods of one node that are being deleted."""

    node: str
    pods: Sequence[Pod]
    unnamed: int = 0

    @property
    def awaited(self) -> str:
        """Return what a pod does for which they were evicted."""
        return f"waits for its {plural_of('victim', range(self.count))} on {self.node}"

    @property
    def who(self) -> str:
        return named_pods(self.pods, self.count, self.unnamed)

    @property
    def count(self) -> int:
        return len(self.pods) + self.unnamed

    def of(self, namespace: str) -> Leaving:
        """Return the same with the pods of one namespace named, and no others."""
        named = [pod for pod in self.pods if pod.pod_class.namespace == namespace]
        return Leaving(self.node, named, len(self.pods) - len(named))


@dataclass(slots=True, eq=False)
class TermFacts:
    reason: AnyReason
    """The one it gives where it refuses a node."""
    term: Term
    merged: Sequence[str] = ()
    """Its matchLabelKeys and mismatchLabelKeys that are in the selector by now."""
    namespaces: Sequence[str] = ()
    """Those that it is about at the moment, the first by name."""
    namespace_count: int = 0
    matched: int = 0
    """Placed pods that the term matches; of a placed pod's term, the pods that carry it."""
    matches_pod: bool = False
    annotated: bool = False
    refused: int = 0
    """Nodes that it refuses, whatever reason they show."""
    sharing: int = 0
    """How many of the placed pods that it matches carry the same term, which refuses nodes too."""


@dataclass(frozen=True, slots=True)
class PluginScores:
    plugin: str
    raw: Mapping[str, int]
    normalised: Mapping[int, int]
    """0 to 100, by raw score."""


@dataclass(slots=True, eq=False)
class Explanation:
    pod: Pod
    names: Sequence[str]
    fits: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    """One for each cause."""
    refused: dict[str, Alike] = field(default_factory=dict)
    """By node: why; the first is the reason that it shows."""
    left_by_affinity: int = 0
    """Nodes that no rule of affinity refuses, whatever else does."""
    groups: Sequence[RefusalGroup] = ()
    """Those that some node shows, by kind; those of most nodes first."""
    terms: list[TermFacts] = field(default_factory=list)
    near_misses: list[NearMiss] = field(default_factory=list)
    """Where the fewest pods would have to go first; MOST_NEAR_MISSES at most."""
    near_miss_count: int = 0
    matching_all: int | None = None
    """Placed pods that match all required affinity terms of the pod; None when it has none."""
    anchors: Sequence[Pod] = ()
    """These pods, where they are few and nodes are refused for want of one."""
    is_first: bool = False
    """No placed pod matches them, and the pod itself does."""
    circle: Sequence[Pod] = ()
    """Pods that wait: this one for the first, each for the next, and the last for this one, by
    required affinity."""
    matching_somewhere: bool = True
    """Some of the pods that match all of them are in a topology domain."""
    scores: list[PluginScores] = field(default_factory=list)
    final: Mapping[str, int] = field(default_factory=dict)
    """What prioritize answers for the nodes that fit; 0 of those that are left out."""
    left: Collection[str] = ()
    """As in the question."""
    score_fault: str | None = None
    """Why nothing is scored, if prioritize cannot: the pod has a broken preferred term."""
    indeterminate: str | None = None
    """Why filter answers with an error instead of a verdict, if it does."""
    awaited: Leaving | None = None
    """The victims of a pod that is nominated to their node."""
    making_room: list[Leaving] = field(default_factory=list)
    """Nodes that have room once these pods are gone; some of them."""
    preemption: Candidate | None = None
    """Who would be evicted for a pod that fits nowhere; None if that was not looked for."""
    may_preempt: bool = False
    """There are less important pods, and whom the scheduler would evict was not looked for."""
    sitting: Sitting | None = None
    """Of a placed pod with preferences, where enough is known of it."""
    unknown: Sequence[Unknown] = ()
    """What may decide as well, and is not looked at."""
    held: Sequence[Unknown] = ()
    """For what no scheduler looks at the pod, wherever it fits."""
    superseded: bool = False
    """Its StatefulSet has another template by now, and does not replace it before it is ready."""
    now: float | None = None
    """As in the question."""

    @property
    def said(self) -> Said | None:
        """Return what a scheduler has said of a pod that waits; a verdict never contradicts it."""
        return None if self.pod.node is not None else self.pod.status.said

    @property
    def is_left(self) -> bool:
        """Return whether the pod's profile leaves it to the scheduler."""
        return self.pod.spec.requirements.scheduler in self.left

    @property
    def verdict(self) -> Verdict:
        """Return what all filters say together: a refusal stands, whatever is not known."""
        if not self.fits:
            return Verdict.REFUSED
        return self.of_fitting

    @property
    def of_fitting(self) -> Verdict:
        doubts = self.unknown or self.held or self.said
        known = not doubts and self.indeterminate is None
        return Verdict.FITS if known else Verdict.UNKNOWN


def events_of(refusals: Sequence[Refusal]) -> Iterable[str]:
    """Return what the scheduler's event says of a node that is refused for all of this.

    It is the first plugin's to say: too little cpu and too little memory at once.
    """
    first = refusals[0].rule
    plugin = first.reason.plugin
    if plugin not in SEVERAL_REASONS:
        return (first.event,)
    same = [each.rule.event for each in refusals if each.rule.reason.plugin == plugin]
    return dict.fromkeys(same)


def event_of(refusals: Sequence[Refusal]) -> str:
    return ", ".join(events_of(refusals))


def is_not_asked_for(refusals: Sequence[Refusal]) -> bool:
    """Return whether nodes are none of those that the pod's own node affinity asks for."""
    return refusals[0].reason is Reason.NODE_AFFINITY


def whatever_it_spares(term: Term) -> Hashable:
    """Return what a term has in common with that of another revision of the same workload."""
    pods = term.pods
    return term.topology_key, pods.selector, pods.namespaces, pods.namespace_selector
