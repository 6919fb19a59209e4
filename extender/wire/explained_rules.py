"""The rule behind a refusal, as JSON. It is repeated for each node, so a long one is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from extender.model.labels import Selector
from extender.model.node_affinity import Comparison, Condition, NodeRule, NodeTerm
from extender.model.pod_affinity import Term
from extender.verbs.explaining.explanation import Refusal
from extender.verbs.node_affinity import NodeAffinityRule
from extender.wire.affinity import write_requirement, write_term
from extender.wire.node_terms import METADATA_NAME

MOST_ENTRIES: Final = 500
"""Conditions, values and namespaces of a term that is written, some 10 KB. A pod may have 1.5 MiB
of them, and be refused by 5,000 nodes."""
MOST_BYTES: Final = 64 << 10
"""In memory, of node affinity that is written."""


def write_rule(refusal: Refusal) -> Mapping[str, Any] | None:
    """Write a v1.PodAffinityTerm, or a v1.NodeSelector with the pod's node selector in each term.

    Of a long one only `omitted`, which is true, and the topology key. None where there is no rule.
    """
    if isinstance(refusal.rule, NodeAffinityRule):
        rule = refusal.rule.rule
        return {"omitted": True} if rule.size > MOST_BYTES else write_node_rule(rule)
    term = refusal.term
    if term is None:
        return None
    if _entries(term) > MOST_ENTRIES:
        return {"topologyKey": term.topology_key, "omitted": True}
    return write_term(term)


def write_node_rule(rule: NodeRule) -> dict[str, Any]:
    """Write a required rule as a v1.NodeSelector; without terms, no node meets it."""
    return {"nodeSelectorTerms": [_term(term, rule.common) for term, _ in rule.terms]}


def _entries(term: Term) -> int:
    pods = term.pods
    selectors = (pods.selector, pods.namespace_selector or Selector())
    values = (1 + len(each.values) for selector in selectors for each in selector.requirements)
    return len(pods.namespaces) + sum(values)


def _term(term: NodeTerm, common: Sequence[Condition]) -> dict[str, Any]:
    conditions = [_condition(each) for each in (*common, *term.conditions)]
    names = list(_names(term))
    written = {"matchExpressions": conditions} if conditions else {}
    return written | ({"matchFields": names} if names else {})


def _condition(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Comparison):
        operator = "Gt" if condition.above else "Lt"
        return {"key": condition.key, "operator": operator, "values": [str(condition.bound)]}
    return write_requirement(condition)


def _names(term: NodeTerm) -> Iterator[dict[str, Any]]:
    if term.names is not None:
        yield {"key": METADATA_NAME, "operator": "In", "values": sorted(term.names)}
    for name in sorted(term.other_than):
        yield {"key": METADATA_NAME, "operator": "NotIn", "values": [name]}
