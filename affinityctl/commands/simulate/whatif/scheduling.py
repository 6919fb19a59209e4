"""Places pods one after the other, as the scheduler would with our rules and room alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import add
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from msgspec import structs

from affinityctl.commands.simulate.whatif.deletion_order import Lives
from affinityctl.commands.simulate.whatif.disruptions import Disruptions
from affinityctl.commands.simulate.whatif.rooms import Rooms
from affinityctl.commands.simulate.whatif.successors import (
    UNKNOWN,
    KnownWorkload,
    KnownWorkloads,
    awaited,
    is_lost,
    is_of_stateful_set,
    successor,
)
from affinityctl.scheduler.profiles import BY_DEFAULT, Profile, preemption
from affinityctl.scheduler.volumes.attaching import Held, held_elsewhere
from affinityctl.scheduler.volumes.binding import bindings
from affinityctl.scheduler.volumes.ledger import ledger_of
from affinityctl.scheduler.volumes.objects import claims_in
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.counts.topology import picker
from extender.core.cluster.state import ClusterState
from extender.core.errors import ObjectError
from extender.core.model.keys import Key
from extender.core.model.node_resources import VOLUMES
from extender.core.model.objects import Node, Pod
from extender.core.model.topology_spread import SpreadConstraint
from extender.core.model.workload import Identity
from extender.core.verbs.filtering import judge
from extender.core.verbs.node_fit import shape_of
from extender.diagnosis.verbs.filters import holding, unknown
from extender.diagnosis.verbs.waiting import is_not_made

SAID: Final = "status.conditions"
"""The field in which a scheduler says why it did not place a pod."""
Ticks: TypeAlias = Iterator[None]
"""One for each pod that is looked at."""


def claims_of(pod: Pod) -> tuple[Key, ...]:
    """Return the claims that a pod uses, each of which may have its own place."""
    return tuple(use.key_for(pod.key) for use in claims_in(pod))


@dataclass(frozen=True, slots=True)
class Placement:
    pod: Key
    node: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class PreemptedPod:
    """A pod that was evicted for a more important one."""

    pod: Key
    node: str
    preemptor: Key
    lost: bool
    """It had no controller that would make another one."""


class Mark(NamedTuple):
    """How many placements and preemptions there were at a moment."""

    placements: int
    preemptions: int


class Scheduler:
    """The pods that wait, and the cluster that they are placed in."""

    def __init__(
        self,
        state: ClusterState,
        chance: Callable[[], float],
        profile: Profile = BY_DEFAULT,
        workloads: KnownWorkloads = MappingProxyType({}),
        lives: Lives | None = None,
    ) -> None:
        """`chance` draws from [0, 1): which of the best nodes is taken."""
        self.state = state
        self.profile = profile
        self.workloads = dict(workloads)
        self.disruptions = Disruptions(state, self.wanted)
        self.lives = Lives() if lives is None else lives
        self.placements: list[Placement] = []
        """In order."""
        self.beyond: dict[str, dict[Key, None]] = {}
        """Those of them that ask for what is not looked at, by the field in which they do."""
        self.uncertain: set[Key] = set()
        """Those of them that what is not looked at may refuse."""
        self.not_started: dict[Key, Held] = {}
        """Those of them that do not start, for want of a volume."""
        self.preemptions: list[PreemptedPod] = []
        self.is_as_found = False
        """Nothing has changed yet, so that what a scheduler has said holds."""
        self._chance = chance
        self._rooms = Rooms(state)
        self._before: dict[Key, str] = {}
        self._in_turn: set[Key] = set()
        """Pods of StatefulSets that wait to be made."""
        self._waiting: dict[Key, Pod] = {}
        self._touched: dict[Key, Pod | None] | None = None
        """The pods that a trial has changed, as they were; None when there is none."""
        self._unschedulable: dict[Hashable, int] = {}
        """The version of the state at which pods of such a kind found no node."""
        waiting = (
            pod for pod in state.pods.values() if pod.node is None and not pod.status.deleting
        )
        for pod in sorted(waiting, key=lambda pod: pod.key):
            self._waiting[pod.key] = state.in_force(pod)
            if is_of_stateful_set(pod) and is_not_made(pod):
                self._in_turn.add(pod.key)

    @property
    def waiting(self) -> list[Pod]:
        """Return the pods that wait, the most important first, then the first that came.

        Those that waited from the start are in the order of their names, whatever the order in
        which a file has them.
        """
        return sorted(self._waiting.values(), key=lambda pod: -pod.spec.priority)

    def waits(self, key: Key) -> bool:
        return key in self._waiting

    @property
    def held(self) -> Mapping[Key, Key]:
        """Return the waiting pods that are not made before another one is ready."""
        found = ((key, self._awaited(self._waiting[key])) for key in self._in_turn)
        return {key: awaited for key, awaited in found if awaited is not None}

    def _awaited(self, pod: Pod) -> Key | None:
        """Return what a StatefulSet waits for before it makes a pod; O(its ordinal)."""
        if pod.key not in self._in_turn:
            return None
        return awaited(pod, self.known(pod), self.state.pods)

    @property
    def mark(self) -> Mark:
        """Return how much was done until now, to tell later what came after."""
        return Mark(len(self.placements), len(self.preemptions))

    def add(self, pod: Pod, before: str | None = None) -> None:
        """Have a pod wait; `before` is the node that it was on."""
        pod = structs.replace(self.state.in_force(pod), node=None).with_status(nominated=None)
        self._touch(pod.key)
        ledger_of(self.state).make_claims(pod)
        self.state.upsert_pod(pod)
        self._waiting[pod.key] = pod
        if is_of_stateful_set(pod):
            self._in_turn.add(pod.key)
        if before is not None:
            self._before[pod.key] = before

    def remove(self, pod: Pod) -> None:
        """Take a pod away, wherever it is."""
        self._touch(pod.key)
        self.not_started.pop(pod.key, None)
        self._waiting.pop(pod.key, None)
        self._in_turn.discard(pod.key)
        self._before.pop(pod.key, None)
        known = self.state.pod(pod.key, pod.uid)
        self.state.remove_pod(pod.key, pod.uid)
        if known is not None and known.node is not None:
            self.disruptions.went(known)
            self._rooms.moved(known, -1)
            self._volumes_freed()

    def _volumes_freed(self) -> None:
        """Start the pods whose volumes no other node has any more."""
        for key in [*self.not_started]:
            pod = self.state.pods[key]
            held = held_elsewhere(self.state, pod, str(pod.node), self.not_started)
            if held is not None:
                self.not_started[key] = held
                continue
            del self.not_started[key]
            self._touch(key)
            ready = pod.with_status(ready=True)
            self.state.upsert_pod(ready)
            self.disruptions.came(ready)

    def wanted(self, of: Identity | None, there: int) -> int:
        """Return how many pods a workload wants; as many as are there, where it does not say."""
        known = UNKNOWN if of is None else self.workloads.get(of, UNKNOWN)
        return there if known.replicas is None else known.replicas

    def resize(self, pod: Pod, there: int, wanted: int) -> None:
        """Have the workload of a pod want so many from now on."""
        of = pod.workload
        self.disruptions.scaled(pod, wanted - self.wanted(of, there))
        if of is not None:
            self.workloads[of] = replace(self.known(pod), replicas=wanted)

    def known(self, pod: Pod) -> KnownWorkload:
        """Return what the object of a pod's workload says."""
        of = pod.workload
        return UNKNOWN if of is None else self.workloads.get(of, UNKNOWN)

    def replace(self, pod: Pod) -> bool:
        """Take a pod away; return whether its controller makes another one, which waits now."""
        self.remove(pod)
        new = successor(pod, self.known(pod))
        if new is not None:
            self.add(new, pod.node)
        return new is not None

    def applied(self) -> None:
        """Look at waiting pods anew, as what was applied to the state may decide about them."""
        self._unschedulable.clear()
        pods, in_force = self.state.pods, self.state.in_force
        self._waiting = {key: in_force(pods[key]) for key in self._waiting}

    def nodes_changed(self, nodes: Sequence[str]) -> None:
        self._rooms.changed(nodes)

    @contextmanager
    def trial(self, nodes: Sequence[str]) -> Iterator[None]:
        """Take back in the end what has become of all pods, and of some nodes."""
        state = self.state
        labels, has = state.nodes.labels, state.node_resources.allocatable
        before = [Node(name, labels(name), has(name)) for name in nodes]
        waiting, origins = dict(self._waiting), dict(self._before)
        not_started = dict(self.not_started)
        in_turn = set(self._in_turn)
        mark = self.mark
        take_back_claims = ledger_of(state).remembering()
        disruptions = self.disruptions.remembering()
        touched = self._touched = {}
        try:
            yield
        finally:
            self._touched = None
            for node in before:
                state.upsert_node(node)
            for key in touched:
                if (now := state.pods.get(key)) is not None:
                    self.remove(now)
            take_back_claims()
            self.disruptions.take_back(disruptions)
            for pod in filter(None, touched.values()):
                state.upsert_pod(pod)
                self._rooms.moved(pod, 1)
            self._waiting, self._before, self._in_turn = waiting, origins, in_turn
            self.not_started = not_started
            del self.placements[mark.placements :], self.preemptions[mark.preemptions :]
            self.nodes_changed(nodes)

    @property
    def in_trial(self) -> bool:
        return self._touched is not None

    def _touch(self, key: Key) -> None:
        if self._touched is not None:
            self._touched.setdefault(key, self.state.pods.get(key))

    def settle(self) -> Ticks:
        """Place waiting pods until no more of them can be placed; a tick for each look.

        A placed pod is of use to those alone that have to be near others, or spread, so only they
        are looked at again; where pods were evicted, all are.
        """
        hopeful: Sequence[Pod] = self.waiting
        while hopeful:
            placed, evicted = False, len(self.preemptions)
            for pod in hopeful:
                placed |= self.place(pod)
                yield
            changed = len(self.preemptions) > evicted
            hopeful = [pod for pod in self.waiting if changed or (placed and self._may_profit(pod))]

    def _may_profit(self, pod: Pod) -> bool:
        """Return whether a pod that another one has been placed may help."""
        near = pod.pod_class.affinity.required or self.spread(pod)
        return bool(near) or is_of_stateful_set(pod)

    def spread(self, pod: Pod) -> tuple[SpreadConstraint, ...]:
        """Return the topology spread constraints that refuse nodes to a pod."""
        return tuple(self.profile.of(pod).constraints(pod))

    def place(self, pod: Pod) -> bool:
        """Place a waiting pod if a node takes it; O(nodes)."""
        if self._awaited(pod) is not None:
            return False
        # It is there from now on, whatever becomes of those before it.
        self._in_turn.discard(pod.key)
        kind = (
            pod.pod_class,
            shape_of(pod),
            self.spread(pod),
            pod.spec.priority,
            pod.status.nominated,
            pod.status.facets,
            pod.spec.may_preempt,
            claims_of(pod),
            pod.spec.requirements.scheduler,
        )
        if self._unschedulable.get(kind) == self.state.version:
            return False
        node = self._choose(pod) or self._preempt(pod)
        if node is None:
            self._unschedulable[kind] = self.state.version
            return False
        self._bind(pod, node)
        return True

    def _preempt(self, pod: Pod) -> str | None:
        """Evict less important pods for one that no node takes; return the node; O(nodes).

        None where it has to wait for some of them that are being deleted already: it is nominated.
        """
        found = preemption(self.state, pod, self.profile, self._chance)
        if found is None:
            return None
        evicted = [victim for victim in found.victims if not victim.status.deleting]
        for victim in evicted:
            self.replace(victim)
            lost = is_lost(victim, self.known(victim))
            self.preemptions.append(PreemptedPod(victim.key, found.node, pod.key, lost))
        if len(evicted) == len(found.victims):
            return found.node
        self._touch(pod.key)
        self._waiting[pod.key] = pod.with_status(nominated=found.node)
        self.state.upsert_pod(self._waiting[pod.key])
        return None

    def _bind(self, pod: Pod, node: str) -> None:
        self._touch(pod.key)
        del self._waiting[pod.key]
        profile = self.profile
        left = holding(self.state, pod, profile.known)
        unsure = unknown(self.state, pod, profile.of(pod).filters, left, profile.known)
        doubts = [each.field for each in (*unsure, *left)]
        if self.is_as_found and pod.status.said is not None:
            doubts.append(SAID)
        if doubts:
            self.uncertain.add(pod.key)
        said = [each for each in pod.spec.requirements.unmodelled if each != VOLUMES]
        for each in (*doubts, *said):
            self.beyond.setdefault(each, {})[pod.key] = None
        labels = self.state.nodes.labels(node)
        for claim, volume in bindings(self.state, pod, node):
            ledger_of(self.state).bind(claim, volume, node, labels)
        # Here it is placed by the rules that it has, whatever was judged elsewhere.
        bound = structs.replace(pod.judged_by(None), node=node).with_status(
            record=None, nominated=None, ready=True
        )
        held = held_elsewhere(self.state, bound, node, self.not_started)
        if held is None:
            self.disruptions.came(bound)
        else:
            self.not_started[pod.key] = held
            bound = bound.with_status(ready=False)
        self.state.upsert_pod(bound)
        self._rooms.moved(bound, 1)
        self.placements.append(Placement(pod.key, node, self._before.pop(pod.key, None)))

    def _choose(self, pod: Pod) -> str | None:
        """Return one of the best nodes, drawn by chance; None where nothing takes the pod."""
        fits, scores = self.feasible(pod)
        if not fits.names:
            return None
        for share in self._preferences(pod, fits):
            scores = list(map(add, scores, share))
        best = max(scores)
        tied = sorted(name for name, score in zip(fits.names, scores, strict=True) if score == best)
        return tied[int(self._chance() * len(tied))]

    def feasible(self, pod: Pod) -> tuple[NodeList, Sequence[int]]:
        """Return the nodes that all filters leave to a waiting pod, and what room counts of each.

        `Rooms` knows what stays the same from pod to pod; it knows nothing of nominated pods.
        """
        state, profile = self.state, self.profile.of(pod)
        if not profile.is_usual:
            fits = judge(state, pod, state.nodes.asked(sorted(state.nodes)), profile.filters).fits
            return fits, [self._rooms.score(pod, name) for name in fits.names]
        names, scores = self._rooms.ask(pod)
        plugins = profile.filters if state.nominated else profile.rules_beyond_own
        fits = judge(state, pod, state.nodes.asked(names), plugins).fits
        if fits.names and len(fits.names) < len(names):
            scores = picker(fits.names)(dict(zip(names, scores, strict=True)))
        return fits, scores

    def _preferences(self, pod: Pod, fits: NodeList) -> Iterator[Sequence[int]]:
        """Yield what each scoring plugin adds for each node: its normalised score, weighted."""
        for plugin in self.profile.of(pod).scoring:
            try:
                scorer = plugin.prepare(self.state, pod)
            except ObjectError:
                continue  # a broken preference, which the scheduler does not score either
            if scorer is not None:
                raw = scorer.raw(fits)
                normalised = scorer.normalised(raw)
                yield [plugin.weight * normalised[each] for each in raw]
