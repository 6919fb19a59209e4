"""What a scheduler's plugin does not look at, having skipped the whole cycle of a pod.

InterPodAffinity does so when the pod has no required rules, and no placed pod's required
anti-affinity is about it. Then the rules of nominated pods are not looked at either, and such a pod
may take the place for which others were evicted. The extender looks at them all the same.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SKIPPED = "nominatedIgnored"
"""The field of an answer that says so."""


def without_rules_of_nominated(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case as a plugin sees it that has skipped the cycle."""
    changed = copy.deepcopy(dict(case))
    for pod in changed["cluster"]["pods"]:
        if "nominatedNodeName" in pod.get("status", {}) and not pod["spec"].get("nodeName"):
            pod["spec"].pop("affinity", None)
    return changed
