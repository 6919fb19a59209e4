"""The cluster as a scheduler has it: what its informers tell, and the pods that it assumes."""

from __future__ import annotations

from collections.abc import Collection

from simulation.apiserver.store import Json
from simulation.invariants.kinds import Spaces
from simulation.invariants.rules import Labels
from simulation.scheduler.objects import GroupInfo, NodeInfo, PodInfo


class Cache:
    def __init__(self) -> None:
        self.nodes: dict[str, NodeInfo] = {}
        self.budgets: dict[str, Json] = {}
        self.nominated: dict[str, PodInfo] = {}
        """Waiting pods that are nominated to a node, by uid."""
        self.assumed: dict[str, tuple[PodInfo, str]] = {}
        self.groups: dict[str, GroupInfo] = {}
        self.members: dict[str, set[str]] = {}
        """The uids of a group's live pods, by its key; the group itself may be unknown."""
        self.spaces: Spaces = 0, {}
        self._places: dict[str, str] = {}
        """The node of each pod that counts, by uid; its node may be unknown."""
        self._homeless: dict[str, PodInfo] = {}
        self._names: list[str] | None = None

    @property
    def names(self) -> list[str]:
        """Return the names of all nodes in order."""
        if self._names is None:
            self._names = sorted(self.nodes)
        return self._names

    def snapshot(self) -> Cache:
        """Return a copy in which pods can be placed."""
        copy = Cache()
        copy.nodes = {name: each.copy() for name, each in self.nodes.items()}
        copy.nominated, copy.groups = {**self.nominated}, {**self.groups}
        copy.members = {key: {*uids} for key, uids in self.members.items()}
        copy.spaces = self.spaces
        copy._places = {**self._places}
        return copy

    def set_space(self, name: str, labels: Labels | None) -> None:
        number, spaces = self.spaces
        others = {key: each for key, each in spaces.items() if key != name}
        self.spaces = number + 1, others if labels is None else {**others, name: labels}

    def add_member(self, pod: PodInfo) -> None:
        self.members.setdefault(pod.group, set()).add(pod.uid)

    def drop_member(self, uid: str) -> None:
        for uids in self.members.values():
            uids.discard(uid)

    def scheduled(self, group: str) -> list[str]:
        """Return the uids of the members that have a node or are assumed to have one."""
        return [uid for uid in self.members.get(group, ()) if uid in self._places]

    def has_quorum(self, group: str) -> bool:
        """Tell whether a group is known, and as many members as it needs."""
        known = self.groups.get(group)
        return known is not None and len(self.members.get(group, ())) >= known.least

    def may_be_next(self, pod: PodInfo) -> bool:
        """Tell whether a pod needs no other to be placed with it."""
        group = self.groups.get(pod.group)
        if group is None or group.topology is not None:
            return not pod.group
        return len(self.scheduled(pod.group)) + 1 >= group.least

    def node_of(self, uid: str) -> NodeInfo | None:
        return self.nodes.get(self._places[uid])

    def set_node(self, raw: Json) -> None:
        name = raw["metadata"]["name"]
        known = self.nodes.get(name)
        if known is not None:
            self.nodes[name] = NodeInfo(name, raw, known.pods, known.used)
            return
        self._names = None
        node = self.nodes[name] = NodeInfo(name, raw)
        for pod in [each for each in self._homeless.values() if self._places[each.uid] == name]:
            node.add(self._homeless.pop(pod.uid))

    def drop_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is not None:
            self._names = None
            self._homeless.update(node.pods)

    def place(self, pod: PodInfo, node: str) -> None:
        self.unplace(pod.uid)
        self._places[pod.uid] = node
        if node in self.nodes:
            self.nodes[node].add(pod)
        else:
            self._homeless[pod.uid] = pod

    def unplace(self, uid: str) -> None:
        node = self._places.pop(uid, None)
        if node in self.nodes:
            self.nodes[node].remove(uid)
        self._homeless.pop(uid, None)

    def has(self, uid: str) -> bool:
        return uid in self._places

    def assume(self, pod: PodInfo, node: str) -> None:
        """Count a pod that is about to be bound."""
        self.assumed[pod.uid] = pod, node
        self.place(pod, node)

    def forget(self, uid: str) -> None:
        if self.assumed.pop(uid, None) is not None:
            self.unplace(uid)

    def fits(self, pod: PodInfo, node: NodeInfo, gone: Collection[PodInfo] = ()) -> bool:
        """Judge by in-tree's filters: twice where more important pods are nominated to the node."""
        if not node.takes(pod):
            return False
        coming = 0
        for each in self.nominated.values():
            if (
                each.nominated == node.name
                and each.uid != pod.uid
                and each.priority >= pod.priority
            ):
                coming += each.cpu
                if not pod.ports.isdisjoint(each.ports):
                    return False
        if pod.ports and not node.has_ports(pod.ports, gone):
            return False
        if not gone:
            return node.has_room(pod.cpu + coming)
        return node.has_room(pod.cpu + coming, sum(each.cpu for each in gone), len(gone))
