"""Node affinity judged the slow and obvious way, on Kubernetes JSON as an API server stores it.

It shares no code with the extender, so that agreement between the two means something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.oracle import (
    ENFORCED_NODE_AFFINITY,
    NODE_AFFINITY,
    PREFERRED,
    REQUIRED,
    UNKNOWN_NODE,
    Cluster,
    Json,
    Refusal,
    field,
)


def node_refusals(
    cluster: Cluster, pod: Json, names: Iterable[str], added: Json | None = None
) -> dict[str, Refusal]:
    """Say which of the named nodes the pod does not ask for, or nobody is allowed to."""
    verdicts = {name: _refusal(cluster, pod, name, added or {}) for name in names}
    return {name: refusal for name, refusal in verdicts.items() if refusal is not None}


def raw_node_scores(
    cluster: Cluster, pod: Json, names: Iterable[str], added: Json | None = None
) -> dict[str, int]:
    """Sum the weights of the preferred terms that match each named node."""
    terms = [*field(added or {}, PREFERRED, ()), *field(_node_affinity(pod), PREFERRED, ())]
    return {
        name: sum(
            term["weight"]
            for term in terms
            if _term_matches(term["preference"], name, cluster.node_labels(name) or {})
        )
        for name in names
    }


def shares(raw: Mapping[str, int]) -> dict[str, int]:
    """Scale sums to 0..100 by the largest, truncated."""
    largest = max(raw.values(), default=0)
    return {name: 100 * score // largest if largest else 0 for name, score in raw.items()}


def _refusal(cluster: Cluster, pod: Json, name: str, added: Json) -> Refusal | None:
    found = cluster.node_labels(name)
    if found is None:
        return UNKNOWN_NODE
    if not _any_matches(added.get(REQUIRED), name, found):
        return ENFORCED_NODE_AFFINITY
    wanted: Mapping[str, str] = field(pod["spec"], "nodeSelector", {})
    if any(found.get(key) != value for key, value in wanted.items()):
        return NODE_AFFINITY
    required = _node_affinity(pod).get(REQUIRED)
    return None if _any_matches(required, name, found) else NODE_AFFINITY


def _node_affinity(pod: Json) -> Json:
    rules: Json = field(field(pod["spec"], "affinity", {}), "nodeAffinity", {})
    return rules


def _any_matches(selector: Json | None, name: str, found: Mapping[str, str]) -> bool:
    if selector is None:
        return True
    return any(
        _term_matches(term, name, found) for term in field(selector, "nodeSelectorTerms", ())
    )


def _term_matches(term: Json, name: str, found: Mapping[str, str]) -> bool:
    expressions = field(term, "matchExpressions", ())
    fields = field(term, "matchFields", ())
    if not expressions and not fields:
        return False
    return all(_matches(each, found) for each in expressions) and all(
        _matches(each, {"metadata.name": name}) for each in fields
    )


def _matches(requirement: Json, found: Mapping[str, str]) -> bool:
    value, values = found.get(requirement["key"]), field(requirement, "values", ())
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])
        case operator:
            raise ValueError(f"no such operator: {operator}")
