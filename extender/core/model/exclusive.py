"""The annotation affinity-extender.io/exclusive, which a policy turns into two terms of a spec.

No extender reads it as a rule (manifests/components/exclusive); here is what to say about a pod
that has the annotation without the terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from extender.core.model.labels import EVERYTHING, Labels, Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector, Term

MOST_LETTERS: Final = 700
"""Of a value; a valid one has at most 638."""

_KEY: Final = r"(?:[-a-z0-9.]{1,253}/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_VALUE: Final = re.compile(rf"\s*({_KEY}) by ({_KEY})\s*")


def unwritten(text: str, labels: Labels, near: Iterable[Term], away: Iterable[Term]) -> str | None:
    """Say why the annotation does nothing, and what to write; None where its terms are there.

    `near` and `away` are the required terms of the spec of a pod with these labels.
    """
    found = _VALUE.fullmatch(text)
    if found is None:
        return "it is not '<label key> by <topology key>'"
    label, key = found.groups()
    own = labels.get(label)
    if own is None:
        return f"the pod has no label {label}"
    mine, others = _terms(label, key, own)
    if mine in near and others in away:
        return None
    return (
        "its terms are not in the spec. The policy of manifests/components/exclusive writes them "
        "into new pods; without it, write a required "
        f"podAffinity term with {label} In [{own}] and a required podAntiAffinity term with "
        f"{label} Exists and {label} NotIn [{own}], both over {key} with namespaceSelector: {{}}"
    )


def own_group(text: str, labels: Labels) -> Term | None:
    """Return the affinity term that the annotation stands for; None where it is malformed."""
    found = _VALUE.fullmatch(text)
    own = None if found is None else labels.get(found[1])
    return None if found is None or own is None else _terms(found[1], found[2], own)[0]


def _terms(label: str, key: str, own: str) -> tuple[Term, Term]:
    value = frozenset((own,))
    alike = Selector.of([Requirement(label, Operator.IN, value)])
    others = Selector.of(
        [
            Requirement(label, Operator.EXISTS, frozenset()),
            Requirement(label, Operator.NOT_IN, value),
        ]
    )
    return (
        Term(PodSelector(alike, frozenset(), EVERYTHING), key),
        Term(PodSelector(others, frozenset(), EVERYTHING), key),
    )
