"""Affinity that the API server refuses, or of which it drops a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from extender.lint.finding import Level, Rule, Spot
from extender.lint.template import PREFERRED, REQUIRED, Template
from extender.verbs.conflicts import MOST_COMPARED
from extender.wire.manifests import PodAffinityTerm

_WEIGHTS: Final = range(1, 101)

_SIDES: Final = ("podAffinity", "podAntiAffinity")
_TERM_FIELDS: Final = frozenset(PodAffinityTerm.__struct_encode_fields__)


def _unreadable(template: Template) -> Iterator[Spot]:
    if template.fault is not None:
        yield Spot(template.fault.path, template.fault.message)


def _unknown(template: Template) -> Iterator[Spot]:
    base = f"{template.owner.path}.affinity"
    yield from _others(template.raw, {"nodeAffinity", *_SIDES}, base)
    for side in _SIDES:
        found = template.raw.get(side)
        if not isinstance(found, dict):
            continue
        path = f"{base}.{side}"
        yield from _others(found, {REQUIRED, PREFERRED}, path)
        for index, term in enumerate(_list(found.get(REQUIRED))):
            yield from _others(term, _TERM_FIELDS, f"{path}.{REQUIRED}[{index}]")
        for index, term in enumerate(_list(found.get(PREFERRED))):
            here = f"{path}.{PREFERRED}[{index}]"
            yield from _others(term, {"weight", "podAffinityTerm"}, here)
            inner = term.get("podAffinityTerm") if isinstance(term, dict) else None
            yield from _others(inner, _TERM_FIELDS, f"{here}.podAffinityTerm")


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


RULES: Final = (
    Rule(
        "affinity-unreadable",
        Level.ERROR,
        "Affinity is not what the API takes: a missing topologyKey, an unknown operator, a wrong "
        "type.",
        "The API server refuses the pods. A workload is accepted all the same and makes none.",
        "Correct the field; kubectl explain pod.spec.affinity has the shape.",
        _unreadable,
    ),
    Rule(
        "affinity-field-unknown",
        Level.ERROR,
        "Affinity has a field that the API does not know.",
        "The API server drops it, with a warning at most: the rule does not exist. The best known "
        "one is requiredDuringSchedulingRequiredDuringExecution, which was never added.",
        "Correct the name. For rules that also hold during execution, use the annotation "
        "affinity-extender.io/affinity.",
        _unknown,
    ),
    Rule(
        "weight-out-of-range",
        Level.ERROR,
        "The weight of a preferred term is not within 1 to 100.",
        "The API server refuses the pods.",
        "Use a weight from 1 to 100.",
        _weights,
    ),
    Rule(
        "too-many-terms",
        Level.WARNING,
        f"A pod has more than {MOST_COMPARED} affinity terms.",
        "Each bind of such a pod holds other pods up for up to 20 ms, and in mode replace the "
        "extender does not preempt for it.",
        "Give the pods that are meant a common label, and use one term.",
        _many,
    ),
)
