"""What a pod to be placed asks of its node, read only when we are about to propose one."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from extender.errors import ObjectError
from extender.model.labels import EVERYTHING, Operator, Requirement, Selector
from extender.model.node_resources import Comparison, NodeTerm, Requests, Requirements, Toleration
from extender.wire.class_cache import decoded_size
from extender.wire.decoding import Json, decode

_EXISTS = "Exists"
_EQUAL = "Equal"


class _NodeRequirement(msgspec.Struct):
    key: str
    operator: str
    values: list[str] | None = None


class _NodeTerm(msgspec.Struct, rename="camel"):
    match_expressions: list[_NodeRequirement] | None = None
    match_fields: list[_NodeRequirement] | None = None


class _NodeSelector(msgspec.Struct, rename="camel"):
    node_selector_terms: list[_NodeTerm] | None = None


class _NodeAffinity(
    msgspec.Struct, rename={"required": "requiredDuringSchedulingIgnoredDuringExecution"}
):
    required: _NodeSelector | None = None


class _Affinity(msgspec.Struct, rename="camel"):
    node_affinity: _NodeAffinity | None = None


class _Toleration(msgspec.Struct):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_selector: dict[str, str] | None = None
    affinity: _Affinity | None = None
    tolerations: list[_Toleration] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_POD = msgspec.json.Decoder(_Pod)


def read_requirements(raw: Json, requests: Requests) -> Requirements:
    """Read what a pod asks of its node."""
    spec = decode(_POD, raw, "Pod").spec
    return Requirements(
        requests,
        tuple(_tolerations(spec.tolerations or ())),
        Selector.of(
            Requirement(key, Operator.IN, frozenset((value,)))
            for key, value in (spec.node_selector or {}).items()
        ),
        _terms(spec.affinity),
        # The decoded part in JSON again: of the pod's, most is about other things.
        decoded_size(msgspec.json.encode(spec)),
    )


def _tolerations(found: Iterable[_Toleration]) -> Iterable[Toleration]:
    for each in found:
        operator = each.operator or _EQUAL
        # Comparing taints as numbers is alpha in the scheduler: such a one tolerates nothing here.
        if operator in {_EXISTS, _EQUAL}:
            value = None if operator == _EXISTS else each.value or ""
            yield Toleration(each.key or "", value, each.effect or "")


def _terms(affinity: _Affinity | None) -> tuple[NodeTerm, ...] | None:
    if affinity is None or affinity.node_affinity is None:
        return None
    required = affinity.node_affinity.required
    if required is None:
        return None
    # A term without any condition matches nothing, so it is as good as none.
    return tuple(
        _term(term)
        for term in required.node_selector_terms or ()
        if term.match_expressions or term.match_fields
    )


def _term(term: _NodeTerm) -> NodeTerm:
    requirements, comparisons = [], []
    for each in term.match_expressions or ():
        if each.operator in {"Gt", "Lt"}:
            comparisons.append(_comparison(each))
        else:
            requirements.append(_requirement(each))
    return NodeTerm(
        Selector.of(requirements) if requirements else EVERYTHING,
        tuple(comparisons),
        tuple(map(_requirement, term.match_fields or ())),
    )


def _requirement(found: _NodeRequirement) -> Requirement:
    try:
        operator = Operator(found.operator)
    except ValueError as error:
        raise ObjectError("spec.affinity.nodeAffinity", str(error)) from error
    return Requirement(found.key, operator, frozenset(found.values or ()))


def _comparison(found: _NodeRequirement) -> Comparison:
    try:
        (bound,) = map(int, found.values or ())
    except ValueError as error:
        raise ObjectError(
            "spec.affinity.nodeAffinity", f"{found.operator} takes one integer"
        ) from error
    return Comparison(found.key, bound, above=found.operator == "Gt")
