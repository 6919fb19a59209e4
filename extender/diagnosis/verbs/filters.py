"""The filters that decide together where a pod may go, in the scheduler's order.

`explain`, on the command line and in the server, and `simulate` go by these, so that they cannot
contradict each other. What is not modelled is among them: it refuses nothing, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError, bounded
from extender.core.model.node_resources import KNOWN_SCHEDULERS, RESTARTS, SPREAD, VOLUMES
from extender.core.model.objects import Pod
from extender.core.model.verdict import ANNOTATIONS, NAMED_NODES, NODE_UNSCHEDULABLE, Reason
from extender.core.model.wording import some
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NamedNodes, NodeSelectionPlugin
from extender.core.verbs.plugins import FilterPlugin, Plugins, Unknown
from extender.core.verbs.rules import Refusal, Rule
from extender.diagnosis.verbs.node_room import (
    NodeName,
    NodePorts,
    NodeResourcesFit,
    NodeUnschedulable,
    TaintToleration,
)
from extender.diagnosis.verbs.topology_spread import PodTopologySpread

RUNTIME_CLASS: Final = "runtimeClassName"
PRIORITY_CLASS: Final = "priorityClassName"
NOT_MODELLED: Final = {
    SPREAD: f"its {SPREAD} are not looked at",
    "resourceClaims": "its resourceClaims are not looked at",
    RESTARTS: f"its {RESTARTS} restart all containers, and whether nodes declare that is not "
    "looked at",
    RUNTIME_CLASS: "what its RuntimeClass adds (node selector, tolerations, overhead) is not known",
}
"""Fields for which the scheduler may refuse nodes, and nothing here does; of the first, only what
cannot be read."""
GATES: Final = "schedulingGates"
OTHER_SCHEDULER: Final = "schedulerName"
NO_NODE: Final = "nodeName"
DELETED: Final = "deletionTimestamp"
ORDER: Final = "podManagementPolicy"
PAUSED: Final = "paused"
MOST_BYTES: Final = 1000
"""Bytes of names that the author of a pod chooses."""
OWN_SPREAD: Final = PodTopologySpread()
"""The constraints that pods have themselves."""
ROOM: Final = NodeResourcesFit()
"""All resources that pods request."""


def filters(
    nodes: NodeSelectionPlugin,
    affinity: InterPodAffinity,
    further: Plugins = (),
    claims: FilterPlugin | None = None,
    volumes: Plugins = (),
    *,
    spread: PodTopologySpread = OWN_SPREAD,
    room: NodeResourcesFit = ROOM,
    off: Collection[str] = (),
) -> Plugins:
    """Return all of them but those that are `off`, with `further` ones that features have.

    `claims`, `volumes`, another `spread` than that of pods alone, another `room`, and what is `off`
    are what the commands have, and a server has not.
    """
    every = (
        UnreadableAnnotations(),
        NamedNodes(Reason.NO_NAME),
        NotModelledVolumes() if claims is None else claims,
        NamedNodes(Reason.NOT_NAMED),
        NodeName(),
        NodeUnschedulable(),
        TaintToleration(after_cordoned=NODE_UNSCHEDULABLE not in off),
        replace(nodes, after_names=NAMED_NODES not in off),
        NodePorts(),
        room,
        *volumes,
        spread,
        affinity,
        *(each for each in further if each.name != nodes.name),
        NotModelled(),
    )
    return tuple(each for each in every if each.name not in off)


@dataclass(slots=True, eq=False)
class UnreadableRules(Rule):
    """Rules that cannot be read, or too many: filter answers with an error, so no node is left."""

    event: str
    """The error."""
    what: str
    reason = Reason.ANNOTATION

    def statement(self, refusal: Refusal) -> None:
        """Say nothing more than the summary, in which every node has it."""

    def remedy(self, domain: str | None, nodes: int) -> str:
        """Say that it is not known what the rules ask for."""
        return " if its rules could be read, and allowed it"


@dataclass(frozen=True, slots=True)
class UnreadableAnnotations(FilterPlugin):
    """What is said of a pod before any node is looked at: no callback does without its rules."""

    name: ClassVar[str] = ANNOTATIONS

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[Rule]:
        """Yield what is broken."""
        if pod.spec.broken_rules is not None:
            error = str(ObjectError(*pod.spec.broken_rules))
            yield UnreadableRules(error, f"rules that cannot be read: {error}")


@dataclass(frozen=True, slots=True)
class NotModelled(FilterPlugin):
    """What only the scheduler judges."""

    name: ClassVar[str] = "NotModelled"

    def rules(self, state: ClusterState, pod: Pod) -> tuple[Rule, ...]:
        """Return nothing: it is not known what would be refused."""
        return ()

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        for field, text in NOT_MODELLED.items():
            if field in pod.spec.requirements.unmodelled:
                yield Unknown(field, text)
        if pod.spec.priority_class:
            yield Unknown(PRIORITY_CLASS, no_class(pod.spec.priority_class))
        if pod.spec.group is not None:
            yield Unknown("schedulingGroup", "whether its whole pod group fits is not looked at")


@dataclass(frozen=True, slots=True)
class NotModelledVolumes(NotModelled):
    """Volumes, where only the scheduler judges them."""

    name: ClassVar[str] = "NotModelledVolumes"

    def unknown(self, state: ClusterState, pod: Pod) -> Iterator[Unknown]:
        if VOLUMES in pod.spec.requirements.unmodelled:
            text = (
                "its volumes are not looked at by a running extender; "
                "`affinity-extender explain` from the command line does"
            )
            yield Unknown(VOLUMES, text)


def no_class(name: str) -> str:
    return (
        f"no PriorityClass {bounded(name, MOST_BYTES)} is known, so that the priority counts as 0; "
        "an API server that has none refuses the pod"
    )


def holding(state: ClusterState, pod: Pod, known: Collection[str] = ()) -> list[Unknown]:
    """Return for what the schedulers that are known leave a pod alone, wherever it fits.

    `known` are schedulers beside those that are known in any case. A pod that has its node is left
    alone by all, which holds it only where there is no such node.
    """
    if pod.node is not None:
        if pod.node in state.nodes:
            return []
        named = bounded(pod.node, MOST_BYTES)
        return [Unknown(NO_NODE, f"names node {named} in spec.nodeName, and there is none")]
    asks = pod.spec.requirements
    found = [Unknown(DELETED, "is being deleted")] if pod.status.deleting else []
    # The API server takes any text for a scheduler's name, and a file for a gate's as well.
    if asks.gates:
        named = bounded(some(asks.gates, len(asks.gates)), MOST_BYTES)
        found.append(Unknown(GATES, f"scheduling gates ({named})"))
    if _is_other(pod, known) and not _places(state, asks.scheduler):
        named = bounded(asks.scheduler, MOST_BYTES)
        found.append(Unknown(OTHER_SCHEDULER, f"asks for scheduler '{named}'"))
    return found


def _is_other(pod: Pod, known: Collection[str]) -> bool:
    name = pod.spec.requirements.scheduler
    return name not in KNOWN_SCHEDULERS and name not in known


def _places(state: ClusterState, scheduler: str) -> bool:
    """Return whether a scheduler runs, by pods that are placed; O(pods)."""
    return any(
        pod.node is not None and pod.spec.requirements.scheduler == scheduler
        for pod in state.pods.values()
    )


def unknown(
    state: ClusterState,
    pod: Pod,
    plugins: Plugins,
    held: Sequence[Unknown],
    known: Collection[str] = (),
) -> list[Unknown]:
    """Return what may refuse nodes and is not looked at; `held` is what `holding` says of it."""
    found = [each for plugin in plugins for each in plugin.unknown(state, pod)]
    is_held = any(each.field == OTHER_SCHEDULER for each in held)
    if pod.node is None and _is_other(pod, known) and not is_held:
        named = bounded(pod.spec.requirements.scheduler, MOST_BYTES)
        found.append(Unknown(OTHER_SCHEDULER, f"scheduler '{named}' may have other rules"))
    return found
