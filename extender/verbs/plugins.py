"""What a plugin is: rules that refuse nodes, preferences that score them, or both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from extender.cluster.counts.nodes import NodeList
from extender.cluster.state import ClusterState
from extender.model.objects import Pod, PodClass
from extender.model.verdict import INTER_POD_AFFINITY, Reason
from extender.verbs.interaction import Interaction
from extender.verbs.rules import Rule

Refused: TypeAlias = Sequence[tuple[Reason, Sequence[str]]]
"""The nodes that do not fit, by why."""

MAX_NODE_SCORE = 100
"""The upper end of a plugin's normalised score (framework.MaxNodeScore)."""


@dataclass(frozen=True, slots=True)
class FilterResult:
    """The nodes that fit, in the order of the request, and the refused ones by reason."""

    fits: NodeList
    refused: Refused


class Plugin(Protocol):
    """What every plugin declares about itself."""

    @property
    def name(self) -> str:
        """Return the name that the configuration and metrics have for it."""

    @property
    def compares_pods(self) -> bool:
        """Return whether it compares a pod with placed ones, which may have to be prepared."""


class FilterPlugin(Plugin, Protocol):
    """One set of rules that pods have to meet on their node."""

    @property
    def of_annotations(self) -> bool:
        """Return whether it only looks at rules in annotations, and the scheduler at the others."""

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        """Return whether it may refuse any node for a pod at all."""

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        """Say why a pod cannot be judged, if that hangs on where others are about to go."""

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        """Judge known nodes; the pod itself is left out of the counts meanwhile."""

    def rules(self, state: ClusterState, pod: Pod) -> Iterable[Rule]:
        """Return what it may refuse nodes for, rule by rule; together they refuse what it does.

        The pod itself is left out of the counts meanwhile.
        """

    def interaction(
        self, state: ClusterState, pod: PodClass, other: PodClass
    ) -> Interaction | None:
        """Return what a pod of another class on a node changes about its verdict, if anything."""

    def filter_beside(
        self, state: ClusterState, pod: Pod, asked: NodeList, others: Collection[Interaction]
    ) -> FilterResult:
        """Judge known nodes as if pods with such interactions were on each of them as well."""


class Scorer(Protocol):
    """A plugin's scores for one pod."""

    def raw(self, asked: NodeList) -> Sequence[int]:
        """Return the score of each known node of a request, by position."""

    def normalised(self, raw: Iterable[int]) -> Mapping[int, int]:
        """Return what each distinct raw score of a request becomes, 0..MAX_NODE_SCORE."""


class ScorePlugin(Plugin, Protocol):
    """One set of preferences."""

    @property
    def weight(self) -> int:
        """Return its share in the mean of all plugins."""

    def prepare(self, state: ClusterState, pod: Pod) -> Scorer | None:
        """Return what scores a pod's nodes, None to abstain: then it does not count in the mean.

        The pod itself is left out of the counts meanwhile.
        """


Plugins: TypeAlias = Sequence[FilterPlugin]
"""In the order in which their refusals are reported."""


ScorePlugins: TypeAlias = Sequence[ScorePlugin]


def compare_pods(plugins: Iterable[Plugin]) -> bool:
    """Return whether any of some plugins compares pods with placed ones."""
    return any(plugin.compares_pods for plugin in plugins)


def leading(plugins: Sequence[Plugin]) -> str:
    """Return the name under which a step is observed that plugins take together.

    That is the plugin that takes the time, where it is among them; InterPodAffinity where there is
    none at all.
    """
    names = [plugin.name for plugin in plugins if plugin.compares_pods]
    names += [plugin.name for plugin in plugins]
    return names[0] if names else INTER_POD_AFFINITY
