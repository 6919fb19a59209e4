"""Selectors in words, for logs and explanations: as kubectl takes them."""

from __future__ import annotations

from extender.model.labels import Operator, Requirement, Selector
from extender.model.pod_affinity import PodSelector


def pods_of(pods: PodSelector) -> str:
    """Say which pods a term is about."""
    if pods.selector.matches_nothing:
        return "no pods, without a labelSelector"
    spaces = []
    if pods.namespaces:
        several = "s" * (len(pods.namespaces) > 1)
        spaces.append(f"namespace{several} {', '.join(sorted(pods.namespaces))}")
    if pods.namespace_selector is not None:
        spaces.append(f"namespaces with {labels_of(pods.namespace_selector)}")
    return f"pods with {labels_of(pods.selector)} in {' and '.join(spaces) or 'no namespace'}"


def labels_of(selector: Selector) -> str:
    """Say which labels a selector asks for."""
    if selector.matches_nothing:
        return "nothing"
    return ",".join(map(_requirement, selector.requirements)) or "any labels"


def _requirement(requirement: Requirement) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values))
    match requirement.operator:
        case Operator.IN:
            return f"{key} in ({values})"
        case Operator.NOT_IN:
            return f"{key} notin ({values})"
        case Operator.EXISTS:
            return key
        case Operator.DOES_NOT_EXIST:
            return f"!{key}"
