"""Nodes that come and go: drained, lost, added."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from itertools import count, islice
from typing import Final

from msgspec import structs

from affinityctl.commands.simulate.whatif.outcome import After, Blocked, Looks, Removal, Step, ended
from affinityctl.commands.simulate.whatif.preflight import Preflight
from affinityctl.commands.simulate.whatif.scheduling import Scheduler
from affinityctl.commands.simulate.whatif.successors import (
    belongs_to_node,
    is_drained,
    is_lost,
    kept_to,
)
from affinityctl.scheduler.volumes.ledger import ledger_of
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.labels import HOSTNAME
from extender.core.model.node_resources import CORDONED, Allocatable, Taint
from extender.core.model.objects import Node, Pod
from extender.core.model.wording import plural, some
from extender.diagnosis.verbs.node_room import is_lasting

UNREACHABLE: Final = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")
_ENDS: Final = "kubectl drain ends, and the node is not empty"
_BACK: Final = f"it tolerates the taint of the cordon, {CORDONED.key}; {_ENDS}"
_NAMED: Final = f"spec.nodeName of its template names the node, cordoned or not; {_ENDS}"


def drain(
    scheduler: Scheduler,
    names: Sequence[str],
    what: str = "",
    preflight: Preflight | None = None,
) -> Looks:
    """Cordon nodes and evict their pods, as far as disruption budgets allow.

    An evicted pod counts as disrupted until its successor has a node.
    """
    state = scheduler.state
    for name in names:
        _cordon(state, name)
    scheduler.nodes_changed(names)
    step = Step(f"drain {_titled(what, names)}", "evicted")
    since = scheduler.mark
    left = [pod for name in names for pod in _pods_of(state, name) if is_drained(pod)]
    if preflight is not None:
        step.notes += preflight.notes(pod for name in names for pod in _pods_of(state, name))
    moved = True
    while left and moved:
        moved = False
        for pod in list(left):
            if scheduler.disruptions.refusal(pod) is None:
                left.remove(pod)
                moved = True
                step.removed.append(_evict(scheduler, pod))
                yield from scheduler.settle()
    found = ((pod, scheduler.disruptions.refusal(pod)) for pod in left)
    step.blocked = [Blocked(pod.key, str(pod.node), *why) for pod, why in found if why is not None]
    evicted = (state.pods.get(each.pod) for each in step.removed)
    there = [pod for pod in evicted if pod is not None and pod.node in names]
    step.blocked += [
        Blocked(pod.key, str(pod.node), (), _NAMED if scheduler.known(pod).node else _BACK)
        for pod in there
    ]
    return ended(scheduler, step, since, [each.pod for each in step.removed])


_COUNTED: Final = (
    "as long as the Node objects are there, not ready, topology spread counts their domains: {} "
    "until they are deleted. nodeTaintsPolicy: Honor in the constraint leaves them out"
)


def lose(scheduler: Scheduler, names: Sequence[str], what: str) -> Looks:
    """Take nodes away with all their pods; controllers make those anew that can be elsewhere."""
    state = scheduler.state
    step = Step(f"lose {_titled(what, names)}", "lost")
    meanwhile = yield from _waiting_meanwhile(scheduler, names)
    since = scheduler.mark
    for name in names:
        for pod in _pods_of(state, name):
            step.removed.append(_evict(scheduler, pod))
        state.remove_node(name)
    scheduler.nodes_changed(names)
    yield from scheduler.settle()
    if late := [
        each.pod for each in scheduler.placements[since.placements :] if each.pod in meanwhile
    ]:
        are = "wait" if late[1:] else "waits"
        step.notes.append(_COUNTED.format(f"{some(late, len(late))} {are}"))
    return ended(scheduler, step, since, [each.pod for each in step.removed])


def _waiting_meanwhile(
    scheduler: Scheduler, names: Sequence[str]
) -> Generator[None, None, Collection[Key]]:
    """Return the pods that wait while nodes that are lost are there still, not reachable.

    Topology spread counts them as domains, unless a constraint honors taints. O(settle), for pods
    that have such constraints; nothing in a trial.
    """
    there = [pod for name in names for pod in _pods_of(scheduler.state, name)]
    counted = (each for pod in there for each in scheduler.spread(pod) if not each.honors_taints)
    if scheduler.in_trial or next(counted, None) is None:
        return ()
    with scheduler.trial(names):
        for name in names:
            _taint(scheduler.state, name, UNREACHABLE)
        scheduler.nodes_changed(names)
        for pod in there:
            _evict(scheduler, pod)
        yield from scheduler.settle()
        return {pod.key for pod in scheduler.waiting if scheduler.spread(pod)}


def add_nodes(scheduler: Scheduler, number: int, like: str) -> Looks:
    """Add nodes that are like one that there is, with the pods that each node has.

    What is wrong with that one, or about to happen to it, is not so of them.
    """
    state = scheduler.state
    step = Step(f"add {plural(number, 'node')} like {like}")
    since = scheduler.mark
    allocatable = state.node_resources.allocatable(like)
    taints = tuple(each for each in allocatable.taints if is_lasting(each))
    new = list(islice(_new_names(state, like), number))
    known = state.nodes.labels(like)
    own = [key for key in known if _names_node(key) and known[key] in {like, known.get(HOSTNAME)}]
    for name in new:
        labels = {**known, **dict.fromkeys(own, name)}
        state.upsert_node(Node(name, labels, Allocatable(allocatable.amounts, taints)))
        ledger_of(state).add_node(name, labels, like, known)
    scheduler.nodes_changed(new)
    there = [pod for pod in _pods_of(state, like) if belongs_to_node(pod)]
    pods = [only_on(pod, name) for name in new for pod in there]
    # What each node has comes before what waits: else a new node seems to have more room.
    for pod in pods:
        scheduler.add(pod)
        scheduler.place(pod)
        yield
    yield from scheduler.settle()
    return ended(scheduler, step, since, [pod.key for pod in pods])


def _names_node(key: str) -> bool:
    """Return whether a label may be the name of its node: hostname, topology.hostpath.csi/node."""
    last = key.rpartition("/")[2]
    return "host" in last or "node" in last


def _new_names(state: ClusterState, like: str) -> Iterator[str]:
    known = {*state.nodes}
    names = (f"{like}-{number}" for number in count(1))
    return (name for name in names if name not in known)


def only_on(pod: Pod, node: str) -> Pod:
    """Return a pod for one node alone, as those of a DaemonSet; its name tells which."""
    key = Key(f"{pod.key}@{node}")
    return structs.replace(kept_to(pod, node), key=key, uid=key)


def node_of_daemon(pod: Pod) -> str | None:
    """Return the node that a pod is on or is made for; None where nothing says which."""
    asks = pod.node_selection
    named = None if asks is None else asks.named
    return pod.node or (next(iter(named)) if named is not None and len(named) == 1 else None)


def _cordon(state: ClusterState, name: str) -> None:
    if not state.node_resources.allocatable(name).unschedulable:
        _taint(state, name, CORDONED, cordoned=True)


def _taint(state: ClusterState, name: str, taint: Taint, *, cordoned: bool = False) -> None:
    has = state.node_resources.allocatable(name)
    taints = tuple(dict.fromkeys((*has.taints, taint)))
    cordoned |= has.unschedulable
    has = Allocatable(has.amounts, taints, unschedulable=cordoned)
    state.upsert_node(Node(name, state.nodes.labels(name), has))


def _pods_of(state: ClusterState, node: str) -> list[Pod]:
    return sorted(state.pods_on(node), key=lambda pod: pod.key)


def _evict(scheduler: Scheduler, pod: Pod) -> Removal:
    if scheduler.replace(pod):
        return Removal(pod.key, pod.node, After.MADE_ANEW)
    after = After.WITH_NODE if belongs_to_node(pod) else After.DELETED
    return Removal(pod.key, pod.node, After.GONE if is_lost(pod, scheduler.known(pod)) else after)


def _titled(what: str, names: Sequence[str]) -> str:
    nodes = plural(len(names), "node")
    return nodes if not what else what if [what] == [*names] else f"{what} ({nodes})"


def domains(state: ClusterState, key: str) -> dict[str, list[str]]:
    """Return the nodes of each topology domain of a key, which may be its last part: zone.

    Of several keys that end so, the one of Kubernetes is meant: drivers and owners of clusters have
    zones of their own.
    """
    every = {label for name in state.nodes for label in state.nodes.labels(name)}
    meant = every & {key} or every & {f"topology.kubernetes.io/{key}"}
    keys = meant or {each for each in every if each.rpartition("/")[2] == key}
    found: dict[str, list[str]] = {}
    for name in sorted(state.nodes):
        labels = state.nodes.labels(name)
        for value in {labels[label] for label in keys & labels.keys()}:
            found.setdefault(value, []).append(name)
    return dict(sorted(found.items()))
