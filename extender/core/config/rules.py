"""The fields about rules in annotations."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from extender.core.config.connections import Block
from extender.core.model.labels import Operator, Selector
from extender.core.wire.affinity import read_selector
from extender.core.wire.manifests import LabelSelector


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


class Annotations(Block, frozen=True, kw_only=True):
    """Rules in annotations of pods: affinity-extender.io/affinity and others of that name."""

    namespace_selector: NamespaceSelector | None = None
    """Selector of the namespaces in which rules in annotations count. null, the default, is
    nowhere; `{}` is everywhere. Who may edit pods in a
    selected namespace can keep pods of other namespaces away, within limits: see
    docs/annotations.md."""

    @property
    def selector(self) -> Selector | None:
        """Where they count, None for nowhere; ObjectError for a selector that cannot be read."""
        chosen = self.namespace_selector
        return None if chosen is None else chosen.read("annotations.namespaceSelector")
