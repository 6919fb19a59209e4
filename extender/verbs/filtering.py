"""The verdict that filter plugins come to together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from extender.cluster.counts.nodes import AskedNodes
from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.model.verdict import Reason
from extender.verbs.nominated_pods import judge_with_nominated
from extender.verbs.plugins import FilterPlugin, Plugins
from extender.verbs.verdicts import Verdicts


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
    *,
    gone: Iterable[Pod] = (),
    nominated: bool = True,
) -> Verdicts:
    """Judge every node of a request, the pod itself left out of all counts.

    A node shows the reason of the first plugin that refuses it; names that no known node has come
    before all. Each plugin is asked about the nodes that are left, and `told` called after it.
    Pods that are `gone` do not count either; each is given once, on the node where it counts.
    With `nominated`, a node has to fit with the pods too that are nominated to it; its first reason
    is then the one with them there.
    """
    refused: list[tuple[Reason, Sequence[str]]] = []
    fits = asked
    if asked.unknown:
        refused.append((Reason.UNKNOWN_NODE, asked.unknown))
        fits = asked.only(asked.names)
    with state.without(pod.key, pod.uid, gone):
        if nominated and state.nominated:
            first = judge_with_nominated(state, pod, fits, plugins)
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
    return Verdicts(fits, refused)
