"""Affinity, in fields and annotations, that cannot be read, or that lose a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.template import NEW, PREFERRED, REQUIRED, Template
from extender.core.model.labels import Labels, Operator
from extender.core.model.node_selection import int64
from extender.core.model.pod_affinity import NO_WRITTEN_AFFINITY
from extender.core.model.wording import plural
from extender.core.wire.limits import OF_RULES
from extender.core.wire.node_terms import COMPARING, NodeAffinityManifest, TermManifest
from extender.core.wire.validation import is_label_value

_EXCLUDING: Final = frozenset((Operator.NOT_IN.value, Operator.DOES_NOT_EXIST.value))
_OF_ALPHA_NOW: Final = {
    "scheduler.alpha.kubernetes.io/affinity": "spec.affinity",
    "scheduler.alpha.kubernetes.io/tolerations": "spec.tolerations",
}
"""Annotations that were once, with the fields in their place."""
_OF_ALPHA: Final = _OF_ALPHA_NOW.keys()


def _never_met(template: Template) -> Iterator[Spot]:
    """Yield what the API server takes, and the scheduler cannot read."""
    for where, term in _node_terms(template):
        for index, each in enumerate(term.match_expressions or ()):
            path = f"{template.owner.path}.affinity.nodeAffinity.{where}.matchExpressions[{index}]"
            values = each.values or ()
            if each.operator in COMPARING:
                if len(values) == 1 and int64(values[0]) is None:
                    yield Spot(path, f"{values[0]!r} is no whole number")
            elif where.startswith(PREFERRED):
                for value in values:
                    if not is_label_value(value):
                        yield Spot(path, f"{value!r} is not a label value")


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


def _undone(template: Template) -> Iterator[Spot]:
    """Yield terms that exclude nodes, which another term lets in again."""
    required = [each for each in _node_terms(template) if each[0].startswith(REQUIRED)]
    excluding = [(where, term) for where, term in required if _only_excludes(term)]
    if not required[1:]:
        return
    nodes = template.around.nodes
    for where, term in excluding:
        path = f"{template.owner.path}.affinity.nodeAffinity.{where}"
        if nodes and all(_lets_in(term, each.labels) for each in nodes):
            yield Spot(path, "every node meets it, so that the other terms are of no account")
        elif any(term != other for _, other in excluding):
            what = "a node that it excludes is let in by another term, as one of them is enough"
            yield Spot(path, what)


def _only_excludes(term: TermManifest) -> bool:
    every = (*(term.match_expressions or ()), *(term.match_fields or ()))
    return bool(every) and all(each.operator in _EXCLUDING for each in every)


def _lets_in(term: TermManifest, labels: Labels) -> bool:
    return not term.match_fields and all(
        each.key not in labels or (each.values and labels[each.key] not in each.values)
        for each in term.match_expressions or ()
    )


def _read_by_none(template: Template) -> Iterator[Spot]:
    for name in sorted(template.annotations & _OF_ALPHA):
        path = f"{template.owner.path.removesuffix('spec')}metadata.annotations[{name}]"
        yield Spot(path, f"no scheduler since Kubernetes 1.8 reads it; use {_OF_ALPHA_NOW[name]}")


def _many(template: Template) -> Iterator[Spot]:
    if template.too_many is not None:
        yield Spot(f"{template.owner.path}.affinity", template.too_many)


def _broken(template: Template) -> Iterator[Spot]:
    if template.annotation.fault is not None:
        path, what = template.annotation.fault
        yield Spot(f"{template.owner.path.removesuffix('spec')}{path}", what)


def _for_spec(template: Template) -> Iterator[Spot]:
    annotation = template.annotation
    rules = NO_WRITTEN_AFFINITY if annotation.pods is None else annotation.pods.rules
    path = f"{template.owner.path.removesuffix('spec')}{annotation.path}"
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
        "comparison-without-number",
        Level.ERROR,
        "Node affinity compares a label, by Gt or Lt, with what is no whole number, or prefers a "
        "value that no label can have.",
        "A required term with it matches no node; with a preferred one scoring fails for the pod.",
        "Compare with one whole number, and by In or NotIn with label values.",
        _never_met,
    ),
    Rule(
        "exclusion-undone",
        Level.WARNING,
        "A node selector term that only excludes nodes (NotIn, DoesNotExist) stands beside "
        "another: a node has to meet one of them, and not all.",
        "Pods go to nodes that were to be excluded.",
        "Write the conditions into one term, whose conditions all have to be met.",
        _undone,
    ),
    Rule(
        "alpha-annotation",
        Level.ERROR,
        "A pod has its affinity or tolerations in an annotation of Kubernetes 1.5.",
        "The rules in it have no effect.",
        "Write them into the spec.",
        _read_by_none,
    ),
    Rule(
        "too-many-terms",
        Level.ERROR,
        f"A pod has more than {OF_RULES.terms} affinity terms, or more than "
        f"{OF_RULES.conditions:,} conditions, values and names in them.",
        "In assist and replace such a pod is not placed.",
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
