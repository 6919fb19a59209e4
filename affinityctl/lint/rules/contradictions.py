"""Required terms that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.selectors import contains, contradictory, no_common_pod, within
from affinityctl.lint.template import REQUIRED, Template, TermAt


def _no_common_pod(template: Template) -> Iterator[Spot]:
    terms = list(template.of(against=False))
    if len(terms) > 1 and not any(map(_is_empty, terms)):
        why = no_common_pod(at.term.pods for at in terms)
        if why is not None:
            yield Spot(template.owner.list_of("podAffinity", REQUIRED), why)


def _is_empty(at: TermAt) -> bool:
    selector = at.term.pods.selector
    return selector.matches_nothing or contradictory(selector.requirements) is not None


def _against_itself(template: Template) -> Iterator[Spot]:
    for near in template.of(against=False):
        for away in template.of(against=True):
            keys = contains(away.term.topology_key, near.term.topology_key)
            if keys and within(near.term.pods, away.term.pods):
                yield Spot(away.path, f"excludes what {near.path} requires")


RULES: Final = (
    Rule(
        "affinity-terms-exclude-each-other",
        Level.ERROR,
        "No single pod can meet all required affinity terms.",
        "A pod counts for required affinity only if it meets all terms, not one of them. If none "
        "can, no node will do and the pod waits for ever.",
        "Use one term with alternatives (operator In), or prefer instead of require.",
        _no_common_pod,
    ),
    Rule(
        "affinity-against-anti-affinity",
        Level.ERROR,
        "Required anti-affinity excludes what required affinity asks for.",
        "Wherever affinity holds, anti-affinity refuses the node: the pod waits for ever.",
        "Remove one of the two, or give them topology keys that can hold together: affinity by "
        "zone with anti-affinity by hostname.",
        _against_itself,
    ),
)
