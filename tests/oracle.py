"""Inter-pod affinity judged the slow and obvious way, on Kubernetes JSON as it comes.

Nothing is counted ahead, indexed or remembered: every answer walks over every pod for every node.
It shares no code with the extender, so that agreement between the two means something.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node was refused: the scheduler's status code and its text."""

    code: str
    reason: str


AFFINITY = Refusal("UnschedulableAndUnresolvable", "node(s) didn't match pod affinity rules")
ANTI_AFFINITY = Refusal("Unschedulable", "node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY = Refusal(
    "Unschedulable", "node(s) didn't satisfy existing pods anti-affinity rules"
)
LIMIT = Refusal(
    "Unschedulable", "node(s) had as many matching pods as the pod's maxMatchingPods allows"
)
EXISTING_LIMIT = Refusal(
    "Unschedulable", "node(s) had as many matching pods as existing pods' maxMatchingPods allows"
)
NODE_AFFINITY = Refusal(
    "UnschedulableAndUnresolvable", "node(s) didn't match Pod's node affinity/selector"
)
ENFORCED_NODE_AFFINITY = Refusal(
    "UnschedulableAndUnresolvable", "node(s) didn't match scheduler-enforced node affinity"
)
UNKNOWN_NODE = Refusal("UnschedulableAndUnresolvable", "node(s) unknown to the extender")


@dataclass(frozen=True, slots=True)
class Args:
    """The plugin's arguments, and gates for fields of a term, with in-tree's defaults."""

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False
    match_label_keys: bool = True
    namespace_selector: bool = True

    @classmethod
    def from_json(cls, raw: Json) -> Args:
        """Read the arguments as a scheduler configuration spells them."""
        return cls(
            hard_pod_affinity_weight=raw.get("hardPodAffinityWeight", 1),
            ignore_preferred_terms_of_existing_pods=raw.get(
                "ignorePreferredTermsOfExistingPods", False
            ),
        )


IN_TREE_DEFAULTS = Args()


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes, namespaces and pods, each a list of API objects."""

    nodes: Sequence[Json]
    namespaces: Sequence[Json]
    pods: Sequence[Json]

    @classmethod
    def from_json(cls, raw: Json) -> Cluster:
        """Read a cluster from an object with the three lists."""
        return cls(raw["nodes"], raw["namespaces"], raw["pods"])

    def node_labels(self, name: str) -> Mapping[str, str] | None:
        """Return a node's labels, or None when there is no such node."""
        return next((labels(node) for node in self.nodes if name_of(node) == name), None)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; one that we do not know has none."""
        return next((labels(ns) for ns in self.namespaces if name_of(ns) == name), {})


def refusals(
    cluster: Cluster, pod: Json, names: Iterable[str], args: Args = IN_TREE_DEFAULTS
) -> dict[str, Refusal]:
    """Say which of the named nodes the pod may not go to, and why; an absent node fits."""
    others = _existing(cluster, pod, args)
    own = _Rules(cluster, pod, args)
    verdicts = {}
    for name in names:
        beside = _nominated(cluster, pod, args, name)
        # Two passes, as in RunFilterPluginsWithNominatedPods: with them there, and without.
        first = _refusal(cluster, own, [*others, *beside], name) if beside else None
        verdicts[name] = first or _refusal(cluster, own, others, name)
    return {name: refusal for name, refusal in verdicts.items() if refusal is not None}


def raw_scores(
    cluster: Cluster, pod: Json, names: Iterable[str], args: Args = IN_TREE_DEFAULTS
) -> dict[str, int]:
    """Sum the weights that speak for and against each named node."""
    own = _Rules(cluster, pod, args)
    if args.ignore_preferred_terms_of_existing_pods and not own.preferred:
        return dict.fromkeys(names, 0)
    others = _existing(cluster, pod, args)
    pulls = [pull for other in others for pull in _pulls(own, other, args)]
    asked = {name: cluster.node_labels(name) for name in names}
    return {
        name: sum(pull.weight for pull in pulls if _has(node_labels, pull.domain))
        for name, node_labels in asked.items()
    }


def normalised(raw: Mapping[str, int]) -> dict[str, int]:
    """Stretch sums over 0..100 in double precision, step by step as in-tree; a flat answer is 0."""
    if not raw:
        return {}
    low, high = min(raw.values()), max(raw.values())
    if low == high:
        return dict.fromkeys(raw, 0)
    return {
        name: int(100.0 * (float(score - low) / float(high - low))) for name, score in raw.items()
    }


# What follows reads the API objects.


def name_of(obj: Json) -> str:
    name: str = obj["metadata"]["name"]
    return name


def namespace_of(pod: Json) -> str:
    """Return the namespace of a pod; the API's default when it names none."""
    namespace: str = field(pod["metadata"], "namespace", "default")
    return namespace


def labels(obj: Json) -> Mapping[str, str]:
    found: Mapping[str, str] = field(obj["metadata"], "labels", {})
    return found


def field(raw: Json, name: str, default: Any) -> Any:
    """Return a field; null, as JSON has it, is the same as absent."""
    value = raw.get(name)
    return default if value is None else value


def identity(pod: Json) -> str:
    """Return what tells this pod from one that had its name before."""
    uid: str = field(pod["metadata"], "uid", key_of(pod))
    return uid


def key_of(pod: Json) -> str:
    return f"{namespace_of(pod)}/{name_of(pod)}"


def is_counted(cluster: Cluster, pod: Json) -> bool:
    """Return whether a pod takes part: bound to a node that exists, and not finished."""
    node = pod["spec"].get("nodeName")
    return bool(node) and cluster.node_labels(node) is not None and not is_finished(pod)


def priority(pod: Json) -> int:
    """Return a pod's priority; 0 when it has none."""
    found: int = field(pod["spec"], "priority", 0)
    return found


def is_nominated(pod: Json, node: str) -> bool:
    """Tell whether a pod waits for a place on a node that was chosen for it."""
    waits = not pod["spec"].get("nodeName") and not is_finished(pod)
    return waits and field(pod, "status", {}).get("nominatedNodeName") == node


def is_finished(pod: Json) -> bool:
    """Return whether a pod has ended, for good."""
    return field(pod, "status", {}).get("phase") in ("Succeeded", "Failed")


def selector_matches(selector: Json | None, found: Mapping[str, str]) -> bool:
    """Match a LabelSelector: null selects nothing, an empty one everything."""
    if selector is None:
        return False
    pairs: Mapping[str, str] = field(selector, "matchLabels", {})
    expressions: Sequence[Json] = field(selector, "matchExpressions", ())
    return all(found.get(key) == value for key, value in pairs.items()) and all(
        _requirement_matches(requirement, found) for requirement in expressions
    )


def _requirement_matches(requirement: Json, found: Mapping[str, str]) -> bool:
    key, values = requirement["key"], field(requirement, "values", ())
    match requirement["operator"]:
        case "In":
            return key in found and found[key] in values
        case "NotIn":
            return key not in found or found[key] not in values
        case "Exists":
            return key in found
        case "DoesNotExist":
            return key not in found
        case operator:
            raise ValueError(f"no such operator: {operator}")


def _are_told_apart(cluster: Cluster, one: Json, other: Json) -> bool:
    """Return whether two pods are replicas of different revisions, between which rules rest."""
    space = next((ns for ns in cluster.namespaces if name_of(ns) == namespace_of(one)), None)
    makers, hashes = zip(*map(_made_by, (one, other)), strict=True)
    alike = namespace_of(one) == namespace_of(other) and makers[0] == makers[1] is not None
    return (
        alike
        and None not in hashes
        and hashes[0] != hashes[1]
        and space is not None
        and any(map(_asks_for_own_revisions, (one, other, space)))
    )


def _made_by(pod: Json) -> tuple[tuple[str, str] | None, str | None]:
    """Return kind and name of what a pod is a replica of, and its revision."""
    revision = labels(pod).get("pod-template-hash")
    for each in field(pod["metadata"], "ownerReferences", ()):
        if each.get("controller"):
            return (each["kind"], each["name"].removesuffix(f"-{revision}")), revision
    return None, revision


def _asks_for_own_revisions(obj: Json) -> bool:
    found: Mapping[str, str] = field(obj["metadata"], "annotations", {})
    return found.get("affinity-extender.io/revisions") == "Own"


# What follows is the rules.


@dataclass(frozen=True, slots=True)
class Term:
    """One affinity term together with the pod that carries it."""

    cluster: Cluster
    owner: Json
    raw: Json
    args: Args
    apart: bool = False
    """Required anti-affinity, with a limit or without."""

    @property
    def key(self) -> str:
        key: str = self.raw["topologyKey"]
        return key

    @property
    def most(self) -> int | None:
        """How many pods that match may be in a domain with an owner; None: no other."""
        most: int | None = self.raw.get("maxMatchingPods")
        return most

    def matches(self, pod: Json) -> bool:
        """Return whether a pod is one that this term speaks of."""
        other_revision = self.apart and _are_told_apart(self.cluster, self.owner, pod)
        return self._is_about(pod) and not (other_revision and self._is_about(self.owner))

    def _is_about(self, pod: Json) -> bool:
        return self._covers_namespace(namespace_of(pod)) and selector_matches(
            self._selector(), labels(pod)
        )

    def _covers_namespace(self, namespace: str) -> bool:
        listed: Sequence[str] = field(self.raw, "namespaces", ())
        selector = self.raw.get("namespaceSelector") if self.args.namespace_selector else None
        if not listed and selector is None:
            return namespace == namespace_of(self.owner)
        return namespace in listed or selector_matches(
            selector, self.cluster.namespace_labels(namespace)
        )

    def _selector(self) -> Json | None:
        if not self.args.match_label_keys:
            return self.raw.get("labelSelector")
        return self.merged_selector()

    def merged_selector(self) -> Json | None:
        """Return the selector with the owner's values for the label keys that are listed.

        The API server refuses a key of matchLabelKeys that is selected as well: it is merged. It
        has merged all keys of a pod that has a version.
        """
        selector = self.raw.get("labelSelector")
        if selector is None or self.owner["metadata"].get("resourceVersion"):
            return selector
        written: Sequence[Json] = field(selector, "matchExpressions", ())
        there = {each["key"] for each in written if each["operator"] == "In"}
        there |= {*field(selector, "matchLabels", {})}
        added = [
            {"key": key, "operator": operator, "values": [labels(self.owner)[key]]}
            for listed, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in field(self.raw, listed, ())
            if key in labels(self.owner) and not (operator == "In" and key in there)
        ]
        return {**selector, "matchExpressions": [*written, *added]}


class _Rules:
    """A pod's four lists of terms; preferred ones with their signed weight."""

    def __init__(self, cluster: Cluster, pod: Json, args: Args) -> None:
        affinity = field(pod["spec"], "affinity", {})
        towards = field(affinity, "podAffinity", {})
        away = field(affinity, "podAntiAffinity", {})

        def term(raw: Json, *, apart: bool = False) -> Term:
            return Term(cluster, pod, raw, args, apart)

        self.pod = pod
        self.affinity = [term(raw) for raw in field(towards, REQUIRED, ())]
        repelling = [term(raw, apart=True) for raw in field(away, REQUIRED, ())]
        self.anti_affinity = [each for each in repelling if each.most is None]
        self.limits = [each for each in repelling if each.most is not None]
        self.preferred = [
            (sign * item["weight"], term(item["podAffinityTerm"]))
            for sign, side in ((1, towards), (-1, away))
            for item in field(side, PREFERRED, ())
        ]


@dataclass(frozen=True, slots=True)
class _Existing:
    """A pod that counts, with its rules and the labels of its node."""

    rules: _Rules
    node_labels: Mapping[str, str]

    def domain(self, key: str) -> tuple[str, str] | None:
        """Return the topology domain the pod is in, None when its node has no such label."""
        return (key, self.node_labels[key]) if key in self.node_labels else None


@dataclass(frozen=True, slots=True)
class _Pull:
    """A weight that goes to every node of a domain."""

    domain: tuple[str, str] | None
    weight: int


def _existing(cluster: Cluster, pod: Json, args: Args) -> list[_Existing]:
    return [
        _Existing(
            _Rules(cluster, other, args), cluster.node_labels(other["spec"]["nodeName"]) or {}
        )
        for other in cluster.pods
        if is_counted(cluster, other) and identity(other) != identity(pod)
    ]


def _nominated(cluster: Cluster, pod: Json, args: Args, node: str) -> list[_Existing]:
    """Return the pods that hold a place on a node against this one, as if they were there."""
    return [
        _Existing(_Rules(cluster, other, args), cluster.node_labels(node) or {})
        for other in cluster.pods
        if is_nominated(other, node)
        and priority(other) >= priority(pod)
        and identity(other) != identity(pod)
    ]


def _has(node_labels: Mapping[str, str] | None, domain: tuple[str, str] | None) -> bool:
    if domain is None or node_labels is None:
        return False
    key, value = domain
    return node_labels.get(key) == value


def _refusal(  # noqa: PLR0911 - one return for each reason, in the plugins' order
    cluster: Cluster, own: _Rules, others: Sequence[_Existing], name: str
) -> Refusal | None:
    node_labels = cluster.node_labels(name)
    if node_labels is None:
        return UNKNOWN_NODE
    if not _affinity_holds(own, others, node_labels):
        return AFFINITY
    if _own_rules_repel(own, others, node_labels):
        return ANTI_AFFINITY
    if _existing_rules_repel(own, others, node_labels):
        return EXISTING_ANTI_AFFINITY
    if any(
        term.key in node_labels and _exceeds(term, own, others, (term.key, node_labels[term.key]))
        for term in own.limits
    ):
        return LIMIT
    if any(
        _has(node_labels, other.domain(term.key))
        and term.matches(own.pod)
        and _exceeds(term, own, others, (term.key, node_labels[term.key]))
        for other in others
        for term in other.rules.limits
    ):
        return EXISTING_LIMIT
    return None


def _exceeds(term: Term, own: _Rules, others: Sequence[_Existing], domain: tuple[str, str]) -> bool:
    """Return whether more pods would match in a domain than a term allows, with ours there."""
    there = [other for other in others if other.domain(term.key) == domain]
    matched = sum(term.matches(other.rules.pod) for other in there)
    return matched + term.matches(own.pod) > (term.most or 0)


def _affinity_holds(
    own: _Rules, others: Sequence[_Existing], node_labels: Mapping[str, str]
) -> bool:
    if any(term.key not in node_labels for term in own.affinity):
        return False
    company = [
        other for other in others if all(term.matches(other.rules.pod) for term in own.affinity)
    ]
    if all(
        any(_has(node_labels, other.domain(term.key)) for other in company) for term in own.affinity
    ):
        return True
    nobody_anywhere = not any(other.domain(term.key) for other in company for term in own.affinity)
    # The first pod of a group that wants to be together would otherwise never start.
    return nobody_anywhere and all(term.matches(own.pod) for term in own.affinity)


def _own_rules_repel(
    own: _Rules, others: Sequence[_Existing], node_labels: Mapping[str, str]
) -> bool:
    return any(
        _has(node_labels, other.domain(term.key)) and term.matches(other.rules.pod)
        for term in own.anti_affinity
        for other in others
    )


def _existing_rules_repel(
    own: _Rules, others: Sequence[_Existing], node_labels: Mapping[str, str]
) -> bool:
    return any(
        _has(node_labels, other.domain(term.key)) and term.matches(own.pod)
        for other in others
        for term in other.rules.anti_affinity
    )


def _pulls(own: _Rules, other: _Existing, args: Args) -> Iterable[_Pull]:
    for weight, term in own.preferred:
        if term.matches(other.rules.pod):
            yield _Pull(other.domain(term.key), weight)
    for term in other.rules.affinity:
        if term.matches(own.pod):
            yield _Pull(other.domain(term.key), args.hard_pod_affinity_weight)
    for weight, term in other.rules.preferred:
        if term.matches(own.pod):
            yield _Pull(other.domain(term.key), weight)


def merged(pod: Json) -> dict[str, Any]:
    """Return the pod as the API server stores it on create: label keys within the selectors."""
    stored: dict[str, Any] = copy.deepcopy(dict(pod))
    affinity = field(stored["spec"], "affinity", {})
    for side in ("podAffinity", "podAntiAffinity"):
        rules = field(affinity, side, {})
        required = field(rules, REQUIRED, ())
        preferred = [item["podAffinityTerm"] for item in field(rules, PREFERRED, ())]
        for raw in (*required, *preferred):
            selector = Term(Cluster((), (), ()), pod, raw, IN_TREE_DEFAULTS).merged_selector()
            if selector is not None:
                raw["labelSelector"] = selector
            raw.pop("matchLabelKeys", None)
            raw.pop("mismatchLabelKeys", None)
    return stored
