"""What a plugin is: rules that refuse nodes, preferences that score them, or both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import reduce
from itertools import compress
from operator import add
from typing import ClassVar, Final, Protocol, TypeAlias

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.verdict import INTER_POD_AFFINITY, AnyReason
from extender.core.verbs.interaction import Interaction
from extender.core.verbs.rules import Rule


@dataclass(frozen=True, slots=True)
class Unknown:
    """What may decide about a pod, and is not looked at."""

    field: str
    """Of the pod's spec; "spec" where that itself is not kept."""
    text: str


def too_many(what: str, asked: Sized, most: int) -> Iterator[Unknown]:
    """Say that a pod asks for more of a kind than is looked at."""
    if len(asked) > most:
        yield Unknown(what, f"of its {len(asked):,} {what}, more than {most} are not looked at")


Refused: TypeAlias = Sequence[tuple[AnyReason, Sequence[str]]]
"""The nodes that do not fit, by why."""

FEW_SHARE: Final = 4
"""Numbers other than 0 are few if fewer than one in this many."""

MAX_NODE_SCORE = 100
USUAL_WEIGHT = 2
"""What InterPodAffinity and NodeAffinity have in the scheduler's default profile."""


@dataclass(slots=True)
class FilterResult:
    """The nodes that fit, in the order of the request, and the refused ones by reason.

    Not frozen, as rules are not: filter makes some for every call, which takes a third of the time.
    """

    fits: NodeList
    refused: Refused


def refuse(rules: Iterable[Rule], asked: NodeList) -> FilterResult:
    """Judge the known nodes of a request; O(nodes x rules).

    A node that several rules refuse shows the reason of the first.
    """
    refused: list[tuple[AnyReason, Sequence[str]]] = []
    for rule in rules:
        if not asked.names:
            break
        asked, hit = rule.split(asked)
        if hit:
            refused.append((rule.reason, hit))
    return FilterResult(asked, refused)


@dataclass(frozen=True, slots=True)
class Plugin:
    """What every plugin says about itself."""

    of_annotations: bool = field(default=False, kw_only=True)
    """Only looks at what pods have in annotations; the scheduler does the rest."""

    name: ClassVar[str]
    """The name that the configuration and metrics have for it."""
    compares_pods: ClassVar[bool] = False
    """Compares a pod with placed ones, which may have to be prepared."""
    counts_pods: ClassVar[bool] = False
    """Looks at how many pods there are, or at what they take together, and not at each alone."""


@dataclass(frozen=True, slots=True)
class FilterPlugin(Plugin, ABC):
    """One set of rules that pods have to meet on their node.

    What is here is true of rules that are between a pod and a node, whatever other pods there are.
    """

    refuses: ClassVar[bool] = True
    """Has rules at all; else it only says which pods cannot be judged."""
    reasons: ClassVar[Sequence[AnyReason]] = ()
    """Those of its own that are not the core's."""

    @abstractmethod
    def rules(self, state: ClusterState, pod: Pod) -> Iterable[Rule]:
        """Return what it may refuse nodes for, rule by rule.

        The pod itself is left out of the counts meanwhile.
        """

    def counting(self, state: ClusterState, pod: Pod) -> Generator[None, None, FilterPlugin]:
        """Return the plugin with what there is to count for a pod, in steps; kept for a moment."""
        yield from ()
        return self

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        """Return whether it may refuse any node for a pod at all."""
        return any(True for _ in self.rules(state, pod))

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        """Say why a pod cannot be judged, if that hangs on where others are about to go."""
        return None

    def unknown(self, state: ClusterState, pod: Pod) -> Iterable[Unknown]:
        """Return for what it might refuse nodes besides, and does not look at."""
        return ()

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        """Judge known nodes by the rules; the pod itself is left out of the counts meanwhile."""
        return refuse(self.rules(state, pod), asked)

    def interaction(
        self, state: ClusterState, pod: PodClass, other: PodClass
    ) -> Interaction | None:
        """Return what a pod of another class on a node changes about its verdict, if anything."""
        return None

    def filter_beside(
        self, state: ClusterState, pod: Pod, asked: NodeList, others: Collection[Interaction]
    ) -> FilterResult:
        """Judge known nodes as if pods with such interactions were on each of them as well."""
        return self.filter(state, pod, asked)

    def rules_beside(self, state: ClusterState, pod: Pod, others: Sequence[Pod]) -> Iterable[Rule]:
        """Yield what keeps the pod away from some others, as if they were on their nodes already.

        No rule that they would help it to meet counts as met by them.
        """
        return ()


class Scorer(Protocol):
    def raw(self, asked: NodeList) -> Sequence[int]:
        """Return the score of each known node of a request, by position."""

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        """Return what each distinct raw score of a request becomes, 0..MAX_NODE_SCORE."""


def add_up(parts: Iterable[Sequence[int]]) -> Sequence[int]:
    """Return the sum of several scores of each node."""
    return reduce(_plus, parts)


def _plus(one: Sequence[int], other: Sequence[int]) -> Sequence[int]:
    """Return sums; where the second is mostly 0, as by hostname, the numbers of the first remain.

    That spares two thirds of the additions' time, and equal numbers that are one object are found
    sooner later.
    """
    hits = list(compress(range(len(other)), other))
    if FEW_SHARE * len(hits) > len(other):
        return list(map(add, one, other))
    sums = list(one)
    for position in hits:
        sums[position] += other[position]
    return sums


@dataclass(frozen=True, slots=True)
class ScorePlugin(Plugin, ABC):
    weight: int = field(default=USUAL_WEIGHT, kw_only=True)
    """As `weight` of the plugin in the scheduler's profile."""

    @abstractmethod
    def prepare(self, state: ClusterState, pod: Pod) -> Scorer | None:
        """Return what scores a pod's nodes, None to abstain: it adds nothing to any node.

        The pod itself is left out of the counts meanwhile.
        """


Plugins: TypeAlias = Sequence[FilterPlugin]
"""In the order in which their refusals are reported."""


ScorePlugins: TypeAlias = Sequence[ScorePlugin]


def compare_pods(plugins: Iterable[Plugin]) -> bool:
    return any(plugin.compares_pods for plugin in plugins)


def leading(plugins: Sequence[Plugin]) -> str:
    """Return the name under which a step is observed that plugins take together.

    That is the plugin that takes the time, where it is among them; InterPodAffinity where there is
    none at all.
    """
    names = [plugin.name for plugin in plugins if plugin.compares_pods]
    names += [plugin.name for plugin in plugins]
    return names[0] if names else INTER_POD_AFFINITY
