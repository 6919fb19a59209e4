"""The plugins that may refuse nodes, and the verdict that they come to together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from extender.cluster.counts.nodes import AskedNodes
from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.model.verdict import CROSS_NAMESPACE_POD_AFFINITY, INTER_POD_AFFINITY, Reason
from extender.verbs.filtering import Verdicts, filter_nodes
from extender.verbs.grouping import entangled
from extender.verbs.quota import shortfall


class FilterPlugin(Protocol):
    """One set of rules that pods have to meet on their node."""

    @property
    def name(self) -> str:
        """Return the name that the configuration and metrics have for it."""

    def concerns(self, pod: Pod) -> bool:
        """Tell whether it may refuse any node for a pod at all."""

    def unclear(self, state: ClusterState, pod: Pod) -> str | None:
        """Say why a pod cannot be judged, if that hangs on where others are about to go."""

    def filter(self, state: ClusterState, pod: Pod, asked: AskedNodes) -> Verdicts:
        """Judge known nodes; the pod itself has to be left out of the counts."""


Plugins: TypeAlias = Sequence[FilterPlugin]
"""In the order in which their refusals are reported."""


@dataclass(frozen=True, slots=True)
class InterPodAffinity:
    """Required affinity and anti-affinity, the pod's own and that of placed pods."""

    name: str = INTER_POD_AFFINITY

    def concerns(self, pod: Pod) -> bool:
        """Tell that any pod may be refused: placed pods may repel it."""
        del pod
        return True

    def unclear(self, state: ClusterState, pod: Pod) -> str | None:
        """Say why a pod cannot be judged: required rules within its pod group, or a stale picture.

        Pods that no required rule is about, their own or one of a placed pod, can be.
        """
        if state.doubt is not None and state.question_of(pod).has_rules:
            return state.doubt
        return entangled(state, pod)

    def filter(self, state: ClusterState, pod: Pod, asked: AskedNodes) -> Verdicts:
        """Judge each node."""
        return filter_nodes(state.question_of(pod), asked)


@dataclass(frozen=True, slots=True)
class CrossNamespacePodAffinity:
    """Quotas on pods with cross-namespace affinity; they refuse all nodes or none."""

    limited: bool = False
    """Such a pod needs a quota that allows it."""
    name: str = CROSS_NAMESPACE_POD_AFFINITY

    def concerns(self, pod: Pod) -> bool:
        """Tell whether a pod is in scope."""
        return pod.charge is not None

    def unclear(self, state: ClusterState, pod: Pod) -> str | None:
        """Say nothing: what a quota counts does not hang on where pods go."""
        del state, pod
        return None

    def filter(self, state: ClusterState, pod: Pod, asked: AskedNodes) -> Verdicts:
        """Refuse every node, or none."""
        if shortfall(state, pod, limited=self.limited) is None:
            return Verdicts(asked, ())
        return Verdicts(asked.only(()), ((Reason.QUOTA, asked.names),))


def unclear(state: ClusterState, pod: Pod, plugins: Plugins) -> str | None:
    """Say why a pod cannot be judged now, None when it can."""
    reasons = (plugin.unclear(state, pod) for plugin in plugins)
    return next((reason for reason in reasons if reason is not None), None)


def judge(
    state: ClusterState,
    pod: Pod,
    asked: AskedNodes,
    plugins: Plugins,
    told: Callable[[FilterPlugin, Verdicts], None] | None = None,
) -> Verdicts:
    """Judge every node of a request; the pod itself has to be left out of the counts.

    A node shows the reason of the first plugin that refuses it; names that no known node has come
    before all. Each plugin is asked about the nodes that are left, and `told` called after it.
    """
    refused: list[tuple[Reason, Sequence[str]]] = []
    fits = asked
    if asked.unknown:
        refused.append((Reason.UNKNOWN_NODE, asked.unknown))
        fits = asked.only(asked.names)
    for plugin in plugins:
        if not fits.names:
            break
        verdicts = plugin.filter(state, pod, fits)
        if told is not None:
            told(plugin, verdicts)
        refused.extend(verdicts.refused)
        fits = verdicts.fits
    return Verdicts(fits, refused)
