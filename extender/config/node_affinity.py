"""The shape of a v1 NodeAffinity inside the configuration file."""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct


class NodeOperator(enum.StrEnum):
    """How a node selector requirement compares."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class V1Object(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    rename="camel",
):
    """A nested v1 object; empty lists are left out when it is written."""

    def as_json(self) -> bytes:
        """Return it as the API spells it."""
        return msgspec.json.encode(self)


class NodeSelectorRequirement(V1Object, frozen=True, kw_only=True):
    """One comparison with a label or a field of a node."""

    key: str
    operator: NodeOperator
    values: tuple[str, ...] = ()


class NodeSelectorTerm(V1Object, frozen=True, kw_only=True):
    """Comparisons that must all hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class V1NodeSelector(V1Object, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], Meta(min_length=1)]


class PreferredSchedulingTerm(V1Object, frozen=True, kw_only=True):
    """A term worth its weight in score."""

    weight: Annotated[int, Meta(ge=1, le=100)]
    preference: NodeSelectorTerm


class NodeAffinityTerms(V1Object, frozen=True, kw_only=True):
    """A v1 NodeAffinity."""

    required_during_scheduling_ignored_during_execution: V1NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to meet or to prefer."""
        return (
            self.required_during_scheduling_ignored_during_execution is None
            and not self.preferred_during_scheduling_ignored_during_execution
        )
