"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NotRequired, TypedDict

from extender.core.model.verdict import Verdict
from extender.core.verbs.plugins import Unknown
from extender.diagnosis.verbs.notes import Note


class ToldDomain(TypedDict):
    key: str
    value: str | None


class ToldSaid(TypedDict):
    reason: str
    message: str
    since: int | None


class PluginScore(TypedDict):
    raw: int
    normalised: int


class OnNode(TypedDict):
    node: str
    fits: bool
    verdict: Verdict
    rulesAgainst: int
    plugin: str | None
    reason: str | None
    term: Mapping[str, Any] | None
    """A v1.PodAffinityTerm or a v1.NodeSelector; of a long one `omitted`, which is true."""
    domain: ToldDomain | None
    blockers: Sequence[str]
    blockerCount: int
    score: int | None
    scores: NotRequired[Mapping[str, PluginScore]]
    byAnnotation: NotRequired[bool]
    nominated: NotRequired[bool]


class Namespaces(TypedDict):
    how: str
    count: int
    names: Sequence[str]


class ToldTerm(TypedDict):
    reason: str
    term: Mapping[str, Any]
    byAnnotation: bool
    mergedLabelKeys: Sequence[str]
    namespaces: Namespaces
    pods: int
    matchesThisPod: bool
    placedPodsHaveIt: bool
    placedPodsThatHaveIt: int
    nodesRefused: int


class ToldNearMiss(TypedDict):
    text: str
    nodeCount: int
    nodes: Sequence[str]
    wouldBePreemptedOn: str | None
    reason: str
    plugin: str
    term: Mapping[str, Any] | None
    domain: ToldDomain | None
    blockers: Sequence[str]
    blockerCount: int
    score: None
    byAnnotation: NotRequired[bool]
    nominated: NotRequired[bool]


class Awaited(TypedDict):
    node: str
    victims: Sequence[str]


class ToldPreemption(TypedDict):
    node: str
    victims: Sequence[str]
    violations: int


class ToldImprovement(TypedDict):
    node: str
    gain: int
    totalGain: int
    stays: str | None


class ToldExplained(TypedDict):
    pod: str
    verdict: Verdict
    summary: str
    unknown: Sequence[Unknown]
    held: Sequence[Unknown]
    schedulerSaid: ToldSaid | None
    nodes: Sequence[OnNode]
    nodeCount: int
    fitting: int
    maxNodeScore: int
    terms: Sequence[ToldTerm]
    nearMissCount: int
    nearMisses: Sequence[ToldNearMiss]
    notes: Sequence[Note]
    whatToDo: Sequence[str]
    waitsFor: NotRequired[Awaited]
    preemption: NotRequired[ToldPreemption]
    improvement: NotRequired[ToldImprovement | None]


class WaitingPod(TypedDict):
    pod: str
    created: datetime | None


class Kind(TypedDict):
    pods: Sequence[WaitingPod]
    summary: str | None
    notes: Sequence[Note]
    whatToDo: Sequence[str]


class ToldCause(TypedDict):
    cause: str
    kinds: Sequence[Kind]


class Survey(TypedDict):
    """All pods that wait, by cause."""

    waiting: Sequence[ToldCause]
    notMade: Sequence[ToldCause]


ANSWERS: Final = (ToldExplained, Survey, Sequence[ToldExplained])
"""Of one pod, of all that wait, and of several."""
