"""Terms of node selectors, as kube-scheduler takes them.

What no API server would store is read as k8s.io/component-helpers/scheduling/corev1/nodeaffinity
does: a broken term matches nothing, and if it is a preferred one, the scheduler cannot score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from extender.core.model.labels import Operator, Requirement
from extender.core.model.node_selection import Comparison, Condition, NodeTerm, int64
from extender.core.wire.decoding import Int32
from extender.core.wire.validation import label_fault, values_fault

Fault: TypeAlias = tuple[str, str]
"""The path of a field, and what is wrong with it."""

METADATA_NAME = "metadata.name"
"""The only field of a node that a term can be about."""

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

COMPARING = frozenset(("Gt", "Lt"))


class RequirementManifest(msgspec.Struct, gc=False):
    """v1.NodeSelectorRequirement."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class TermManifest(msgspec.Struct, rename="camel", gc=False):
    """v1.NodeSelectorTerm."""

    match_expressions: tuple[RequirementManifest, ...] | None = None
    match_fields: tuple[RequirementManifest, ...] | None = None

    @property
    def named(self) -> frozenset[str] | None:
        """Return the nodes that it names; None if it names none (NodeAffinity.PreFilter)."""
        every = [
            frozenset(each.values or ())
            for each in self.match_fields or ()
            if each.key == METADATA_NAME and each.operator == Operator.IN.value
        ]
        return frozenset.intersection(*every) if every else None

    @property
    def is_empty(self) -> bool:
        """Return whether there is no condition at all: such a term matches nothing."""
        return not self.match_expressions and not self.match_fields

    @property
    def entries(self) -> int:
        """Return how many conditions and values there are, and one for the term: what it takes."""
        every = (*(self.match_expressions or ()), *(self.match_fields or ()))
        return 1 + sum(1 + len(each.values or ()) for each in every)

    @property
    def conditions(self) -> int:
        """Return how many conditions every node is compared with: names tell nodes at once."""
        others = [each for each in self.match_fields or () if each.operator != Operator.IN.value]
        return len(self.match_expressions or ()) + len(others)


NO_CONDITION = TermManifest()


class PreferredManifest(msgspec.Struct, gc=False):
    """v1.PreferredSchedulingTerm."""

    weight: Int32 = 0
    preference: TermManifest | None = None

    @property
    def term(self) -> TermManifest:
        """Return the preference; to the API, null is an empty one."""
        return self.preference or NO_CONDITION


class NodeSelectorManifest(msgspec.Struct, rename="camel"):
    """v1.NodeSelector."""

    node_selector_terms: tuple[TermManifest | None, ...] | None = None

    @property
    def terms(self) -> Iterator[TermManifest]:
        """Yield the terms; to the API, null is an empty one."""
        return (term or NO_CONDITION for term in self.node_selector_terms or ())

    @property
    def named(self) -> frozenset[str] | None:
        """Return the nodes that some term names, None if a term names none, or there is no term."""
        every = [term.named for term in self.terms]
        known = [each for each in every if each is not None]
        return frozenset().union(*known) if known and len(known) == len(every) else None


class NodeAffinityManifest(msgspec.Struct, rename={"required": REQUIRED, "preferred": PREFERRED}):
    """v1.NodeAffinity."""

    required: NodeSelectorManifest | None = None
    preferred: tuple[PreferredManifest, ...] | None = None

    def terms(self) -> Iterator[TermManifest]:
        if self.required is not None:
            yield from self.required.terms
        yield from (each.term for each in self.preferred or ())


def read_required(selector: NodeSelectorManifest, faults: list[Fault]) -> Iterator[NodeTerm]:
    for index, term in enumerate(selector.terms):
        if not term.is_empty:
            found = read_term(term, f"{REQUIRED}.nodeSelectorTerms[{index}].", faults)
            if found is not None:
                yield found


def read_preferred(
    terms: Sequence[PreferredManifest], faults: list[Fault]
) -> Iterator[tuple[NodeTerm, int]]:
    """Yield the terms that can match, with their weights; one without weight is not even read."""
    for index, each in enumerate(terms):
        if each.weight and not each.term.is_empty:
            found = read_term(each.term, f"{PREFERRED}[{index}].preference.", faults)
            if found is not None:
                yield found, each.weight


def read_term(term: TermManifest, path: str, faults: list[Fault]) -> NodeTerm | None:
    """Read a term; None when it is broken. `path` is what faults' paths begin with."""
    before = len(faults)
    conditions = []
    for index, each in enumerate(term.match_expressions or ()):
        condition = _condition(each)
        if isinstance(condition, str):
            faults.append((f"{path}matchExpressions[{index}]", condition))
        else:
            conditions.append(condition)
    for index, each in enumerate(term.match_fields or ()):
        why = _field_fault(each)
        if why is not None:
            faults.append((f"{path}matchFields[{index}]", why))
    if len(faults) > before:
        return None
    return NodeTerm(tuple(conditions), *_names(term.match_fields or ()))


def _names(fields: Sequence[RequirementManifest]) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return the only nodes that conditions on fields allow, and those that they do not."""
    only: frozenset[str] | None = None
    other_than = set()
    for each in fields:
        (value,) = each.values or ("",)
        wanted = each.operator == Operator.IN.value
        if each.key != METADATA_NAME:
            # A node has no such field, which is as good as an empty one.
            if (value == "") is not wanted:
                only = frozenset()
        elif wanted:
            only = frozenset((value,)) if only is None else only & {value}
        else:
            other_than.add(value)
    return only, frozenset(other_than)


def _condition(found: RequirementManifest) -> Condition | str:
    """Return a condition on a label, or what is wrong with it (labels.NewRequirement)."""
    values: Sequence[str] = found.values or ()
    fault = label_fault(found.key, values)
    if fault is not None:
        return fault
    if found.operator in COMPARING:
        bound = int64(values[0]) if len(values) == 1 else None
        if bound is None:
            return f"operator {found.operator} takes one integer"
        return Comparison(found.key, bound, above=found.operator == "Gt")
    return _requirement(found.key, found.operator, frozenset(values))


def _requirement(key: str, name: str, values: frozenset[str]) -> Requirement | str:
    try:
        operator = Operator(name)
    except ValueError:
        return f"{name!r} is not an operator"
    return values_fault(operator, values) or Requirement(key, operator, values)


def _field_fault(found: RequirementManifest) -> str | None:
    if found.operator not in {Operator.IN.value, Operator.NOT_IN.value}:
        return f"{found.operator!r} is not an operator for fields"
    return None if len(found.values or ()) == 1 else f"operator {found.operator} takes one value"
