"""Affinity, in fields and annotations, that cannot be read, or of which a part is dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.template import NEW, PREFERRED, REQUIRED, Template
from extender.model.node_affinity import int64
from extender.model.pod_affinity import NO_WRITTEN_AFFINITY
from extender.model.wording import plural
from extender.verbs.interaction import MOST_COMPARED
from extender.wire.annotation_manifests import StrictAffinity, faults_of
from extender.wire.annotations import AFFINITY_PATH
from extender.wire.manifests import PodAffinityTerm
from extender.wire.node_terms import COMPARING, NodeAffinityManifest, TermManifest

_WEIGHTS: Final = range(1, 101)
_SIDES: Final = ("podAffinity", "podAntiAffinity")
_OF_OTHERS: Final = re.compile(r"\.(weight|(mis)?matchLabelKeys(\[\d+\])?)$")
"""Fields of which the faults are found by rules of their own."""
_TERM_FIELDS: Final = frozenset(PodAffinityTerm.__struct_encode_fields__)


def _unreadable(template: Template) -> Iterator[Spot]:
    if template.fault is not None:
        yield Spot(template.fault.path, template.fault.message)
    elif not template.owner.stored:
        yield from _refused(template)


def _refused(template: Template) -> Iterator[Spot]:
    """Yield what the API server refuses, beside what has a rule of its own."""
    try:
        affinity = msgspec.convert(template.raw, StrictAffinity)
    except msgspec.ValidationError:
        return  # a field that the API does not know: once it is gone, the rest is looked at
    others = {path for path, _ in _comparisons(template)}
    for path, fault in faults_of(affinity):
        own = _OF_OTHERS.search(path) is None or fault.endswith(" is not a label key")
        if own and path not in others:
            yield Spot(f"{template.owner.path}.affinity.{path}", fault)


def _never_met(template: Template) -> Iterator[Spot]:
    for path, value in _comparisons(template):
        yield Spot(f"{template.owner.path}.affinity.{path}", f"{value!r} is no whole number")


def _comparisons(template: Template) -> Iterator[tuple[str, str]]:
    """Yield the comparisons with one value that is no number; the API server takes them."""
    for where, term in _node_terms(template):
        for index, each in enumerate(term.match_expressions or ()):
            (value, *more) = each.values or ("",)
            if each.operator in COMPARING and not more and int64(value) is None:
                yield f"nodeAffinity.{where}.matchExpressions[{index}]", value


def _node_terms(template: Template) -> Iterator[tuple[str, TermManifest]]:
    try:
        found = msgspec.convert(template.raw.get("nodeAffinity"), NodeAffinityManifest | None)
    except msgspec.ValidationError:
        return
    if found is None:
        return
    if found.required is not None:
        for index, term in enumerate(found.required.terms):
            yield f"{REQUIRED}.nodeSelectorTerms[{index}]", term
    for index, each in enumerate(found.preferred or ()):
        yield f"{PREFERRED}[{index}].preference", each.term


def _unknown(template: Template) -> Iterator[Spot]:
    base = f"{template.owner.path}.affinity"
    yield from _others(template.raw, {"nodeAffinity", *_SIDES}, base)
    yield from _unknown_of_nodes(template.raw.get("nodeAffinity"), f"{base}.nodeAffinity")
    for side in _SIDES:
        found = template.raw.get(side)
        if not isinstance(found, dict):
            continue
        path = f"{base}.{side}"
        yield from _others(found, {REQUIRED, PREFERRED}, path)
        for index, term in enumerate(_list(found.get(REQUIRED))):
            yield from _unknown_of_term(term, f"{path}.{REQUIRED}[{index}]")
        yield from _unknown_of_preferred(found, path, "podAffinityTerm", _unknown_of_term)


def _unknown_of_nodes(found: Any, path: str) -> Iterator[Spot]:
    if not isinstance(found, dict):
        return
    yield from _others(found, {REQUIRED, PREFERRED}, path)
    required = found.get(REQUIRED)
    yield from _others(required, {"nodeSelectorTerms"}, f"{path}.{REQUIRED}")
    terms = required.get("nodeSelectorTerms") if isinstance(required, dict) else None
    for index, term in enumerate(_list(terms)):
        yield from _unknown_of_node_term(term, f"{path}.{REQUIRED}.nodeSelectorTerms[{index}]")
    yield from _unknown_of_preferred(found, path, "preference", _unknown_of_node_term)


def _unknown_of_preferred(
    found: dict[str, Any],
    path: str,
    inner: str,
    unknown_of: Callable[[Any, str], Iterator[Spot]],
) -> Iterator[Spot]:
    """Yield what is unknown in preferred terms, each of which has its term in a field, `inner`."""
    for index, each in enumerate(_list(found.get(PREFERRED))):
        here = f"{path}.{PREFERRED}[{index}]"
        yield from _others(each, {"weight", inner}, here)
        term = each.get(inner) if isinstance(each, dict) else None
        yield from unknown_of(term, f"{here}.{inner}")


def _unknown_of_node_term(term: Any, path: str) -> Iterator[Spot]:
    yield from _others(term, {"matchExpressions", "matchFields"}, path)
    if isinstance(term, dict):
        for name in ("matchExpressions", "matchFields"):
            yield from _unknown_of_conditions(term.get(name), f"{path}.{name}")


def _unknown_of_term(term: Any, path: str) -> Iterator[Spot]:
    yield from _others(term, _TERM_FIELDS, path)
    if isinstance(term, dict):
        for name in ("labelSelector", "namespaceSelector"):
            selector, here = term.get(name), f"{path}.{name}"
            yield from _others(selector, {"matchLabels", "matchExpressions"}, here)
            if isinstance(selector, dict):
                conditions = selector.get("matchExpressions")
                yield from _unknown_of_conditions(conditions, f"{here}.matchExpressions")


def _unknown_of_conditions(found: Any, path: str) -> Iterator[Spot]:
    for index, each in enumerate(_list(found)):
        yield from _others(each, {"key", "operator", "values"}, f"{path}[{index}]")


def _astray(template: Template) -> Iterator[Spot]:
    for path in template.owner.astray:
        yield Spot(path, f"its place is {template.owner.path}.{path.rpartition('.')[2]}")


def _others(found: Any, known: set[str] | frozenset[str], path: str) -> Iterator[Spot]:
    if isinstance(found, dict):
        for name in sorted(found.keys() - known):
            yield Spot(f"{path}.{name}", f"{name} is no field of the API")


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _weights(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        if at.weight is not None and at.weight not in _WEIGHTS:
            yield Spot(f"{at.path.removesuffix('.podAffinityTerm')}.weight", f"{at.weight}")


def _many(template: Template) -> Iterator[Spot]:
    if len(template.terms) > MOST_COMPARED:
        yield Spot(f"{template.owner.path}.affinity", f"{len(template.terms)} terms")


def _broken(template: Template) -> Iterator[Spot]:
    if template.annotation.fault is not None:
        path, what = template.annotation.fault
        yield Spot(f"{template.owner.path.removesuffix('spec')}{path}", what)


def _for_spec(template: Template) -> Iterator[Spot]:
    annotation = template.annotation
    rules = NO_WRITTEN_AFFINITY if annotation.pods is None else annotation.pods.rules
    path = f"{template.owner.path.removesuffix('spec')}{AFFINITY_PATH}"
    terms = len(rules.required) + len(rules.required_anti) + len(rules.preferred)
    nodes = annotation.nodes
    terms += sum(rule is not None for rule in (nodes.required, nodes.preferred))
    if terms:
        yield Spot(path, f"{plural(terms, 'rule')} that a spec can have")
    for written, most in rules.limits:
        if most == 1 and template.matches_itself(written.merged(template.revision(NEW))):
            yield Spot(path, "maxMatchingPods: 1 about the pod itself is plain anti-affinity")


def _misplaced(template: Template) -> Iterator[Spot]:
    for name in template.owner.misplaced:
        yield Spot(f"metadata.annotations[{name}]", "not in the template, so no pod has it")


RULES: Final = (
    Rule(
        "affinity-unreadable",
        Level.ERROR,
        "Affinity is not what the API takes: a missing topologyKey, an unknown operator, a wrong "
        "type, say.",
        "The API server refuses the pod, or the workload.",
        "Correct the field; kubectl explain pod.spec.affinity has the shape.",
        _unreadable,
    ),
    Rule(
        "affinity-field-unknown",
        Level.ERROR,
        "Affinity has a field that the API does not know, such as "
        "requiredDuringSchedulingRequiredDuringExecution.",
        "The API server drops it, with a warning at most.",
        "Correct the name. For rules during execution, use the annotation "
        "affinity-extender.io/affinity.",
        _unknown,
    ),
    Rule(
        "comparison-without-number",
        Level.ERROR,
        "Node affinity compares a label, by Gt or Lt, with what is no whole number.",
        "A required term with it matches no node; with a preferred one scoring fails for the pod.",
        "Compare with one whole number.",
        _never_met,
    ),
    Rule(
        "affinity-astray",
        Level.ERROR,
        "Affinity, or a node selector, is outside the spec of the pods.",
        "The API server drops it, with a warning at most.",
        "Move it to the pods' spec; that of a Deployment is spec.template.spec.",
        _astray,
    ),
    Rule(
        "weight-out-of-range",
        Level.ERROR,
        "The weight of a preferred term is not within 1 to 100.",
        "The API server refuses the pod, or the workload.",
        "Use a weight from 1 to 100.",
        _weights,
    ),
    Rule(
        "too-many-terms",
        Level.WARNING,
        f"A pod has more than {MOST_COMPARED} affinity terms.",
        "Each of its binds holds other pods up for up to 20 ms, and in mode replace the extender "
        "does not preempt for it.",
        "Give the pods that are meant a common label, and use one term.",
        _many,
    ),
    Rule(
        "annotation-unreadable",
        Level.ERROR,
        "The rules in an annotation cannot be read.",
        "In assist and replace such a pod is not placed.",
        "Correct the field (docs/annotations.md); manifests/components/annotation-policy refuses "
        "most of these mistakes when pods are created.",
        _broken,
    ),
    Rule(
        "annotation-for-spec",
        Level.NOTE,
        "A rule in an annotation is one that the spec can have.",
        "Autoscalers, the descheduler and the kubelet see the spec alone.",
        "Write it into the spec; only limits above 1 and rules during execution need the "
        "annotation.",
        _for_spec,
    ),
    Rule(
        "annotation-misplaced",
        Level.ERROR,
        "A workload has the annotation with rules, and its pods do not.",
        "The extender reads annotations of pods: the rules have no effect.",
        "Move the annotation to the metadata of the template.",
        _misplaced,
    ),
)
