"""Judge placements by the rules of the Kubernetes documentation, from raw API objects alone.

This shares nothing with the extender or the scheduler. It is as fast as ten thousand pods need: it
only compares pods that are in one domain.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from tests.e2e.api import key_of
from tests.e2e.objects import JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class _Group:
    """Some placed pods, found by the topology domain that they are in, and by what terms look at.

    A term is about all pods of a namespace that have the same of the labels that any term names, or
    about none of them.
    """

    def __init__(
        self,
        pods: Iterable[JSON],
        value_of: Callable[[str, str], str | None],
        named: Collection[str],
    ) -> None:
        self._pods: list[JSON] = []
        self._value_of = value_of
        self._named = named
        self._domains: dict[str, dict[str | None, dict[object, list[JSON]]]] = {}
        self.add(*pods)

    def __iter__(self) -> Iterator[JSON]:
        return iter(self._pods)

    def add(self, *pods: JSON) -> None:
        self._pods += pods
        for key in self._domains:
            self._file(key, pods)

    def matched(
        self, key: str, value: str | None, matches: Callable[[JSON], bool]
    ) -> Iterator[JSON]:
        """Yield those in a domain that a term is about; none where there is no domain."""
        if key not in self._domains:
            self._domains[key] = defaultdict(lambda: defaultdict(list))
            self._file(key, self._pods)
        for alike in () if value is None else self._domains[key][value].values():
            if matches(alike[0]):
                yield from alike

    def _file(self, key: str, pods: Iterable[JSON]) -> None:
        for pod in pods:
            labels = _labels(pod)
            seen = (pod["metadata"]["namespace"], *map(labels.get, self._named))
            self._domains[key][self._value_of(pod["spec"]["nodeName"], key)][seen].append(pod)


class Checker:
    """A picture of a cluster, and what is wrong with it."""

    def __init__(
        self, pods: Iterable[JSON], nodes: Iterable[JSON], namespaces: Iterable[JSON]
    ) -> None:
        self._nodes = {each["metadata"]["name"]: _labels(each) for each in nodes}
        self._namespaces = {each["metadata"]["name"]: _labels(each) for each in namespaces}
        alive = [each for each in pods if not _is_terminal(each)]
        self._placed = {key_of(each): each for each in alive if each["spec"].get("nodeName")}
        self._waiting = [each for each in alive if not each["spec"].get("nodeName")]
        self._named = sorted({key for pod in alive for key in _named_labels(pod)})
        self._everybody = self._group(self._placed.values())

    def broken_rules(self, order: Sequence[str] | None = None) -> list[str]:
        """Say, a line each, which placed pods are where a required rule forbids them to be.

        ``order`` holds the keys of the placed pods as they were bound, where that is known; the
        first pod of a group is then judged exactly. Without it the judgement is as strict as it
        can be for an unknown order.
        """
        near = self._replayed(order) if order is not None else self._started_twice()
        return [*self._too_close(), *near]

    def needless_waits(self) -> list[str]:
        """Say which pods wait although a node would take them, as far as affinity goes."""
        found = []
        for pod in self._waiting:
            fitting = [name for name in self._nodes if self._fits(pod, name)]
            if fitting:
                found.append(f"{key_of(pod)} waits, but fits on {', '.join(fitting)}")
        return found

    # Anti-affinity holds between any two pods, in both directions, whoever came first.

    def _too_close(self) -> list[str]:
        return [
            f"{key_of(owner)} must be apart from {key_of(other)}: "
            f"both in {term['topologyKey']}={value}"
            for owner in self._placed.values()
            for term in _terms(owner, "podAntiAffinity")
            if (value := self._value(owner["spec"]["nodeName"], term["topologyKey"])) is not None
            for other in self._everybody.matched(
                term["topologyKey"], value, partial(self._matches, term, owner)
            )
            if other is not owner
        ]

    def _clashes(self, owner: JSON, node: str, other: JSON) -> bool:
        """Return whether the owner of anti-affinity, on this node, must not be with other."""
        return any(
            self._together(node, other, term["topologyKey"]) and self._repels(term, owner, other)
            for term in _terms(owner, "podAntiAffinity")
        )

    def _repels(self, term: JSON, owner: JSON, other: JSON) -> bool:
        return owner is not other and self._matches(term, owner, other)

    # Affinity needs somebody who was there before, unless the pod may start its group.

    def _replayed(self, order: Sequence[str]) -> list[str]:
        assert set(order) == set(self._placed), "the order must name every placed pod"
        found, present = [], self._group()
        for key in order:
            pod = self._placed[key]
            node = pod["spec"]["nodeName"]
            if not (self._supported(pod, node, present) or self._may_start(pod, node, present)):
                found.append(f"{key} has nobody to be near on {node}, and may not start a group")
            present.add(pod)
        return found

    def _started_twice(self) -> list[str]:
        """Derive who can stand on whose shoulders; each group gets one pod that stands alone."""
        standing = self._group(p for p in self._placed.values() if not _terms(p, "podAffinity"))
        floating = [pod for pod in self._placed.values() if _terms(pod, "podAffinity")]
        starters: list[JSON] = []
        while floating:
            raised = [p for p in floating if self._supported(p, p["spec"]["nodeName"], standing)]
            if not raised:
                raised = [p for p in floating if self._is_free_to_start(p, starters)][:1]
                starters += raised
            if not raised:
                break
            standing.add(*raised)
            up = {id(pod) for pod in raised}
            floating = [pod for pod in floating if id(pod) not in up]
        return [
            f"{key_of(pod)} has nobody to be near on {pod['spec']['nodeName']}, "
            "and may not start a group or its group started elsewhere"
            for pod in floating
        ]

    def _is_free_to_start(self, pod: JSON, starters: Sequence[JSON]) -> bool:
        """Say whether some order of binding allows this pod to be one more starter."""
        rivals = [s for s in starters if self._all_terms_match(s, pod)]
        return self._may_start(pod, pod["spec"]["nodeName"], rivals)

    def _supported(self, pod: JSON, node: str, present: _Group) -> bool:
        return all(
            any(
                helper is not pod
                for helper in present.matched(
                    key, self._value(node, key), partial(self._all_terms_match, pod)
                )
            )
            for term in _terms(pod, "podAffinity")
            for key in (term["topologyKey"],)
        )

    def _group(self, pods: Iterable[JSON] = ()) -> _Group:
        return _Group(pods, self._value, self._named)

    def _together(self, node: str, other: JSON, key: str) -> bool:
        value = self._value(node, key)
        return value is not None and value == self._value(other["spec"]["nodeName"], key)

    def _may_start(self, pod: JSON, node: str, present: Iterable[JSON]) -> bool:
        keys = [term["topologyKey"] for term in _terms(pod, "podAffinity")]
        if any(self._value(node, key) is None for key in keys):
            return False
        rivals = [p for p in present if p is not pod and self._all_terms_match(pod, p)]
        has_rival = any(
            self._value(p["spec"]["nodeName"], k) is not None for p in rivals for k in keys
        )
        return self._all_terms_match(pod, pod) and not has_rival

    def _fits(self, pod: JSON, node: str) -> bool:
        placed = self._everybody
        moved = pod | {"spec": pod["spec"] | {"nodeName": node}}
        clash = any(
            self._clashes(pod, node, other)
            or self._clashes(other, other["spec"]["nodeName"], moved)
            for other in placed
        )
        near = self._supported(pod, node, placed) or self._may_start(pod, node, placed)
        return near and not clash

    # What a term says.

    def _all_terms_match(self, owner: JSON, other: JSON) -> bool:
        return all(self._matches(term, owner, other) for term in _terms(owner, "podAffinity"))

    def _matches(self, term: JSON, owner: JSON, other: JSON) -> bool:
        space = other["metadata"]["namespace"]
        listed, chosen = term.get("namespaces") or [], term.get("namespaceSelector")
        if chosen is None and not listed:
            listed = [owner["metadata"]["namespace"]]
        by_selector = chosen is not None and selects(chosen, self._namespaces.get(space, {}))
        return (space in listed or by_selector) and selects(
            term.get("labelSelector"), _labels(other)
        )

    def _value(self, node: str, key: str) -> str | None:
        return self._nodes.get(node, {}).get(key)


def bound_order(history: Iterable[JSON]) -> list[str]:
    """Return the keys of pods in the order in which they were first seen with a node."""
    return list(dict.fromkeys(key_of(pod) for pod in history if pod["spec"].get("nodeName")))


def selects(selector: JSON | None, labels: dict[str, str]) -> bool:
    """Apply a label selector; none at all selects nothing, an empty one everything."""
    if selector is None:
        return False
    plain = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in plain) and all(
        _satisfies(requirement, labels) for requirement in selector.get("matchExpressions") or []
    )


def _satisfies(requirement: JSON, labels: dict[str, str]) -> bool:
    value, values = labels.get(requirement["key"]), requirement.get("values") or []
    answers = {
        "In": value is not None and value in values,
        "NotIn": value is None or value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }
    return answers[requirement["operator"]]


def _terms(pod: JSON, kind: str) -> list[JSON]:
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    terms: list[JSON] = affinity.get(_REQUIRED) or []
    return terms


def _named_labels(pod: JSON) -> Iterator[str]:
    for term in chain(_terms(pod, "podAffinity"), _terms(pod, "podAntiAffinity")):
        selector = term.get("labelSelector") or {}
        yield from selector.get("matchLabels") or ()
        yield from (each["key"] for each in selector.get("matchExpressions") or ())


def _labels(thing: JSON) -> dict[str, str]:
    labels: dict[str, str] = thing["metadata"].get("labels") or {}
    return labels


def _is_terminal(pod: JSON) -> bool:
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
