"""Objects of Kubernetes that fields of the configuration have."""

from __future__ import annotations

import enum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from extender.core.model.labels import Operator, Selector
from extender.core.wire.affinity import read_selector
from extender.core.wire.manifests import LabelSelector


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
    """One of these terms must hold."""

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
        return (
            self.required_during_scheduling_ignored_during_execution is None
            and not self.preferred_during_scheduling_ignored_during_execution
        )


class V1LabelRequirement(V1Object, frozen=True, kw_only=True):
    """One comparison with a label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


class NamespaceSelector(V1Object, frozen=True, kw_only=True):
    """A v1 LabelSelector on namespaces."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[V1LabelRequirement, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.match_labels or self.match_expressions)

    def read(self, path: str) -> Selector:
        """Return what it selects, everything if it is empty; ObjectError if it cannot be read."""
        return read_selector(msgspec.json.decode(self.as_json(), type=LabelSelector), path)
