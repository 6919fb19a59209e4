"""What each replica of the extender knows, and has known of broken rules, second by second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from extender.core.cluster.state import ClusterState
from simulation.apiserver.store import Json, Store, is_live
from simulation.invariants.execution import Picture, Standing, rules_of

Holds: TypeAlias = Callable[[Mapping[str, int], int, str], bool]
"""Tells whether so many pods to go, by namespace, of so many placed, stop those of a namespace."""


class Replica(Protocol):
    name: str
    state: ClusterState

    @property
    def awake(self) -> bool:
        """Return whether it is running, and has been for a moment."""


def mirror(state: ClusterState, raws: Mapping[str, Json]) -> Picture:
    """Return the cluster as a replica knows it; `raws` are all pods there were, by uid."""
    pods = {
        pod.uid: Standing(raws[pod.uid], pod.node, pod.status.deleting)
        for pod in state.pods.values()
        if pod.node is not None and not pod.status.terminal and pod.uid in raws
    }
    for pod in (each.pod for each in state.reservations):
        if pod.node is not None and pod.uid in raws:
            expected = Standing(raws[pod.uid], pod.node, going=False, expected=True)
            pods[f"{pod.uid} on {pod.node}"] = expected
    nodes = {name: state.nodes.labels(name) for name in state.nodes}
    return Picture(nodes, state.namespaces, pods)


def truth(store: Store) -> Picture:
    live = [each for each in store.all("pods").values() if is_live(each)]
    pods = {
        each["metadata"]["uid"]: Standing(
            each, each["spec"]["nodeName"], "deletionTimestamp" in each["metadata"]
        )
        for each in live
        if each["spec"].get("nodeName")
    }
    nodes = {name: each["metadata"]["labels"] for name, each in store.all("nodes").items()}
    spaces = {name: each["metadata"]["labels"] for name, each in store.all("namespaces").items()}
    return Picture(nodes, spaces, pods)


class Knowledge:
    """What one replica has known, look by look, a second apart.

    What holds at two looks in a row the program has seen, which looks four times a second.
    """

    def __init__(self, began: float) -> None:
        self._began = self._looked = began
        self._version: object = None
        self._broken: set[str] = set()
        self._ruled: set[str] = set()
        self._met: set[str] = set()
        self._last_met: dict[str, float] = {}
        self._going: Counter[str] = Counter()
        self._pods = 0
        self.over: dict[str, float] = {}
        """Since when too many were to go, for each namespace that is held up by that."""

    def look(self, state: ClusterState, raws: Mapping[str, Json], holds: Holds, now: float) -> None:
        """Take down which pods break rules now, as the replica knows it."""
        if state.version != self._version:
            picture = mirror(state, raws)
            self._version, self._broken = state.version, picture.affected()
            self._going, self._pods = picture.going(foreign=False), picture.count
            self._ruled = {uid for uid, each in picture.pods.items() if rules_of(each.pod)}
        met = self._ruled - self._broken
        self._last_met.update(dict.fromkeys(met & self._met, self._looked))
        self._met, self._looked = met, now
        over = [space for space in self._going if holds(self._going, self._pods, space)]
        self.over = {space: self.over.get(space, now) for space in over}

    def broken_for(self, uid: str, now: float) -> float:
        """Return for how many seconds it may have known that a pod breaks a rule, at most."""
        return now - self._last_met.get(uid, self._began)
