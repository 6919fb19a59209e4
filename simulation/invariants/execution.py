"""Rules that hold during execution, judged the slow and obvious way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from simulation.apiserver.label_keys import merged_affinity
from simulation.apiserver.store import Json
from simulation.invariants.node_terms import allows
from simulation.invariants.owners import owner_of
from simulation.invariants.rules import Labels, selects, speaks_of
from simulation.templates import BROKEN

AFFINITY: Final = "affinity-extender.io/affinity"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
DURING: Final = "requiredDuringSchedulingRequiredDuringExecution"
PLAIN: Final = {"matchLabels": {"team": "blue"}}
"""Namespaces in which rules of specs hold during execution as well."""
NODES, NEAR, APART = "nodeAffinity", "podAffinity", "podAntiAffinity"
LABEL_KEYS: Final = "LabelKeys"
"""Of a term: matchLabelKeys or mismatchLabelKeys."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A required term of a pod, or its required node affinity."""

    kind: str
    said: Json
    plain: bool


@dataclass(frozen=True, slots=True)
class Standing:
    pod: Json
    node: str
    going: bool
    expected: bool = False
    """Whether it is about to be bound there: it counts for others, and breaks nothing itself."""

    @property
    def uid(self) -> str:
        return str(self.pod["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class Picture:
    """A cluster at some time, as it is or as somebody knows it."""

    nodes: Mapping[str, Labels]
    spaces: Mapping[str, Labels]
    pods: Mapping[str, Standing]
    """Those on nodes, by uid, and others by what no uid is like."""

    @property
    def count(self) -> int:
        """Return how many pods are on nodes."""
        return sum(not each.expected for each in self.pods.values())

    def broken(self, one: Standing) -> list[Rule]:
        """Return the rules in force that a pod breaks where it is."""
        labels = self.nodes.get(one.node)
        if labels is None:
            return []
        plain = selects(PLAIN, self.spaces.get(one.pod["metadata"]["namespace"], {}))
        return [
            each
            for each in rules_of(one.pod)
            if (plain or not each.plain) and not self._holds(each, one, labels)
        ]

    def affected(self) -> set[str]:
        """Return the uids of all pods that break a rule."""
        return {
            uid
            for uid, each in self.pods.items()
            if rules_of(each.pod) and not each.expected and self.broken(each)
        }

    def in_the_way(self, rule: Rule, one: Standing) -> Iterator[Standing]:
        """Yield the other pods that a term of a pod is about, in the domain that the pod is in."""
        domain = self.nodes[one.node].get(rule.said["topologyKey"])
        for other in self.pods.values():
            if (
                other.uid != one.uid
                and domain is not None
                and self.nodes.get(other.node, {}).get(rule.said["topologyKey"]) == domain
                and speaks_of(rule.said, one.pod, other.pod, self.spaces)
            ):
                yield other

    def going(self, *, foreign: bool) -> Counter[str]:
        """Return how many pods would be evicted, by namespace.

        Without `foreign`, those alone that would be whoever came first: see `has_to_go`.
        """
        found = (self.pods[uid] for uid in self.affected())
        return Counter(
            each.pod["metadata"]["namespace"]
            for each in found
            if not each.going
            and owner_of(each.pod) is not None
            and self.has_to_go(each, foreign=foreign)
        )

    def has_to_go(self, one: Standing, *, foreign: bool = True) -> bool:
        """Return whether a pod is the one to go: of two that exclude each other, one stays.

        For pods of other namespaces it only goes if they were there first, which is not told here:
        with `foreign` they were, without they were not.
        """
        return any(self._loses(each, one, foreign=foreign) for each in self.broken(one))

    def _loses(self, rule: Rule, one: Standing, *, foreign: bool) -> bool:
        if rule.kind != APART:
            return True
        space = one.pod["metadata"]["namespace"]
        return any(
            not (other.going or other.expected)
            and (foreign or other.pod["metadata"]["namespace"] == space)
            and (not self._excludes(other, one, rule) or _precedence(other) < _precedence(one))
            for other in self.in_the_way(rule, one)
        )

    def _excludes(self, owner: Standing, pod: Standing, rule: Rule) -> bool:
        """Return whether a pod has a rule in force, over the same key, that is about another."""
        return any(
            each.kind == APART
            and each.said["topologyKey"] == rule.said["topologyKey"]
            and speaks_of(each.said, owner.pod, pod.pod, self.spaces)
            for each in self._in_force(owner)
        )

    def _in_force(self, one: Standing) -> Iterator[Rule]:
        plain = selects(PLAIN, self.spaces.get(one.pod["metadata"]["namespace"], {}))
        return (each for each in rules_of(one.pod) if plain or not each.plain)

    def _holds(self, rule: Rule, one: Standing, labels: Labels) -> bool:
        match rule.kind:
            case "nodeAffinity":
                return allows(rule.said, one.node, labels)
            case "podAffinity":
                if rule.said["topologyKey"] not in labels:
                    return False
                itself = speaks_of(rule.said, one.pod, one.pod, self.spaces)
                return itself or any(True for _ in self.in_the_way(rule, one))
            case _:
                return not any(True for _ in self.in_the_way(rule, one))

    def takes(self, one: Standing, node: str) -> bool:
        """Return whether a pod like another may come to a node instead of it, by the rules."""
        here = Standing(one.pod, node, going=False)
        others = {name: each for name, each in self.pods.items() if each.uid != one.uid}
        without = Picture(self.nodes, self.spaces, others)
        labels = self.nodes[node]
        mine = rules_of(one.pod)
        if not all(without._holds(each, here, labels) for each in mine if each.kind != NEAR):
            return False
        if not all(without._joins(each, here, labels) for each in mine if each.kind == NEAR):
            return False
        return not any(
            labels.get(each.said["topologyKey"], "")
            == self.nodes[other.node].get(each.said["topologyKey"])
            for other in others.values()
            if other.node in self.nodes
            for each in rules_of(other.pod)
            if each.kind == APART and speaks_of(each.said, other.pod, one.pod, self.spaces)
        )

    def leaves_alone(self, one: Standing, node: str) -> bool:
        """Return whether a pod that goes to a node leaves one behind that has to be near such pods.

        And would be near none then.
        """
        others = {name: each for name, each in self.pods.items() if each.uid != one.uid}
        without = Picture(self.nodes, self.spaces, others)
        return any(
            each.kind == NEAR
            and self._parts(each, one, other, node)
            and not without._holds(each, other, self.nodes[other.node])
            for other in others.values()
            if other.node in self.nodes
            for each in rules_of(other.pod)
        )

    def _parts(self, rule: Rule, one: Standing, other: Standing, node: str) -> bool:
        """Return whether a pod goes to another domain than one whose affinity is about it."""
        key = rule.said["topologyKey"]
        domain = self.nodes[other.node].get(key)
        return (
            domain is not None
            and self.nodes[one.node].get(key) == domain
            and self.nodes[node].get(key) != domain
            and speaks_of(rule.said, other.pod, one.pod, self.spaces)
        )

    def _joins(self, rule: Rule, one: Standing, labels: Labels) -> bool:
        """Return whether a newcomer has company on a node, or is the first of its kind anywhere."""
        key = rule.said["topologyKey"]
        if key not in labels:
            return False
        if any(True for _ in self.in_the_way(rule, one)):
            return True
        anywhere = any(
            key in self.nodes.get(each.node, {})
            and speaks_of(rule.said, one.pod, each.pod, self.spaces)
            for each in self.pods.values()
        )
        return not anywhere and speaks_of(rule.said, one.pod, one.pod, self.spaces)


def rules_of(pod: Json) -> tuple[Rule, ...]:
    """Return a pod's required rules, those of its annotation first."""
    metadata = pod["metadata"]
    annotation = metadata.get("annotations", {}).get(AFFINITY, "{}")
    if annotation in BROKEN:
        annotation = "{}"
    # No API server merges those of annotations, so it depends on the labels what they say.
    labels = tuple(sorted(metadata["labels"].items())) if LABEL_KEYS in annotation else ()
    return _rules(_Same(pod["spec"].get("affinity") or {}), annotation, labels)


def may_be_on(pod: Json, name: str, labels: Labels) -> bool:
    """Tell whether a pod's node affinity allows a node, that of its annotation as well."""
    return all(allows(each.said, name, labels) for each in rules_of(pod) if each.kind == NODES)


class _Same:
    """An affinity that is the same as another if it is the very same object."""

    def __init__(self, affinity: Json) -> None:
        self.affinity = affinity

    def __hash__(self) -> int:
        return id(self.affinity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.affinity is self.affinity


@lru_cache(maxsize=10_000)
def _rules(spec: _Same, annotation: str, labels: tuple[tuple[str, str], ...]) -> tuple[Rule, ...]:
    during = _of(merged_affinity(json.loads(annotation), dict(labels)), DURING, plain=False)
    return (*during, *_of(spec.affinity, REQUIRED, plain=True))


def _of(affinity: Json, strength: str, *, plain: bool) -> Iterator[Rule]:
    for kind, rules in affinity.items():
        found = rules.get(strength)
        if found is not None:
            yield from (Rule(kind, each, plain) for each in ([found] if kind == NODES else found))


def _precedence(one: Standing) -> tuple[int, str]:
    return -int(one.pod["spec"].get("priority", 0)), one.uid
