"""What places are worth to pods by preferred rules, judged the slow and obvious way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from simulation.apiserver.store import Json
from simulation.invariants.execution import Picture, Standing
from simulation.invariants.node_terms import allows
from simulation.invariants.rules import speaks_of, weighted_terms

PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
Gain: TypeAlias = tuple[int, int]
"""By a pod's own terms, and by all."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """Pods that are alike to each other's terms."""

    pod: Json
    nodes: Counter[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """A term, and how many pods it is about in each domain."""

    own: int
    weight: int
    key: str
    pods: Counter[str]


class Worth:
    """A picture, with the pods of each kind counted by node."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._kinds: dict[object, _Kind] = {}
        self._gains: dict[tuple[object, str], Mapping[str, Gain]] = {}
        for each in picture.pods.values():
            if not each.expected or each.uid not in picture.pods:
                kind = self._kinds.setdefault(_key(each.pod), _Kind(each.pod, Counter()))
                kind.nodes[each.node] += 1

    def gains(self, one: Standing) -> Mapping[str, Gain]:
        """Return what a pod would gain on each node, were it there and not where it is."""
        key = _key(one.pod), one.node
        found = self._gains.get(key)
        if found is None:
            found = self._gains[key] = self._count(one)
        return found

    def better(self, one: Standing, margin: int) -> set[str]:
        """Return the nodes on which a pod would gain a margin, by its own terms and by all.

        Without those on which it would no longer be near pods that have to be near it alone.
        """
        if not prefers(one.pod) or one.node not in self._picture.nodes:
            return set()
        found = {name for name, each in self.gains(one).items() if min(each) >= margin}
        return {name for name in found if not self._picture.leaves_alone(one, name)}

    def _count(self, one: Standing) -> Mapping[str, Gain]:
        terms = [*self._terms(one)]
        worth = {name: self._at(one, name, terms) for name in self._picture.nodes}
        here = worth[one.node]
        return {name: (own - here[0], all_ - here[1]) for name, (own, all_) in worth.items()}

    def _terms(self, one: Standing) -> Iterator[_Counted]:
        """Yield each term between a pod and the others, with those that it counts by domain."""
        spaces = self._picture.spaces
        for key, kind in self._kinds.items():
            nodes = kind.nodes
            if key == _key(one.pod):
                nodes = nodes - Counter([one.node])
            for term, weight in weighted_terms(one.pod):
                if speaks_of(term, one.pod, kind.pod, spaces):
                    yield _Counted(1, weight, *self._by_domain(nodes, term["topologyKey"]))
            for term, weight in weighted_terms(kind.pod):
                if speaks_of(term, kind.pod, one.pod, spaces):
                    yield _Counted(0, weight, *self._by_domain(nodes, term["topologyKey"]))

    def _at(self, one: Standing, name: str, terms: Sequence[_Counted]) -> Gain:
        labels, worth = self._picture.nodes[name], [0, 0]
        for each in terms:
            worth[each.own] += each.weight * each.pods[labels.get(each.key, "")]
        about = ((one.pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(PREFERRED)
        others, own = worth
        own += sum(
            each["weight"]
            for each in about or ()
            if allows({"nodeSelectorTerms": [each["preference"]]}, name, labels)
        )
        return own, own + others

    def _by_domain(self, nodes: Counter[str], key: str) -> tuple[str, Counter[str]]:
        found: Counter[str] = Counter()
        for name, number in nodes.items():
            domain = self._picture.nodes.get(name, {}).get(key)
            if domain is not None:
                found[domain] += number
        return key, found


def prefers(pod: Json) -> bool:
    affinity = pod["spec"].get("affinity") or {}
    return any(PREFERRED in each for each in affinity.values())


def _key(pod: Json) -> object:
    metadata = pod["metadata"]
    # Pods of a workload share their affinity; those of another are another kind at worst.
    return (
        metadata["namespace"],
        *sorted(metadata["labels"].items()),
        id(pod["spec"].get("affinity")),
    )
