"""Terms as the API writes them, label keys merged."""

from __future__ import annotations

from typing import Any

from extender.model.labels import Requirement, Selector
from extender.model.pod_affinity import Term


def write_term(term: Term) -> dict[str, Any]:
    """Write a v1.PodAffinityTerm; namespaces are given even where the manifest gives none."""
    pods = term.pods
    written: dict[str, Any] = {
        "topologyKey": term.topology_key,
        "labelSelector": write_selector(pods.selector),
        "namespaces": sorted(pods.namespaces),
    }
    if pods.namespace_selector is not None:
        written["namespaceSelector"] = write_selector(pods.namespace_selector)
    return written


def write_selector(selector: Selector) -> dict[str, Any] | None:
    """Write a metav1.LabelSelector: None matches nothing, an empty one everything."""
    if selector.matches_nothing:
        return None
    if not selector.requirements:
        return {}
    return {"matchExpressions": [_requirement(each) for each in selector.requirements]}


def _requirement(requirement: Requirement) -> dict[str, Any]:
    written: dict[str, Any] = {"key": requirement.key, "operator": requirement.operator.value}
    return written | ({"values": sorted(requirement.values)} if requirement.values else {})
