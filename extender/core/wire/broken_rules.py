"""Pods whose rules cannot be read, or are too many."""

from __future__ import annotations

from typing import TypedDict

from extender.core.errors import ObjectError
from extender.core.model.objects import Pod


class BrokenRules(TypedDict):
    """A pod whose rules cannot be read or are too many."""

    pod: str
    node: str | None
    field: str
    fault: str


def broken_rules(pod: Pod) -> ObjectError | None:
    """Return what is wrong with a pod's rules, None if nothing is."""
    return None if pod.spec.broken_rules is None else ObjectError(*pod.spec.broken_rules)


def write_broken_rules(pod: Pod) -> BrokenRules:
    """Write a pod whose rules cannot be read or are too many: what else it breaks is unknown."""
    field, fault = pod.spec.broken_rules or ("", "")
    return {"pod": pod.key, "node": pod.node, "field": field, "fault": fault}


def check_rules(pod: Pod) -> None:
    """Raise an ObjectError for a pod with broken rules, or with too many."""
    error = broken_rules(pod)
    if error is not None:
        raise error
