"""What API servers store as names, and as keys and values of labels, and refuse otherwise.

As k8s.io/apimachinery/pkg/util/validation and labels.NewRequirement.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from extender.core.model.labels import Operator

LONGEST_NAME: Final = 253
"""Characters of a name."""
LONGEST_KEY: Final = LONGEST_NAME + 1 + 63
"""Of a label's key: a prefix that is such a name, a slash, and a short one."""

_KEY_NAME = re.compile(r"(?=.{1,63}\Z)([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(?=.{0,63}\Z)(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(rf"(?=.{{1,63}}\Z){_LABEL}")
_DNS_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")


def is_dns_label(name: str) -> bool:
    """Return whether a namespace may have a name (validation.IsDNS1123Label)."""
    return _DNS_LABEL.fullmatch(name) is not None


def is_dns_subdomain(name: str) -> bool:
    """Return whether a node may have a name (validation.IsDNS1123Subdomain)."""
    return _DNS_SUBDOMAIN.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Return whether a label may have a value (validation.IsValidLabelValue)."""
    return _VALUE.fullmatch(value) is not None


def is_label_key(key: str) -> bool:
    """Return whether a label may have a key (validation.IsQualifiedName)."""
    prefix, slash, name = key.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return _KEY_NAME.fullmatch(name) is not None


def label_fault(key: str, values: Collection[str]) -> str | None:
    if not is_label_key(key):
        return f"{key!r} is not a label key"
    broken = next((value for value in values if not is_label_value(value)), None)
    return None if broken is None else f"{broken!r} is not a label value"


def values_fault(operator: Operator, values: Collection[str]) -> str | None:
    needs_values = operator in (Operator.IN, Operator.NOT_IN)
    if needs_values == bool(values):
        return None
    wanted = "at least one value" if needs_values else "no values"
    return f"operator {operator.value} takes {wanted}"
