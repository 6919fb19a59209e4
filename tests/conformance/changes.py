"""Changes to a question that take the cause of a rule away, or turn it round."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from tests import oracle
from tests.conformance.asked import Asked
from tests.conformance.terms import PREFERRED, REQUIRED, SIDES, terms_of

Change: TypeAlias = Callable[[Asked], Asked]

_GHOST = "ghost"


# Which pods count


def finished_run_on(asked: Asked) -> Asked:
    return asked.with_pods(lambda pod: pod | {"status": {"phase": "Running"}})


def vanishing_are_gone(asked: Asked) -> Asked:
    return asked.with_pods(lambda pod: None if "deletionTimestamp" in pod["metadata"] else pod)


def waiting_are_bound(asked: Asked) -> Asked:
    some = asked.cluster.nodes[0]["metadata"]["name"]
    return asked.with_pods(lambda pod: pod | {"spec": {"nodeName": some} | pod["spec"]})


def unknown_nodes_are_known(asked: Asked) -> Asked:
    known = {oracle.name_of(node) for node in asked.cluster.nodes}
    some = min(known)

    def move(pod: dict[str, Any]) -> dict[str, Any]:
        if pod["spec"].get("nodeName", some) not in known:
            pod["spec"]["nodeName"] = some
        return pod

    return asked.with_pods(move)


def nobody_is_nominated(asked: Asked) -> Asked:
    return asked.with_pods(lambda pod: pod | {"status": _without_nomination(pod["status"])})


def _without_nomination(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name != "nominatedNodeName"}


def nominated_are_important(asked: Asked) -> Asked:
    return asked.with_pods(lambda pod: pod | {"spec": pod["spec"] | {"priority": 1000}})


def only_asked_nodes_count(asked: Asked) -> Asked:
    return asked.with_pods(lambda p: p if p["spec"].get("nodeName") in asked.names else None)


# A term matches a pod


def terms_where(applies: Callable[[dict[str, Any]], bool], **changes: Any) -> Change:
    """Set fields of the terms that are meant; None removes a field."""

    def change(term: dict[str, Any]) -> None:
        if applies(term):
            term.update(copy.deepcopy(changes))
            for field in [field for field, value in term.items() if value is None]:
                del term[field]

    return lambda asked: asked.with_all_terms(change)


def requirements(operator: str, into: list[dict[str, Any]]) -> Change:
    """Put these requirements, about the same key, in the place of each with an operator."""

    def change(term: dict[str, Any]) -> None:
        selector = term.get("labelSelector") or {}
        selector["matchExpressions"] = [
            {**instead, "key": each["key"]} if instead else each
            for each in selector.get("matchExpressions", ())
            for instead in (into if each["operator"] == operator else [{}])
        ]
        if "labelSelector" in term:
            term["labelSelector"] = selector

    return lambda asked: asked.with_all_terms(change)


def match_labels_dropped(asked: Asked) -> Asked:
    def change(term: dict[str, Any]) -> None:
        (term.get("labelSelector") or {}).pop("matchLabels", None)

    return asked.with_all_terms(change)


def says_nothing(selector: Any) -> bool:
    return selector is not None and not any(selector.values())


def purely_negative(selector: Any) -> bool:
    return bool(selector) and any(selector.values()) and oracle.selector_matches(selector, {})


def unknown_namespaces_have_labels(asked: Asked) -> Asked:
    known = {oracle.name_of(namespace) for namespace in asked.cluster.namespaces}
    named = {oracle.namespace_of(pod) for pod in (*asked.cluster.pods, asked.pod)}
    found = [
        {"metadata": {"name": name, "labels": {"team": "red", "env": "prod"}}}
        for name in sorted(named - known)
    ]
    namespaces = [*asked.cluster.namespaces, *found]
    return replace(asked, cluster=replace(asked.cluster, namespaces=namespaces))


def merged_keys_follow_labels(asked: Asked) -> Asked:
    """Take what was merged out again, so that it is merged from the labels of today."""

    def follow(pod: dict[str, Any]) -> dict[str, Any]:
        for term in terms_of(pod):
            keys = {*term.get("matchLabelKeys", ()), *term.get("mismatchLabelKeys", ())}
            selector = term.get("labelSelector") or {}
            kept = [e for e in selector.get("matchExpressions", ()) if e["key"] not in keys]
            if keys and selector:
                selector["matchExpressions"] = kept
                pod["metadata"].pop("resourceVersion", None)
        return pod

    return asked.with_pods(follow)


# Filter and score


def own_rules_dropped(side: str, strength: str) -> Change:
    return lambda asked: replace(asked, pod=_without_rules(asked.pod, side, strength))


def existing_rules_dropped(side: str, strength: str) -> Change:
    return lambda asked: asked.with_pods(lambda pod: _without_rules(pod, side, strength))


def _without_rules(pod: Mapping[str, Any], side: str, strength: str) -> dict[str, Any]:
    changed = copy.deepcopy(dict(pod))
    changed["spec"].get("affinity", {}).get(side, {}).pop(strength, None)
    return changed


def one_affinity_term(asked: Asked) -> Asked:
    """Keep only the first required affinity term."""
    pod = copy.deepcopy(dict(asked.pod))
    rules = pod["spec"].get("affinity", {}).get("podAffinity", {})
    rules[REQUIRED] = rules.get(REQUIRED, ())[:1]
    return replace(asked, pod=pod)


def group_has_begun(asked: Asked) -> Asked:
    """Put a pod like the incoming one on a node far from all others."""
    keys = {term["topologyKey"] for term in terms_of(asked.pod)}
    node = {"metadata": {"name": _GHOST, "labels": dict.fromkeys(keys, _GHOST)}}
    pod = copy.deepcopy(dict(asked.pod))
    pod["metadata"] |= {"name": _GHOST, "uid": _GHOST}
    pod["spec"] = {"nodeName": _GHOST}
    cluster = replace(
        asked.cluster, nodes=[*asked.cluster.nodes, node], pods=[*asked.cluster.pods, pod]
    )
    return replace(asked, cluster=cluster)


def no_key_is_a_domain(asked: Asked) -> Asked:
    """Give nodes without a topology key one value that they share."""
    keys = {key for pod in (*asked.cluster.pods, asked.pod) for key in _keys(pod)}
    return asked.with_node_labels(
        lambda labels: labels.update({key: "" for key in keys if key not in labels})
    )


def domains_are_values(asked: Asked) -> Asked:
    """Let a value be one domain whatever its key."""

    def confuse(labels: dict[str, str]) -> None:
        for key in ("rack", "topology.kubernetes.io/zone"):
            labels[key] = labels.get("rack", labels.get(key, "none"))

    return asked.with_node_labels(confuse)


def _keys(pod: Mapping[str, Any]) -> Iterator[str]:
    return (term["topologyKey"] for term in terms_of(pod))


def equal_weights(asked: Asked) -> Asked:
    def level(pod: Mapping[str, Any]) -> dict[str, Any]:
        changed = copy.deepcopy(dict(pod))
        for side in SIDES:
            rules = changed["spec"].get("affinity", {}).get(side, {})
            for weighted in rules.get(PREFERRED, ()):
                weighted["weight"] = 1
        return changed

    return replace(asked.with_pods(level), pod=level(asked.pod))


def arguments(**changes: Any) -> Change:
    return lambda asked: replace(asked, args=replace(asked.args, **changes))


def has(field: str) -> Callable[[dict[str, Any]], bool]:
    return lambda term: field in term


def namespaces(test: Callable[[Any], bool]) -> Callable[[dict[str, Any]], bool]:
    return lambda term: test(term.get("namespaceSelector"))
