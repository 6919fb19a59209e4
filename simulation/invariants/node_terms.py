"""Node affinity judged the slow and obvious way; shares no code with the extender."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Final

from simulation.invariants.rules import Json, Labels

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_LEAST, _MOST = -(2**63), 2**63 - 1


def wanted_nodes(spec: Json) -> Json | None:
    """Return the required node affinity of a pod's spec."""
    found: Json | None = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    return found


def allows(wanted: Json, name: str, labels: Labels) -> bool:
    """Tell whether a node selector allows a node by one of its terms; an empty one allows none."""
    return any(_matches(each or {}, name, labels) for each in wanted["nodeSelectorTerms"] or ())


def _matches(term: Json, name: str, labels: Labels) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_holds(each, labels) for each in expressions) and all(
        _is_named(each, name) for each in fields
    )


def _holds(requirement: Json, labels: Labels) -> bool:
    """Tell whether a label is as required; a requirement that is broken is met by nothing."""
    found, values = labels.get(requirement["key"]), _values(requirement)
    match requirement["operator"]:
        case "In":
            return found is not None and found in values
        case "NotIn":
            return bool(values) and (found is None or found not in values)
        case "Exists":
            return not values and found is not None
        case "DoesNotExist":
            return not values and found is None
        case "Gt" | "Lt" as operator:
            number, bound = int64(found or ""), _only_number(values)
            if number is None or bound is None:
                return False
            return number > bound if operator == "Gt" else number < bound
        case other:
            raise ValueError(f"no operator of a node selector: {other}")


def _only_number(values: Sequence[str]) -> int | None:
    return int64(values[0]) if len(values) == 1 else None


def _is_named(requirement: Json, name: str) -> bool:
    """Tell whether a node has the name that is asked for; it is the only field there is."""
    values = _values(requirement)
    if requirement["key"] != "metadata.name" or len(values) != 1:
        return False
    match requirement["operator"]:
        case "In":
            return name == values[0]
        case "NotIn":
            return name != values[0]
        case _:
            return False


def _values(requirement: Json) -> Sequence[str]:
    found: Sequence[str] = requirement.get("values") or ()
    return found


def int64(text: str) -> int | None:
    """Return the number of 64 bits that a text is for Go's ParseInt, None when it is none."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits or any(each not in string.digits for each in digits):
        return None
    number = int(text)
    return number if _LEAST <= number <= _MOST else None
