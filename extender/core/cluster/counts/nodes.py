"""The nodes of the cluster, numbered, with their place in every topology in use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress
from typing import Final

from extender.core.cluster.counts.count_tables import MemberTable
from extender.core.cluster.counts.topology import NO_DOMAIN, DomainTable, Topology, picker
from extender.core.model.labels import NO_LABELS, Labels
from extender.core.model.signed import shift


class NodeList:
    """The known nodes of one question, in its order, and the names that no known node has.

    Each is there once, where the question names it first.
    """

    __slots__ = ("_among", "_known", "_numbers", "names", "repeated", "unknown", "version")

    def __init__(
        self,
        names: Sequence[str],
        unknown: Sequence[str],
        known: Mapping[str, int],
        version: int,
        numbers: Sequence[int] | None = None,
        *,
        repeated: bool = False,
    ) -> None:
        self.names = names
        self.unknown = unknown
        self.version = version
        """Nodes.version when the names were looked up: later numbers may mean other nodes."""
        self.repeated = repeated
        """The question names some of them more than once."""
        self._known = known
        self._numbers = numbers
        self._among: tuple[Sequence[int], Sequence[int]] | None = None
        """The numbers of more nodes, and which of them are these."""

    @property
    def numbers(self) -> Sequence[int]:
        """Return the nodes' numbers, by position in names; found when first needed."""
        if self._numbers is None:
            if self._among is not None:
                self._numbers = list(compress(*self._among))
                self._among = None
            else:
                self._numbers = picker(self.names)(self._known)
        return self._numbers

    def domains(self, topology: Topology) -> Sequence[int]:
        """Return the nodes' domains of a topology, by position in names."""
        return picker(self.numbers)(topology.domain_of)

    def only(self, names: Sequence[str]) -> NodeList:
        return NodeList(names, (), self._known, self.version)

    def without(self, names: Sequence[str]) -> NodeList:
        if not names:
            return self
        left_out = {*names}
        return self.only([name for name in self.names if name not in left_out])

    def where(self, hits: Sequence[int]) -> NodeList:
        """Return the question about the known nodes that are hit, by position."""
        some = NodeList(list(compress(self.names, hits)), (), self._known, self.version)
        if self._numbers is not None:
            some._among = self._numbers, hits
        return some


class Nodes:
    """Numbers every node that exists or that pods claim to be on.

    A number is given back when the node is gone and no pod refers to it any more.
    """

    def __init__(self) -> None:
        self.version = 0
        """Grows when a node appears or disappears."""
        self._known: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self.names: Final[Sequence[str]] = self._names
        """By number; a number that is free has none."""
        self._labels: list[Labels] = []
        self._pods: list[int] = []
        self._free: list[int] = []
        self._topologies: dict[str, Topology] = {}
        self._located: dict[str, Topology] = {}
        """Topologies whose key some node has, or had."""
        self.located_keys: Final = self._located.keys()
        self._tables: dict[str, int] = {}
        self._having: dict[str, int] = {}
        """How many known nodes have each label key."""
        self._nowhere: list[int] = []
        """NO_DOMAIN for each number."""
        self.located = 0
        """Grows when a node is the first to have a key that terms use."""

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def keys(self) -> AbstractSet[str]:
        return self._known.keys()

    def labels(self, name: str) -> Labels:
        """Return the labels of a node, none for an unknown one."""
        number = self._known.get(name)
        return NO_LABELS if number is None else self._labels[number]

    def asked(self, names: Sequence[str]) -> NodeList:
        """Look up the names of a question.

        Each name costs a visit to cold memory: with 500 of them the larger part of an answer.
        """
        known, version = self._known, self.version
        try:
            numbers = picker(names)(known)
        except KeyError:
            distinct = list(dict.fromkeys(names))
            found = [name for name in distinct if name in known]
            unknown = [name for name in distinct if name not in known]
            repeated = len(distinct) < len(names)
            return NodeList(found, unknown, known, version, repeated=repeated)
        # Of the numbers: a set of the names takes several times as long.
        repeated = len(set(numbers)) < len(names)
        if repeated:
            names, numbers = list(dict.fromkeys(names)), list(dict.fromkeys(numbers))
        return NodeList(names, (), known, version, numbers, repeated=repeated)

    def number(self, name: str) -> int | None:
        return self._numbers.get(name)

    def number_of(self, name: str) -> int:
        """Return the number of a node that pods are bound to; KeyError for any other."""
        return self._numbers[name]

    def moves(self, name: str, labels: Labels) -> set[str]:
        """Return the keys in use over which other labels would put a node into other domains."""
        changed = self.labels(name).items() ^ labels.items()
        return {key for key, _ in changed if key in self._topologies}

    def has_key(self, key: str) -> bool:
        """Return whether some node has a label key; `located` grows when a used one appears."""
        return key in self._having

    def nowhere(self, key: str) -> DomainTable:
        """Make an empty table over a key that no node has; true until `located` grows."""
        return DomainTable(Topology(key, self._nowhere))


class NodeRegistry(Nodes):
    def compact(self) -> None:
        """Copy the known names next to each other in memory.

        They were made among everything else that was read, and a question about thousands of
        nodes fetches each of them: so it touches a tenth of the pages. For after the first list.
        """
        names = [name.encode() for name in self._known]
        copies = [name.decode() for name in names]
        self._known = dict(zip(copies, self._known.values(), strict=True))

    def learn(self, name: str, labels: Labels) -> int:
        """Make a node known, or change its labels, and return its number."""
        number = self._number(name)
        self._relabel(number, labels)
        if name not in self._known:
            self._known[name] = number
            self.version += 1
        return number

    def forget(self, name: str) -> None:
        """Make a node unknown; pods on it keep their number but are in no domain."""
        number = self._known.pop(name)
        self._relabel(number, NO_LABELS)
        self.version += 1
        self._release(name, number)

    def number_for_pod(self, name: str) -> int:
        """Return the number of a node that a pod is bound to, known or not."""
        number = self._number(name)
        self._pods[number] += 1
        return number

    def release_for_pod(self, number: int) -> None:
        self._pods[number] -= 1
        self._release(self._names[number], number)

    def table(self, key: str) -> DomainTable:
        return DomainTable(self._topology(key))

    def member_table(self, key: str) -> MemberTable:
        return MemberTable(self._topology(key))

    def _topology(self, key: str) -> Topology:
        topology = self._topologies.get(key)
        if topology is None:
            topology = self._topologies[key] = Topology(key, self._nowhere)
            self._tables[key] = 0
            if key in self._having:
                self._locate(topology)
        self._tables[key] += 1
        return topology

    def drop(self, table: DomainTable) -> None:
        """Forget a table, and its topology with the last one."""
        key = table.topology.key
        self._tables[key] -= 1
        if not self._tables[key]:
            del self._tables[key], self._topologies[key]
            self._located.pop(key, None)

    def _locate(self, topology: Topology) -> None:
        self._located[topology.key] = topology
        for number, labels in enumerate(self._labels):
            topology.place(number, self._names[number], labels.get(topology.key))

    def _relabel(self, number: int, labels: Labels) -> None:
        """Change a node's labels; costs the labels, however many keys terms use."""
        old, self._labels[number] = self._labels[number], labels
        for key in labels:
            if key not in old:
                had = self._having.get(key, 0)
                self._having[key] = had + 1
                if not had:
                    self._appeared(key)
        for key in old:
            if key not in labels:
                shift(self._having, key, -1)
        for key in {*old, *labels}:
            if key in self._located:
                self._located[key].place(number, self._names[number], labels.get(key))

    def _appeared(self, key: str) -> None:
        self.located += 1
        topology = self._topologies.get(key)
        if topology is not None:
            self._located[key] = topology

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is not None:
            return number
        if self._free:
            number = self._free.pop()
            self._names[number] = name
        else:
            number = len(self._names)
            self._names.append(name)
            self._labels.append(NO_LABELS)
            self._pods.append(0)
            self._nowhere.append(NO_DOMAIN)
        self._numbers[name] = number
        for topology in self._located.values():
            topology.place(number, name, None)
        return number

    def _release(self, name: str, number: int) -> None:
        if not self._pods[number] and name not in self._known:
            del self._numbers[name]
            self._names[number] = ""
            self._free.append(number)
