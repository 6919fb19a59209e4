"""Terms that add nothing to the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.patching import Operation, remove
from affinityctl.commands.lint.selectors import contains, within
from affinityctl.commands.lint.template import Template, TermAt

_MOST: Final = 64
"""Terms that are compared with one another; more have a rule of their own."""


def _lists(template: Template) -> Iterator[list[TermAt]]:
    for against in (False, True):
        for required in (True, False):
            yield list(template.of(against=against, required=required))[:_MOST]


def _repeated(template: Template) -> Iterator[Spot]:
    for terms in _lists(template):
        seen: dict[object, TermAt] = {}
        for at in terms:
            first = seen.setdefault(at.term, at)
            if first is not at:
                yield Spot(at.path, f"the same as {_index(first)}", (_removed(at),))


def _implied(template: Template) -> Iterator[Spot]:
    for terms in (list(template.of(against=against))[:_MOST] for against in (False, True)):
        found: dict[str, Spot] = {}
        for one, other in permutations(terms, 2):
            if one.term == other.term or one.path in found:
                continue
            if _follows(one, other) and template.holds_within(one, other):
                found[one.path] = Spot(one.path, f"follows from {_index(other)}")
        yield from found.values()


def _follows(one: TermAt, other: TermAt) -> bool:
    """Return whether a required term holds wherever another one does."""
    if one.against:
        keys = contains(other.term.topology_key, one.term.topology_key)
        return keys and within(one.term.pods, other.term.pods)
    same = one.term.topology_key == other.term.topology_key
    return same and within(other.term.pods, one.term.pods)


def _required_already(template: Template) -> Iterator[Spot]:
    required = list(template.of(against=True))[:_MOST]
    for at in list(template.of(against=True, required=False))[:_MOST]:
        covering = (each for each in required if _is_covered(at, each))
        hard = next((each for each in covering if template.holds_within(at, each)), None)
        if hard is not None:
            yield Spot(at.path, f"required by {_index(hard)} already", (_removed(at),))


def _is_covered(soft: TermAt, hard: TermAt) -> bool:
    keys = contains(hard.term.topology_key, soft.term.topology_key)
    return keys and within(soft.term.pods, hard.term.pods)


def _cancelling(template: Template) -> Iterator[Spot]:
    soft = [at for at in template.terms if not at.required][:_MOST]
    for one, other in combinations(soft, 2):
        if one.term == other.term and one.against is not other.against:
            yield Spot(other.path, f"the opposite of {_index(one)}")


def _removed(at: TermAt) -> Operation:
    return remove(at.path.removesuffix(".podAffinityTerm"))


def _index(at: TermAt) -> str:
    """Return the end of a term's path, which tells it from its neighbours."""
    path = at.path.removesuffix(".podAffinityTerm")
    kind = "preferred" if not at.required else "required"
    side = "podAntiAffinity" if at.against else "podAffinity"
    return f"the {kind} {side}[{path.rpartition('[')[2]}"


RULES: Final = (
    Rule(
        "term-repeated",
        Level.WARNING,
        "A term is there twice.",
        "A required one costs twice and adds nothing; a preferred one counts twice.",
        "Remove one of them; give the other the sum of the weights if meant.",
        _repeated,
    ),
    Rule(
        "term-implied",
        Level.WARNING,
        "A required term follows from another one.",
        "It costs and, where all nodes have the topology key of the wider one, changes nothing.",
        "Remove it, or correct the wider one.",
        _implied,
    ),
    Rule(
        "preferred-already-required",
        Level.WARNING,
        "Preferred anti-affinity repeats what is required.",
        "It ranks no node before another, where all nodes have the topology key of what is "
        "required.",
        "Remove it, or give it the wider topology key that was meant.",
        _required_already,
    ),
    Rule(
        "preferred-terms-cancel",
        Level.WARNING,
        "A pod prefers to be near some pods, and away from the same ones.",
        "The weights are subtracted from each other.",
        "Remove one of them.",
        _cancelling,
    ),
)
