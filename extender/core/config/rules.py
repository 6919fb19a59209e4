"""Objects of Kubernetes that fields of the configuration have."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from extender.core.errors import ObjectError
from extender.core.model.labels import Operator, Selector
from extender.core.wire.affinity import read_selector
from extender.core.wire.manifests import LabelSelector
from extender.core.wire.validation import label_fault


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
        """Return what it selects, everything if it is empty; ObjectError if it cannot be read.

        A label that no namespace can have is a slip, and would select none or all of them.
        """
        for key, value in self.match_labels.items():
            if (fault := label_fault(key, (value,))) is not None:
                raise ObjectError(f"{path}.matchLabels", fault)
        for index, each in enumerate(self.match_expressions):
            if (fault := label_fault(each.key, each.values)) is not None:
                raise ObjectError(f"{path}.matchExpressions[{index}]", fault)
        return read_selector(msgspec.json.decode(self.as_json(), type=LabelSelector), path)
