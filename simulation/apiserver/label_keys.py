"""Label keys of pod affinity, merged into the selectors when a pod is created.

As the API server does (applyMatchLabelKeysAndMismatchLabelKeys), a requirement is added for each
key that the pod has a label for, whatever the selector has; null, it selects nothing anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

_REQUIRED: Final = "requiredDuringScheduling"
_MERGED: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


class LabelKeys:
    """Merges them; pods that are made alike come to share their rules, as they did before."""

    def __init__(self) -> None:
        self._merged: dict[tuple[int, tuple[tuple[str, str], ...]], tuple[Json, Json]] = {}
        """Rules before and after, by the identity of the first, and by the labels of the pod."""

    def merge(self, pod: Json) -> Json:
        """Return a pod as it is stored."""
        affinity = pod["spec"].get("affinity")
        if not affinity:
            return pod
        labels = pod["metadata"].get("labels") or {}
        name = id(affinity), tuple(sorted(labels.items()))
        if name not in self._merged:
            self._merged[name] = affinity, merged_affinity(affinity, labels)
        _, merged = self._merged[name]
        return pod if merged is affinity else {**pod, "spec": {**pod["spec"], "affinity": merged}}


def merged_affinity(affinity: Json, labels: Mapping[str, str]) -> Json:
    """Return the rules of a pod with label keys in the selectors; the same where there are none."""
    changed = {
        side: rules
        for side in ("podAffinity", "podAntiAffinity")
        if (rules := _merged_rules(affinity.get(side) or {}, labels)) != (affinity.get(side) or {})
    }
    return {**affinity, **changed} if changed else affinity


def _merged_rules(rules: Json, labels: Mapping[str, str]) -> Json:
    return {
        strength: [
            _merged_term(each, labels)
            if strength.startswith(_REQUIRED)
            else {**each, "podAffinityTerm": _merged_term(each["podAffinityTerm"], labels)}
            for each in terms or ()
        ]
        for strength, terms in rules.items()
    }


def _merged_term(term: Json, labels: Mapping[str, str]) -> Json:
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for listed, operator in _MERGED
        for key in term.get(listed) or ()
        if key in labels
    ]
    if selector is None or not added:
        return term
    written = selector.get("matchExpressions") or ()
    return {**term, "labelSelector": {**selector, "matchExpressions": [*written, *added]}}
