"""Which namespaces a term is about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.selectors import contradictory, negative
from affinityctl.lint.template import Template
from extender.model.labels import EVERYTHING

_DEFECTIVE: Final = range(34, 37)
"""Minor versions whose scheduler takes a negative selector for one that matches everything."""


def _unknown(template: Template) -> Iterator[Spot]:
    known = template.around.namespaces
    if known is None:
        return
    for at in template.terms:
        for index, name in enumerate(at.written.namespaces or ()):
            if name not in known:
                yield Spot(f"{at.path}.namespaces[{index}]", f"there is no namespace {name}")


def _none_chosen(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        chosen = at.term.pods.namespace_selector
        if chosen is None:
            continue
        key = contradictory(chosen.requirements)
        known = template.around.namespaces
        if key is not None:
            yield Spot(f"{at.path}.namespaceSelector", f"no label {key} meets it")
        elif known and not any(map(chosen.matches, known.values())):
            yield Spot(f"{at.path}.namespaceSelector", f"matches none of {len(known)} namespaces")


def _negative(template: Template) -> Iterator[Spot]:
    minor = template.around.scheduler_minor
    if minor is not None and minor not in _DEFECTIVE:
        return
    for at in template.terms:
        chosen = at.term.pods.namespace_selector
        if chosen is not None and negative(chosen):
            message = "only NotIn and DoesNotExist; schedulers 1.34 to 1.36 match every namespace"
            yield Spot(f"{at.path}.namespaceSelector", message)


def _covered(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        if at.written.namespaces and at.term.pods.namespace_selector == EVERYTHING:
            message = "the empty namespaceSelector chooses every namespace already"
            yield Spot(f"{at.path}.namespaces", message)


RULES: Final = (
    Rule(
        "namespace-unknown",
        Level.WARNING,
        "A term names a namespace that does not exist.",
        "The term is not about any pod there. Often the name is misspelt.",
        "Correct the name, or choose namespaces by their labels.",
        _unknown,
    ),
    Rule(
        "namespace-selector-matches-none",
        Level.WARNING,
        "A namespaceSelector chooses no namespace.",
        "Beside it, not even the pod's own namespace counts: the term is about no pod at all.",
        "Correct the selector, or label the namespaces. Each has kubernetes.io/metadata.name.",
        _none_chosen,
    ),
    Rule(
        "namespace-selector-negative",
        Level.WARNING,
        "A namespaceSelector asks for nothing but absence.",
        "Schedulers 1.34 to 1.36 take it, in a pod that is to be placed, for one that matches "
        "every namespace. Other versions, and the extender, go by the documents.",
        "Add a positive requirement such as {key: kubernetes.io/metadata.name, operator: Exists}, "
        "or set schedulerVersion where no such scheduler runs.",
        _negative,
    ),
    Rule(
        "namespaces-without-effect",
        Level.WARNING,
        "A term lists namespaces beside an empty namespaceSelector.",
        "The two add up, and {} is every namespace: the list narrows nothing.",
        "Remove namespaceSelector to keep to the list, or remove the list.",
        _covered,
    ),
)
