"""Which rules a question reaches: those without which its answer would be another.

Each rule is a change to the question that takes the rule's cause away, or turns it round. Where the
naive evaluator then answers differently, a plugin that breaks the rule would have been caught.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests import oracle
from tests.conformance.terms import PREFERRED, REQUIRED, SIDES, terms_of, with_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ENOUGH = 5
"""Questions after which a rule counts as reached; it is not looked at any more then."""

_GHOST = "ghost"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in the evaluator's terms."""

    cluster: oracle.Cluster
    pod: Mapping[str, Any]
    names: tuple[str, ...]
    args: oracle.Args

    def answer(self) -> tuple[dict[str, Any], dict[str, int], dict[str, int]]:
        """Return refusals, scores of all nodes, and scores of those that fit."""
        refused = oracle.refusals(self.cluster, self.pod, self.names, self.args)
        raw = oracle.raw_scores(self.cluster, self.pod, self.names, self.args)
        fits = {name: score for name, score in raw.items() if name not in refused}
        return refused, oracle.normalised(raw), oracle.normalised(fits)

    def with_pods(self, change: Callable[[dict[str, Any]], Any]) -> Asked:
        """Change the existing pods; a pod for which None is returned is taken away."""
        changed = [change(copy.deepcopy(dict(pod))) for pod in self.cluster.pods]
        kept = [pod for pod in changed if pod is not None]
        return replace(self, cluster=replace(self.cluster, pods=kept))

    def with_all_terms(self, change: Callable[[dict[str, Any]], None]) -> Asked:
        """Change each term, those of the incoming pod and those of the existing ones."""
        pods = [with_terms(pod, change) for pod in self.cluster.pods]
        cluster = replace(self.cluster, pods=pods)
        return replace(self, cluster=cluster, pod=with_terms(self.pod, change))

    def with_node_labels(self, change: Callable[[dict[str, str]], None]) -> Asked:
        """Change the labels of each node."""
        nodes = copy.deepcopy(list(self.cluster.nodes))
        for node in nodes:
            change(node["metadata"]["labels"])
        return replace(self, cluster=replace(self.cluster, nodes=nodes))


class Reached:
    """Counts, for each rule, the questions that reach it, up to ENOUGH."""

    def __init__(self) -> None:
        self.questions = 0
        self._counts: Counter[str] = Counter(dict.fromkeys(RULES, 0))
        self._last = ""

    def add(self, case: Mapping[str, Any]) -> None:
        """Look at every question of a case."""
        cluster, args = oracle.Cluster.from_json(case["cluster"]), case["args"]
        for question in case["questions"]:
            self.questions += 1
            asked = Asked(
                cluster, question["pod"], tuple(question["names"]), oracle.Args.from_json(args)
            )
            missing = [rule for rule, count in self._counts.items() if count < ENOUGH]
            before = asked.answer() if missing else None
            for rule in missing:
                if RULES[rule](asked).answer() != before:
                    self._counts[rule] += 1
                    self._last = f"{rule} (question {self.questions})"

    @property
    def unreached(self) -> list[str]:
        """The rules that no question has reached."""
        return [rule for rule, count in self._counts.items() if not count]

    def __str__(self) -> str:
        often = sum(count == ENOUGH for count in self._counts.values())
        return (
            f"{self.questions} questions; {often} of {len(self._counts)} rules decided {ENOUGH} or "
            f"more of them, the last to do so: {self._last}"
        )


# Which pods count


def _finished_run_on(asked: Asked) -> Asked:
    return asked.with_pods(lambda pod: pod | {"status": {"phase": "Running"}})


def _vanishing_are_gone(asked: Asked) -> Asked:
    return asked.with_pods(lambda pod: None if "deletionTimestamp" in pod["metadata"] else pod)


def _waiting_are_bound(asked: Asked) -> Asked:
    some = asked.cluster.nodes[0]["metadata"]["name"]
    return asked.with_pods(lambda pod: pod | {"spec": {"nodeName": some} | pod["spec"]})


def _unknown_nodes_are_known(asked: Asked) -> Asked:
    known = {oracle.name_of(node) for node in asked.cluster.nodes}
    some = min(known)

    def move(pod: dict[str, Any]) -> dict[str, Any]:
        if pod["spec"].get("nodeName", some) not in known:
            pod["spec"]["nodeName"] = some
        return pod

    return asked.with_pods(move)


def _only_asked_nodes_count(asked: Asked) -> Asked:
    return asked.with_pods(lambda p: p if p["spec"].get("nodeName") in asked.names else None)


# A term matches a pod


def _terms_where(
    applies: Callable[[dict[str, Any]], bool], **changes: Any
) -> Callable[[Asked], Asked]:
    """Set fields of the terms that are meant; None removes a field."""

    def change(term: dict[str, Any]) -> None:
        if applies(term):
            term.update(copy.deepcopy(changes))
            for field in [field for field, value in term.items() if value is None]:
                del term[field]

    return lambda asked: asked.with_all_terms(change)


def _requirements(operator: str, into: list[dict[str, Any]]) -> Callable[[Asked], Asked]:
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


def _match_labels_dropped(asked: Asked) -> Asked:
    def change(term: dict[str, Any]) -> None:
        (term.get("labelSelector") or {}).pop("matchLabels", None)

    return asked.with_all_terms(change)


def _says_nothing(selector: Any) -> bool:
    return selector is not None and not any(selector.values())


def _purely_negative(selector: Any) -> bool:
    return bool(selector) and any(selector.values()) and oracle.selector_matches(selector, {})


def _unknown_namespaces_have_labels(asked: Asked) -> Asked:
    known = {oracle.name_of(namespace) for namespace in asked.cluster.namespaces}
    named = {oracle.namespace_of(pod) for pod in (*asked.cluster.pods, asked.pod)}
    found = [
        {"metadata": {"name": name, "labels": {"team": "red", "env": "prod"}}}
        for name in sorted(named - known)
    ]
    namespaces = [*asked.cluster.namespaces, *found]
    return replace(asked, cluster=replace(asked.cluster, namespaces=namespaces))


def _merged_keys_follow_labels(asked: Asked) -> Asked:
    """Take what was merged out again, so that it is merged from the labels of today."""

    def follow(pod: dict[str, Any]) -> dict[str, Any]:
        for term in terms_of(pod):
            keys = {*term.get("matchLabelKeys", ()), *term.get("mismatchLabelKeys", ())}
            selector = term.get("labelSelector") or {}
            kept = [e for e in selector.get("matchExpressions", ()) if e["key"] not in keys]
            if keys and selector:
                selector["matchExpressions"] = kept
        return pod

    return asked.with_pods(follow)


# Filter and score


def _own_rules_dropped(side: str, strength: str) -> Callable[[Asked], Asked]:
    return lambda asked: replace(asked, pod=_without_rules(asked.pod, side, strength))


def _existing_rules_dropped(side: str, strength: str) -> Callable[[Asked], Asked]:
    return lambda asked: asked.with_pods(lambda pod: _without_rules(pod, side, strength))


def _without_rules(pod: Mapping[str, Any], side: str, strength: str) -> dict[str, Any]:
    changed = copy.deepcopy(dict(pod))
    changed["spec"].get("affinity", {}).get(side, {}).pop(strength, None)
    return changed


def _one_affinity_term(asked: Asked) -> Asked:
    """Keep only the first required affinity term."""
    pod = copy.deepcopy(dict(asked.pod))
    rules = pod["spec"].get("affinity", {}).get("podAffinity", {})
    rules[REQUIRED] = rules.get(REQUIRED, ())[:1]
    return replace(asked, pod=pod)


def _group_has_begun(asked: Asked) -> Asked:
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


def _no_key_is_a_domain(asked: Asked) -> Asked:
    """Give nodes without a topology key one value that they share."""
    keys = {key for pod in (*asked.cluster.pods, asked.pod) for key in _keys(pod)}
    return asked.with_node_labels(
        lambda labels: labels.update({key: "" for key in keys if key not in labels})
    )


def _domains_are_values(asked: Asked) -> Asked:
    """Let a value be one domain whatever its key."""

    def confuse(labels: dict[str, str]) -> None:
        for key in ("rack", "topology.kubernetes.io/zone"):
            labels[key] = labels.get("rack", labels.get(key, "none"))

    return asked.with_node_labels(confuse)


def _keys(pod: Mapping[str, Any]) -> Iterator[str]:
    return (term["topologyKey"] for term in terms_of(pod))


def _equal_weights(asked: Asked) -> Asked:
    def level(pod: Mapping[str, Any]) -> dict[str, Any]:
        changed = copy.deepcopy(dict(pod))
        for side in SIDES:
            rules = changed["spec"].get("affinity", {}).get(side, {})
            for weighted in rules.get(PREFERRED, ()):
                weighted["weight"] = 1
        return changed

    return replace(asked.with_pods(level), pod=level(asked.pod))


def _arguments(**changes: Any) -> Callable[[Asked], Asked]:
    return lambda asked: replace(asked, args=replace(asked.args, **changes))


def _has(field: str) -> Callable[[dict[str, Any]], bool]:
    return lambda term: field in term


def _namespaces(test: Callable[[Any], bool]) -> Callable[[dict[str, Any]], bool]:
    return lambda term: test(term.get("namespaceSelector"))


_EXISTS = {"operator": "Exists"}
_OWN = {"namespaceSelector": None}

RULES: Mapping[str, Callable[[Asked], Asked]] = {
    "a finished pod does not count": _finished_run_on,
    "a pod being deleted counts": _vanishing_are_gone,
    "a pod without a node does not count": _waiting_are_bound,
    "a pod on an unknown node does not count": _unknown_nodes_are_known,
    "pods count wherever they are, asked about or not": _only_asked_nodes_count,
    "no labelSelector matches nothing": _terms_where(
        lambda term: "labelSelector" not in term, labelSelector={}
    ),
    "an empty labelSelector matches everything": _terms_where(
        lambda term: _says_nothing(term.get("labelSelector")), labelSelector=None
    ),
    "matchLabels": _match_labels_dropped,
    "In": _requirements("In", []),
    "NotIn": _requirements("NotIn", []),
    "NotIn matches a missing key": _requirements(
        "NotIn", [{"operator": "NotIn", "values": ["other"]}, _EXISTS]
    ),
    "Exists": _requirements("Exists", [{"operator": "DoesNotExist"}]),
    "DoesNotExist": _requirements("DoesNotExist", []),
    "matchLabelKeys": _terms_where(_has("matchLabelKeys"), matchLabelKeys=None),
    "mismatchLabelKeys": _terms_where(_has("mismatchLabelKeys"), mismatchLabelKeys=None),
    "label keys keep the values of the time of creation": _merged_keys_follow_labels,
    "namespaces": _terms_where(_has("namespaces"), namespaces=None),
    "no namespaces and no selector mean the owner's": _terms_where(
        lambda term: not term.get("namespaces") and "namespaceSelector" not in term,
        namespaceSelector={},
    ),
    "an empty namespaceSelector means all": _terms_where(_namespaces(_says_nothing), **_OWN),
    "a namespaceSelector": _terms_where(_namespaces(bool), **_OWN),
    "a purely negative namespaceSelector": _terms_where(_namespaces(_purely_negative), **_OWN),
    "namespaces and a selector add up": _terms_where(
        lambda term: bool(term.get("namespaces")) and "namespaceSelector" in term, namespaces=None
    ),
    "an unknown namespace has no labels": _unknown_namespaces_have_labels,
    "own required affinity": _own_rules_dropped("podAffinity", REQUIRED),
    "own required anti-affinity": _own_rules_dropped("podAntiAffinity", REQUIRED),
    "existing pods' required anti-affinity": _existing_rules_dropped("podAntiAffinity", REQUIRED),
    "each of several required affinity terms": _one_affinity_term,
    "the first pod of a group may start it": _group_has_begun,
    "a node without the key is in no domain": _no_key_is_a_domain,
    "a domain is a key with a value": _domains_are_values,
    "own preferred affinity": _own_rules_dropped("podAffinity", PREFERRED),
    "own preferred anti-affinity": _own_rules_dropped("podAntiAffinity", PREFERRED),
    "existing pods' preferred affinity": _existing_rules_dropped("podAffinity", PREFERRED),
    "existing pods' preferred anti-affinity": _existing_rules_dropped("podAntiAffinity", PREFERRED),
    "existing pods' required affinity attracts": _existing_rules_dropped("podAffinity", REQUIRED),
    "weights": _equal_weights,
    "hardPodAffinityWeight": _arguments(hard_pod_affinity_weight=1),
    "hardPodAffinityWeight 0": _arguments(hard_pod_affinity_weight=0),
    "ignorePreferredTermsOfExistingPods": _arguments(ignore_preferred_terms_of_existing_pods=False),
}
"""What semantics and the scheduler's documentation promise, and the change that would break it."""
