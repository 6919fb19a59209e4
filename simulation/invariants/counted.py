"""What the program counts, counted again from what the API server has stored.

Nothing of the program's own reading is used but the names of its counters: which term is counted
over which topology key. Whom a term is about, and who carries it, the stored pods say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias

from extender.core.cluster.counts.node_rules import Judged
from extender.core.cluster.counts.pod_sets import How, PodSet
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import Selector
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.workload import MARKS
from simulation.apiserver.store import Json, Store, is_live
from simulation.invariants.annotated import affinity_of, anti_of, has_record, preferred_of
from simulation.invariants.broken import BrokenError
from simulation.invariants.execution import may_be_on, rules_of
from simulation.invariants.features import judges
from simulation.invariants.limits import limits_of
from simulation.invariants.recount import live
from simulation.invariants.rooms import milli
from simulation.invariants.rules import Labels, speaks_of, weighted_terms

COUNT_SECONDS: Final = 30.0
"""Between two counts for an extender."""

Name: TypeAlias = tuple[object, ...]
Tables: TypeAlias = dict[Name, dict[str, int]]
"""What is counted in each domain, zeros left out, by what is counted and over which key."""


class Stored:
    """The cluster as the API server has it, with the places that are promised to pods beside."""

    def __init__(self, store: Store, promised: Iterable[tuple[str, str]] = ()) -> None:
        """`promised` are namespace/name and node of pods that are about to be bound."""
        self.pods = {key: each for key, each in store.all("pods").items() if is_live(each)}
        self.nodes = _labels(store, "nodes")
        self.spaces = _labels(store, "namespaces")
        bound = [(each, each["spec"].get("nodeName")) for each in self.pods.values()]
        self.placed: list[tuple[Json, str]] = [(pod, node) for pod, node in bound if node]
        self.placed += [(self.pods[key], node) for key, node in promised if key in self.pods]

    def by_domain(self, key: str, amounts: Iterable[tuple[str, int]]) -> dict[str, int]:
        """Add up amounts on nodes in the domains that these are in."""
        table: Counter[str] = Counter()
        for node, amount in amounts:
            domain = self.nodes.get(node, {}).get(key)
            if domain is not None:
                table[domain] += amount
        return {domain: amount for domain, amount in table.items() if amount}


def agrees(state: ClusterState, store: Store) -> bool:
    """Tell whether a state has the pods, nodes and namespaces that there are at this moment."""
    stored = Stored(store)
    known = {key: (pod.uid, pod.node) for key, pod in state.pods.items()}
    there = {
        key: (each["metadata"]["uid"], each["spec"].get("nodeName"))
        for key, each in stored.pods.items()
    }
    return (
        known == there
        and all(each.pod.uid == there.get(each.pod.key, ("",))[0] for each in state.reservations)
        and {name: dict(state.nodes.labels(name)) for name in state.nodes} == stored.nodes
        and {name: _unmarked(labels) for name, labels in state.namespaces.items()} == stored.spaces
        and all(judge.knows_all(state, store) for judge in judges())
    )


def _unmarked(labels: Labels) -> Labels:
    """Leave out what the program itself notes beside the labels of a namespace."""
    return {key: value for key, value in labels.items() if key not in MARKS}


class Recount:
    """Counts what is stored now and then, when somebody knows all of it at the same time."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._last: dict[str, tuple[float, int]] = {}
        """When each extender was found to count what is stored, and at which version."""

    def look(self, name: str, state: ClusterState) -> bool:
        """Count if it is time to; BrokenError where it differs. Tell whether it was counted."""
        now, version = self._clock(), self._store.version
        at, counted = self._last.get(name, (-COUNT_SECONDS, 0))
        if now - at < COUNT_SECONDS or counted == version or not agrees(state, self._store):
            return False
        check_stored(state, self._store)
        self._last[name] = now, version
        return True


def check_stored(state: ClusterState, store: Store) -> None:
    """Raise when somebody who knows what there is counts it otherwise."""
    stored = Stored(store, ((each.pod.key, each.pod.node or "") for each in state.reservations))
    features = (judge.differences(state, stored.placed) for judge in judges())
    for wrong in chain(
        _tables(state, stored), _rooms(state, stored), _node_rules(state, stored), *features
    ):
        raise BrokenError("counters differ from the cluster", wrong, ())


def _labels(store: Store, resource: str) -> dict[str, Labels]:
    return {name: each["metadata"].get("labels", {}) for name, each in store.all(resource).items()}


def _tables(state: ClusterState, stored: Stored) -> Iterator[str]:
    counted: dict[Name, Counter[str]] = {}
    truth = _carried(stored)
    for name, table in live(state).items():
        if isinstance(name[0], PodSet):
            pods, key = name
            said: Name = "matching", pods, key
            amounts = ((node, _weigh(pods, pod, stored.spaces)) for pod, node in stored.placed)
            truth[said] = stored.by_domain(str(key), amounts)
        else:
            term, role, source = name
            if source is not None and source.later:
                continue  # It is kept for the pod itself, and counts for no other.
            of_term = canonical(_as_said(term.pods), ""), term.topology_key
            said = role.value, source is not None, *of_term
        # Rules in annotations are counted by the namespace of their owners, and by who judged them.
        counted.setdefault(said, Counter()).update(table)
    for each in {**counted, **truth}:
        there, here = truth.get(each, {}), dict(counted.get(each, Counter()))
        if there != here:
            yield f"{each}: there are {there}, counted are {here}"


def _carried(stored: Stored) -> Tables:
    """Return the terms that placed pods carry, by role, with what each domain holds of them."""
    held: dict[Name, list[tuple[str, int]]] = {}
    for pod, node in stored.placed:
        judged = has_record(pod) or not pod["spec"].get("nodeName")
        for role, annotated, term, weight in _terms(pod, by_annotation=judged):
            said = canonical(term, pod["metadata"]["namespace"])
            name = role, annotated, said, term["topologyKey"]
            held.setdefault(name, []).append((node, weight))
    return {name: stored.by_domain(str(name[-1]), amounts) for name, amounts in held.items()}


def _terms(pod: Json, *, by_annotation: bool) -> Iterator[tuple[str, bool, Json, int]]:
    """Yield the terms that count; those of annotations, if it was placed by these."""
    roles = {"podAffinity": "required", "podAntiAffinity": "requiredAnti"}
    for rule in rules_of(pod):
        if rule.kind in roles and (rule.plain or by_annotation):
            yield roles[rule.kind], not rule.plain, rule.said, 1
    for term, weight in weighted_terms(pod):
        yield "preferred", False, {**term}, weight
    if by_annotation:
        yield from (("requiredAnti", True, each, 1) for each in map(dict, anti_of(pod)))
        yield from (("required", True, each, 1) for each in map(dict, affinity_of(pod)))
        yield from (("preferred", True, {**each}, weight) for each, weight in preferred_of(pod))
        yield from (("limit", True, each, 1) for each in limits_of(pod))


def _weigh(pods: PodSet, pod: Json, spaces: Mapping[str, Labels]) -> int:
    found = [
        weight if speaks_of(_as_said(each), pod, pod, spaces) else 0
        for each, weight in pods.weights
    ]
    return int(all(found)) if pods.how is How.ALL else sum(found)


def _as_said(pods: PodSelector) -> Json:
    """Return the selectors of one of the program's terms as somebody would write them."""
    return {
        "namespaces": sorted(pods.namespaces),
        "namespaceSelector": _as_selector(pods.namespace_selector),
        "labelSelector": _as_selector(pods.selector),
    }


def _as_selector(selector: Selector | None) -> Json | None:
    if selector is None or selector.matches_nothing:
        return None
    return {
        "matchExpressions": [
            {"key": each.key, "operator": each.operator.value, "values": sorted(each.values)}
            for each in selector.requirements
        ]
    }


def canonical(term: Mapping[str, Any], owner_space: str) -> Name:
    """Return what two terms have in common if they say the same."""
    listed, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
    if not listed and chosen is None:
        listed = (owner_space,)
    return frozenset(listed), _conditions(chosen), _conditions(term.get("labelSelector"))


def _conditions(selector: Mapping[str, Any] | None) -> frozenset[object] | None:
    if selector is None:
        return None
    pairs = (selector.get("matchLabels") or {}).items()
    return frozenset(
        [(key, "In", frozenset([value])) for key, value in pairs]
        + [
            (each["key"], each["operator"], frozenset(each.get("values") or ()))
            for each in selector.get("matchExpressions") or ()
        ]
    )


def _rooms(state: ClusterState, stored: Stored) -> Iterator[str]:
    """Yield the nodes of which more or less is in use than there is."""
    used: Counter[str] = Counter()
    for pod, node in stored.placed:
        used[node] += milli(pod)
    for name in {*state.nodes, *used}:
        if (counted := state.node_resources.used(name).get("cpu", 0)) != used[name]:
            yield f"{used[name]} thousandths of a processor are in use on {name}, not {counted}"


def _node_rules(state: ClusterState, stored: Stored) -> Iterator[str]:
    """Yield the nodes of which a pod's node affinity says something else."""
    columns = {column.rule: column for column in state.node_rules}
    for key, pod in state.pods.items():
        if pod.node_selection is None:
            continue
        judged: list[Judged] = []
        for rule in pod.node_selection.required_rules:
            if rule in columns:
                judged.append(columns[rule])
            elif rule.names is not None:
                judged.append(state.node_rules.judge(rule))
        if len(judged) < len([*pod.node_selection.required_rules]):
            continue
        for name, labels in stored.nodes.items():
            wanted = may_be_on(stored.pods[key], name, labels)
            if all(each.of(name) for each in judged) is not wanted:
                yield f"{key} may {'' if wanted else 'not '}be on {name}"
