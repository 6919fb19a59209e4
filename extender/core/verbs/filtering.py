"""The verdict that filter plugins come to together, first with the pods nominated to the nodes.

As in kube-scheduler's RunFilterPluginsWithNominatedPods: where pods of at least the pod's priority
are nominated to a node, it has to fit with them there, and without them too, for they may end up
elsewhere. So a place for which others were evicted is not taken by a less important pod, and of two
equally important pods that exclude each other, the second does not evict on the same node.

A pod that others are evicted for by our rules counts beyond its node, in every topology domain of
it, for pods that are less important (`NominatedPods.preempting`). In-tree has nothing like it: the
scheduler tries the preemptor there before its victims' successors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from msgspec import structs

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.verdict import AnyReason, Reason
from extender.core.verbs.interaction import Interaction
from extender.core.verbs.plugins import FilterPlugin, FilterResult, Plugins, refuse
from extender.core.verbs.rules import Rule


@dataclass(frozen=True, slots=True)
class CountingPlugin(FilterPlugin):
    """A plugin to whose verdict each pod adds something."""

    counts_pods: ClassVar[bool] = True

    @abstractmethod
    def rules_beside(self, state: ClusterState, pod: Pod, others: Sequence[Pod]) -> Iterator[Rule]:
        """Yield the rules as if some pods were on their nodes already."""

    def counts(self, state: ClusterState, pod: Pod, other: PodClass) -> bool:
        """Return whether pods of a class add to what is counted about a pod."""
        return True

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[Rule]:
        return self.rules_beside(state, pod, ())

    def filter_beside(
        self, state: ClusterState, pod: Pod, asked: NodeList, others: Collection[Interaction]
    ) -> FilterResult:
        """Judge each node as if the pods nominated to it were there, to which the pod yields."""
        refused: dict[AnyReason, list[str]] = {}
        fits: list[str] = []
        preempting = preempting_beside(state, pod)
        for name in asked.names:
            there = {each.uid: each for each in preempting}
            there |= {each.uid: _placed(each) for each in holding(state, pod, name)}
            held = [*there.values()]
            found = refuse(self.rules_beside(state, pod, held), asked.only([name]))
            fits += found.fits.names
            for reason, names in found.refused:
                refused.setdefault(reason, []).extend(names)
        return FilterResult(asked.only(fits), [*refused.items()])


Effects: TypeAlias = tuple[Interaction | None, ...]
"""What a pod changes about the verdict on its node, by plugin."""


def concerned(state: ClusterState, pod: Pod, plugins: Plugins) -> bool:
    """Return whether any plugin may refuse any node for a pod; where none does, none is looked up.

    So filter lets a pod that no rule is about pass on a node that is not known yet; bind does not.
    """
    return any(plugin.concerns(state, pod) for plugin in plugins)


def indeterminate(state: ClusterState, pod: Pod, plugins: Plugins) -> str | None:
    """Say why a pod cannot be judged now, None when it can."""
    reasons = (plugin.indeterminate(state, pod) for plugin in plugins)
    return next((reason for reason in reasons if reason is not None), None)


def judge(
    state: ClusterState,
    pod: Pod,
    asked: NodeList,
    plugins: Plugins,
    told: Callable[[FilterPlugin, FilterResult], None] | None = None,
    *,
    gone: Iterable[Pod] = (),
    nominated: bool = True,
) -> FilterResult:
    """Judge every node of a request, the pod itself left out of all counts.

    A node shows the reason of the first plugin that refuses it; names that no known node has come
    before all. Each plugin is asked about the nodes that are left, and `told` called after it.
    Pods that are `gone` do not count either; each is given once, on the node where it counts.
    With `nominated`, a node has to fit with the pods too that are nominated to it, and with more
    important ones that hold a domain of it; its first reason is then the one with them there.
    """
    refused: list[tuple[AnyReason, Sequence[str]]] = []
    fits = asked
    if asked.unknown:
        refused.append((Reason.UNKNOWN_NODE, asked.unknown))
        fits = asked.only(asked.names)
    with state.without(pod.key, pod.uid, gone):
        if nominated and state.nominated:
            first = _judge_with_nominated(state, pod, fits, plugins)
            refused.extend(first.refused)
            fits = first.fits
            if others := preempting_beside(state, pod):
                rules = (rule for each in plugins for rule in each.rules_beside(state, pod, others))
                first = refuse(rules, fits)
                refused.extend(first.refused)
                fits = first.fits
        for plugin in plugins:
            if not fits.names:
                break
            verdicts = plugin.filter(state, pod, fits)
            if told is not None:
                told(plugin, verdicts)
            refused.extend(verdicts.refused)
            fits = verdicts.fits
    return FilterResult(fits, refused)


def _judge_with_nominated(
    state: ClusterState, pod: Pod, asked: NodeList, plugins: Plugins
) -> FilterResult:
    """Judge the nodes that have nominated pods which the pod must yield to; all others fit.

    The pod itself is left out of all counts meanwhile. Where no nominated pod matters to it, that
    takes a comparison with each of their classes. Else it takes one call of each plugin for every
    different interactions with such pods.
    """
    refused: list[tuple[AnyReason, Sequence[str]]] = []
    for effects, names in _groups(state, pod, asked, plugins):
        left = asked.only(names)
        for plugin, interactions in zip(plugins, zip(*effects, strict=True), strict=True):
            if not left.names:
                break
            others = {each for each in interactions if each is not None}
            verdicts = plugin.filter_beside(state, pod, left, others)
            refused.extend(verdicts.refused)
            left = verdicts.fits
    if not refused:
        return FilterResult(asked, ())
    gone = {name for _, names in refused for name in names}
    return FilterResult(asked.only([name for name in asked.names if name not in gone]), refused)


def holding(state: ClusterState, pod: Pod, node: str) -> list[Pod]:
    """Return the pods nominated to a node to which a pod has to leave their places there."""
    return [other for other in state.nominated.on(node) if _yields_to(state, pod, other)]


def preempting_beside(state: ClusterState, pod: Pod) -> list[Pod]:
    """Return the more important pods that hold the domains of their nodes, each placed on its own.

    Those that a pod has to yield to; nearly always there are none.
    """
    held = state.nominated.preempting
    if not held:
        return []
    return [
        _placed(other)
        for other in held
        if other.spec.priority > pod.spec.priority and _yields_to(state, pod, other)
    ]


def _placed(nominated: Pod) -> Pod:
    return structs.replace(nominated, node=nominated.status.nominated)


def _groups(
    state: ClusterState, pod: Pod, asked: NodeList, plugins: Plugins
) -> Iterator[tuple[Sequence[Effects], list[str]]]:
    """Yield the nodes asked about together with what the pods nominated to them change there."""
    own = state.class_of(pod)
    counts_pods = any(each.counts_pods and each.concerns(state, pod) for each in plugins)
    on: dict[str, int] = {}  # by name of a node: the numbers of the effects there, one bit each
    numbers: dict[Effects, int] = {}
    for pod_class, others in _classes(state, asked):
        effects = tuple(plugin.interaction(state, own, pod_class) for plugin in plugins)
        if counts_pods or any(effects):
            bit = 1 << numbers.setdefault(effects, len(numbers))
            for other in others:
                if _yields_to(state, pod, other):
                    node = str(other.status.nominated)
                    on[node] = on.get(node, 0) | bit
    if not on:
        return
    groups: dict[int, list[str]] = {}
    for name in asked.names:
        if name in on:
            groups.setdefault(on[name], []).append(name)
    for bits, names in groups.items():
        yield [effects for effects, number in numbers.items() if bits >> number & 1], names


def _classes(state: ClusterState, asked: NodeList) -> Iterator[tuple[PodClass, Iterable[Pod]]]:
    nominated = state.nominated
    if len(asked.names) == 1:
        there = nominated.on(asked.names[0])
        for pod_class in {pod.pod_class for pod in there}:
            yield pod_class, [pod for pod in there if pod.pod_class == pod_class]
        return
    for pod_class in nominated.classes:
        yield pod_class, nominated.of_class(pod_class)


def _yields_to(state: ClusterState, pod: Pod, other: Pod) -> bool:
    """Return whether a pod has to leave another one its place.

    One that is reserved counts on its node already, wherever it was nominated to.
    """
    return (
        other.spec.priority >= pod.spec.priority
        and other.uid != pod.uid
        and not state.reservations.of(other.key, other.uid)
    )
