"""Which pods a term is about: none, all, or a contradiction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.selectors import contradictory
from affinityctl.lint.template import Template
from extender.model.labels import EVERYTHING


def _missing(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        if at.written.labelSelector is None and not at.has_label_keys:
            yield Spot(f"{at.path}.labelSelector", f"missing: matches no pod, so {at.if_unmet}")


def _empty(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        pods = at.term.pods
        # Every pod of namespaces that somebody chose, those of other tenants say, may be meant.
        chosen = at.written.namespaces or (pods.namespace_selector or EVERYTHING).requirements
        if pods.selector == EVERYTHING and not chosen:
            everywhere = pods.namespace_selector is not None
            where = "of the cluster" if everywhere else "of its namespace"
            side = "stays away from" if at.against else "is drawn to"
            yield Spot(f"{at.path}.labelSelector", f"empty: {side} every pod {where}")


def _contradictory(template: Template) -> Iterator[Spot]:
    for at in template.terms:
        key = contradictory(at.term.pods.selector.requirements)
        refused = set(at.written.matchLabelKeys or ()) & set(at.written.mismatchLabelKeys or ())
        if key is not None and key not in refused:
            yield Spot(f"{at.path}.labelSelector", f"no label {key} meets it, so {at.if_unmet}")


RULES: Final = (
    Rule(
        "selector-missing",
        Level.ERROR,
        "A term has no labelSelector.",
        "A missing selector matches no pod, unlike an empty one. Required affinity can never be "
        "met, and any other term does nothing.",
        "Add the labelSelector; labelSelector: {} matches every pod.",
        _missing,
    ),
    Rule(
        "selector-empty",
        Level.WARNING,
        "A term is about every pod of its namespace, or of the cluster.",
        "Anti-affinity to every pod keeps the pod off each domain with any other pod, and any "
        "other pod off its own; agents of DaemonSets are pods as well. Affinity to every pod asks "
        "for nothing.",
        "Select the pods that are meant, or narrow the term by matchLabelKeys.",
        _empty,
    ),
    Rule(
        "selector-contradictory",
        Level.ERROR,
        "A labelSelector contradicts itself.",
        "It matches no pod. Required affinity can never be met, and any other term does nothing.",
        "Values of one In are alternatives; requirements on the same key must all hold.",
        _contradictory,
    ),
)
