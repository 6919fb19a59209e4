"""The annotation affinity-extender.io/affinity: a v1.Affinity decoded strictly, as users write it.

The fields are those of the API, and `requiredDuringSchedulingRequiredDuringExecution` besides. A
field that there is not, or of another type, is an error: what is misspelled would not count. So is
what the API server would refuse, were it in a pod's spec: as validateAffinity in
k8s.io/kubernetes/pkg/apis/core/validation/validation.go, which never sees an annotation. Each check
yields the paths of broken fields, from the Affinity on, with what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from extender.core.model.labels import Operator
from extender.core.wire import manifests, node_terms
from extender.core.wire.node_terms import METADATA_NAME, PREFERRED, REQUIRED, Fault, read_term
from extender.core.wire.validation import (
    is_dns_label,
    is_dns_subdomain,
    is_label_key,
    label_fault,
    values_fault,
)

AFFINITY_ANNOTATION: Final = "affinity-extender.io/affinity"


@dataclass(frozen=True, slots=True)
class AnnotationLimits:
    """Of the rules in an annotation."""

    size: int = 256 << 10
    """Bytes: the API server stores no more than this in all annotations of an object together."""
    entries: int = 4_096
    """Terms, conditions and values of node affinity."""
    conditions: int = 256
    """On labels of nodes, each compared with every node."""
    limits: int = 8
    """Terms with `maxMatchingPods`, for each of which pods are counted."""
    fault: int = 512
    """Characters of what is said about a broken one: it is kept, logged, and put into answers and
    events."""


OF_ANNOTATIONS: Final = AnnotationLimits()
MOST_PODS: Final = 1_000_000
"""Of a limit: more pods than any cluster holds."""
DURING_EXECUTION = "requiredDuringSchedulingRequiredDuringExecution"
_STRENGTHS = {
    "required": REQUIRED,
    "preferred": PREFERRED,
    "during_execution": DURING_EXECUTION,
}


class StrictRequirement(manifests.LabelSelectorRequirement, forbid_unknown_fields=True): ...


class StrictLabelSelector(manifests.LabelSelector, forbid_unknown_fields=True):
    matchExpressions: tuple[StrictRequirement, ...] | None = None


class StrictPodTerm(manifests.PodAffinityTerm, forbid_unknown_fields=True):
    """v1.PodAffinityTerm, and the limit that a term of podAntiAffinity may have."""

    labelSelector: StrictLabelSelector | None = None
    namespaceSelector: StrictLabelSelector | None = None
    maxMatchingPods: Annotated[int, msgspec.Meta(ge=0, le=MOST_PODS)] | str | None = None
    """No string is right: percentages are read so that what is said of them helps."""

    @property
    def most(self) -> int | None:
        return None if isinstance(self.maxMatchingPods, str) else self.maxMatchingPods


class StrictWeightedPodTerm(manifests.WeightedPodAffinityTerm, forbid_unknown_fields=True):
    podAffinityTerm: StrictPodTerm


class StrictPodAffinity(manifests.PodAffinity, forbid_unknown_fields=True, rename=_STRENGTHS):
    """v1.PodAffinity or v1.PodAntiAffinity, and what is required during execution."""

    required: tuple[StrictPodTerm, ...] | None = None
    preferred: tuple[StrictWeightedPodTerm, ...] | None = None
    during_execution: tuple[StrictPodTerm, ...] | None = None


class StrictNodeRequirement(node_terms.RequirementManifest, forbid_unknown_fields=True):
    """v1.NodeSelectorRequirement."""


class StrictNodeTerm(node_terms.TermManifest, forbid_unknown_fields=True):
    """v1.NodeSelectorTerm."""

    match_expressions: tuple[StrictNodeRequirement, ...] | None = None
    match_fields: tuple[StrictNodeRequirement, ...] | None = None


class StrictNodeSelector(node_terms.NodeSelectorManifest, forbid_unknown_fields=True):
    """v1.NodeSelector."""

    node_selector_terms: tuple[StrictNodeTerm, ...] | None = None


class StrictPreferredNodeTerm(node_terms.PreferredManifest, forbid_unknown_fields=True):
    """v1.PreferredSchedulingTerm."""

    preference: StrictNodeTerm = msgspec.field(default_factory=StrictNodeTerm)


class StrictNodeAffinity(
    node_terms.NodeAffinityManifest,
    forbid_unknown_fields=True,
    rename=_STRENGTHS,
):
    """v1.NodeAffinity, and what is required during execution."""

    required: StrictNodeSelector | None = None
    preferred: tuple[StrictPreferredNodeTerm, ...] | None = None
    during_execution: StrictNodeSelector | None = None

    def terms(self) -> Iterator[node_terms.TermManifest]:
        yield from super().terms()
        if self.during_execution is not None:
            yield from self.during_execution.node_selector_terms or ()


class StrictAffinity(manifests.AffinityManifest, forbid_unknown_fields=True):
    """The whole value of the annotation."""

    podAffinity: StrictPodAffinity | None = None
    podAntiAffinity: StrictPodAffinity | None = None
    nodeAffinity: StrictNodeAffinity | None = None

    def terms(self) -> Iterator[manifests.PodAffinityTerm]:
        yield from super().terms()
        for side in (self.podAffinity, self.podAntiAffinity):
            if side is not None:
                yield from side.during_execution or ()

    @property
    def entries(self) -> int:
        """Return how many terms, conditions and values of node affinity there are."""
        nodes = () if self.nodeAffinity is None else self.nodeAffinity.terms()
        return sum(term.entries for term in nodes)

    @property
    def conditions(self) -> int:
        """Return how many conditions every node is compared with."""
        nodes = () if self.nodeAffinity is None else self.nodeAffinity.terms()
        return sum(term.conditions for term in nodes)

    def during_execution(self) -> manifests.AffinityManifest:
        """Return what is required of other pods while the pod runs, as if that were usual."""
        sides = [
            None if side is None else manifests.PodAffinity(required=side.during_execution)
            for side in (self.podAffinity, self.podAntiAffinity)
        ]
        return manifests.AffinityManifest(*sides)


def faults_of(affinity: StrictAffinity) -> Iterator[Fault]:
    if affinity.nodeAffinity is not None:
        yield from _below("nodeAffinity", _node_affinity(affinity.nodeAffinity))
    if affinity.podAffinity is not None:
        yield from _below("podAffinity", _pod_affinity(affinity.podAffinity))
        for path, term in _located(affinity.podAffinity):
            if term.maxMatchingPods is not None:
                yield f"podAffinity.{path}.maxMatchingPods", "only podAntiAffinity can have a limit"
    if affinity.podAntiAffinity is not None:
        yield from _below("podAntiAffinity", _pod_affinity(affinity.podAntiAffinity))
        every = [*_located(affinity.podAntiAffinity)]
        limited = [(path, term) for path, term in every if term.maxMatchingPods is not None]
        for path, term in limited:
            for fault in _limit(term, path):
                yield f"podAntiAffinity.{path}.maxMatchingPods", fault
        if len(limited) > OF_ANNOTATIONS.limits:
            what = (
                f"{len(limited)} terms with maxMatchingPods are more than {OF_ANNOTATIONS.limits}"
            )
            yield "podAntiAffinity", what


def _below(path: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    for where, what in faults:
        yield f"{path}{'' if where.startswith('[') or not where else '.'}{where}", what


def _each(field: str, faults: Iterable[Iterable[Fault]]) -> Iterator[Fault]:
    for index, some in enumerate(faults):
        yield from _below(f"{field}[{index}]", some)


def _weight(weight: int) -> Iterator[Fault]:
    if weight not in range(1, 101):
        yield "weight", f"{weight} is not in the range 1-100"


def _node_affinity(found: StrictNodeAffinity) -> Iterator[Fault]:
    for name, selector in ((REQUIRED, found.required), (DURING_EXECUTION, found.during_execution)):
        if selector is not None:
            yield from _below(name, _node_selector(selector))
    for index, each in enumerate(found.preferred or ()):
        yield from _below(f"{PREFERRED}[{index}]", _weight(each.weight))
        yield from _below(f"{PREFERRED}[{index}].preference", _node_term(each.preference))


def _node_selector(selector: StrictNodeSelector) -> Iterator[Fault]:
    if not selector.node_selector_terms:
        yield "nodeSelectorTerms", "at least one term is required"
    yield from _each("nodeSelectorTerms", map(_node_term, selector.node_selector_terms or ()))


def _node_term(term: StrictNodeTerm) -> Iterator[Fault]:
    broken: list[Fault] = []
    read_term(term, "", broken)
    yield from broken
    for index, each in enumerate(term.match_fields or ()):
        if each.key != METADATA_NAME:
            yield f"matchFields[{index}].key", f"{each.key!r} is not {METADATA_NAME}"
        for value in each.values or ():
            if not is_dns_subdomain(value):
                yield f"matchFields[{index}].values", f"{value!r} is not the name of a node"


def _pod_affinity(found: StrictPodAffinity) -> Iterator[Fault]:
    for index, each in enumerate(found.preferred or ()):
        yield from _below(f"{PREFERRED}[{index}]", _weight(each.weight))
    for path, term in _located(found):
        yield from _below(path, _pod_term(term))


def _limit(term: StrictPodTerm, path: str) -> Iterator[str]:
    selector = term.labelSelector
    if term.namespaceSelector is not None and not (selector and selector.matchLabels):
        # Everybody's pods are compared with such a term, one by one.
        yield "a limit with a namespaceSelector needs matchLabels"
    if isinstance(term.maxMatchingPods, str):
        yield "not a number: percentages are no longer read. Write how many pods may match"
    if path.startswith(PREFERRED):
        yield f"no longer read on preferred terms: move the term to {REQUIRED}, or leave it out"


def _located(found: StrictPodAffinity) -> Iterator[tuple[str, StrictPodTerm]]:
    for name, terms in ((REQUIRED, found.required), (DURING_EXECUTION, found.during_execution)):
        yield from ((f"{name}[{index}]", term) for index, term in enumerate(terms or ()))
    for index, each in enumerate(found.preferred or ()):
        yield f"{PREFERRED}[{index}].podAffinityTerm", each.podAffinityTerm


def _pod_term(term: StrictPodTerm) -> Iterator[Fault]:
    if not is_label_key(term.topologyKey):
        yield "topologyKey", f"{term.topologyKey!r} is not a label key"
    if term.labelSelector is not None:
        yield from _below("labelSelector", _selector(term.labelSelector))
    if term.namespaceSelector is not None:
        yield from _below("namespaceSelector", _selector(term.namespaceSelector))
    for index, name in enumerate(term.namespaces or ()):
        if not is_dns_label(name):
            yield f"namespaces[{index}]", f"{name!r} is not the name of a namespace"
    yield from _label_keys(term)


def _label_keys(term: StrictPodTerm) -> Iterator[Fault]:
    for name, keys in (
        ("matchLabelKeys", term.matchLabelKeys),
        ("mismatchLabelKeys", term.mismatchLabelKeys),
    ):
        if keys and term.labelSelector is None:
            yield name, "must not be specified when labelSelector is not set"
        for index, key in enumerate(keys or ()):
            if not is_label_key(key):
                yield f"{name}[{index}]", f"{key!r} is not a label key"
    mismatched, selected = {*(term.mismatchLabelKeys or ())}, _selected(term.labelSelector)
    for index, key in enumerate(term.matchLabelKeys or ()):
        for others, which in ((mismatched, "mismatchLabelKeys"), (selected, "labelSelector")):
            if key in others:
                yield f"matchLabelKeys[{index}]", f"{key!r} is in {which} as well"


def _selected(selector: manifests.LabelSelector | None) -> set[str]:
    """Return the keys that a selector is about, but for what a merged label key looks like."""
    if selector is None:
        return set()
    seen: set[str] = set()
    selected = {*(selector.matchLabels or ())}
    for each in selector.matchExpressions or ():
        merged = each.operator is Operator.IN and len(each.values or ()) == 1
        if not merged or each.key in seen:
            selected.add(each.key)
        seen.add(each.key)
    return selected


def _selector(selector: manifests.LabelSelector) -> Iterator[Fault]:
    for key, value in (selector.matchLabels or {}).items():
        fault = label_fault(key, (value,))
        if fault is not None:
            yield "matchLabels", fault
    yield from _each("matchExpressions", map(_requirement, selector.matchExpressions or ()))


def _requirement(found: manifests.LabelSelectorRequirement) -> Iterator[Fault]:
    values = found.values or ()
    for where, fault in (
        ("values", values_fault(found.operator, values)),
        ("", label_fault(found.key, values)),
    ):
        if fault is not None:
            yield where, fault
