"""What the API server would refuse in an Affinity, were it in a pod's spec.

As validateAffinity in k8s.io/kubernetes/pkg/apis/core/validation/validation.go, which never sees an
annotation. Each check yields the paths of broken fields, from the Affinity on, with what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from extender.model.labels import Operator
from extender.wire.annotation_manifests import (
    DURING_EXECUTION,
    AnnotatedAffinity,
    NodeAffinity,
    NodeSelector,
    NodeTerm,
    PodAffinity,
    PodTerm,
)
from extender.wire.manifests import LabelSelector, LabelSelectorRequirement
from extender.wire.node_terms import (
    METADATA_NAME,
    PREFERRED,
    REQUIRED,
    Fault,
    read_term,
)
from extender.wire.validation import (
    is_dns_label,
    is_dns_subdomain,
    is_label_key,
    label_fault,
    values_fault,
)

MOST_WEIGHT = 100


def faults_of(affinity: AnnotatedAffinity) -> Iterator[Fault]:
    """Yield what is wrong with an Affinity, in the order of its fields."""
    if affinity.nodeAffinity is not None:
        yield from _below("nodeAffinity", _node_affinity(affinity.nodeAffinity))
    if affinity.podAffinity is not None:
        yield from _below("podAffinity", _pod_affinity(affinity.podAffinity))
    if affinity.podAntiAffinity is not None:
        yield from _below("podAntiAffinity", _pod_affinity(affinity.podAntiAffinity))


def _below(path: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    for where, what in faults:
        yield f"{path}{'' if where.startswith('[') or not where else '.'}{where}", what


def _each(field: str, faults: Iterable[Iterable[Fault]]) -> Iterator[Fault]:
    for index, some in enumerate(faults):
        yield from _below(f"{field}[{index}]", some)


def _weight(weight: int) -> Iterator[Fault]:
    if not 0 < weight <= MOST_WEIGHT:
        yield "weight", f"{weight} is not in the range 1-{MOST_WEIGHT}"


def _node_affinity(found: NodeAffinity) -> Iterator[Fault]:
    for name, selector in ((REQUIRED, found.required), (DURING_EXECUTION, found.during_execution)):
        if selector is not None:
            yield from _below(name, _node_selector(selector))
    for index, each in enumerate(found.preferred or ()):
        yield from _below(f"{PREFERRED}[{index}]", _weight(each.weight))
        yield from _below(f"{PREFERRED}[{index}].preference", _node_term(each.preference))


def _node_selector(selector: NodeSelector) -> Iterator[Fault]:
    if not selector.node_selector_terms:
        yield "nodeSelectorTerms", "at least one term is required"
    yield from _each("nodeSelectorTerms", map(_node_term, selector.node_selector_terms or ()))


def _node_term(term: NodeTerm) -> Iterator[Fault]:
    broken: list[Fault] = []
    read_term(term, "", broken)
    yield from broken
    for index, each in enumerate(term.match_fields or ()):
        if each.key != METADATA_NAME:
            yield f"matchFields[{index}].key", f"{each.key!r} is not {METADATA_NAME}"
        for value in each.values or ():
            if not is_dns_subdomain(value):
                yield f"matchFields[{index}].values", f"{value!r} is not the name of a node"


def _pod_affinity(found: PodAffinity) -> Iterator[Fault]:
    for name, terms in ((REQUIRED, found.required), (DURING_EXECUTION, found.during_execution)):
        yield from _each(name, map(_pod_term, terms or ()))
    for index, each in enumerate(found.preferred or ()):
        path = f"{PREFERRED}[{index}]"
        yield from _below(path, _weight(each.weight))
        yield from _below(f"{path}.podAffinityTerm", _pod_term(each.podAffinityTerm))


def _pod_term(term: PodTerm) -> Iterator[Fault]:
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


def _label_keys(term: PodTerm) -> Iterator[Fault]:
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


def _selected(selector: LabelSelector | None) -> set[str]:
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


def _selector(selector: LabelSelector) -> Iterator[Fault]:
    for key, value in (selector.matchLabels or {}).items():
        fault = label_fault(key, (value,))
        if fault is not None:
            yield "matchLabels", fault
    yield from _each("matchExpressions", map(_requirement, selector.matchExpressions or ()))


def _requirement(found: LabelSelectorRequirement) -> Iterator[Fault]:
    values = found.values or ()
    for where, fault in (
        ("values", values_fault(found.operator, values)),
        ("", label_fault(found.key, values)),
    ):
        if fault is not None:
            yield where, fault
